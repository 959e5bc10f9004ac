//! The web: `fetch`, which reads a page, and `web_search`, which asks a search service or the
//! provider of the model.
//!
//! What a page costs is bounded before it is asked for: time, bytes, redirects. Where a request goes
//! is looked at before anybody is asked (`location`), at each redirect (`exchange`), and once more
//! when a name becomes an address (`resolver`).

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::model::ModelRegistry;
use stentor_agent::tool::Tool;
use stentor_http::Http;

mod address;
mod content;
mod error;
mod exchange;
mod fetch;
mod html;
mod location;
mod provider_search;
mod resolver;
mod search;

pub use fetch::FETCH;
pub use location::{AllowedPrivate, InvalidHost};
pub use search::{InvalidService, SearchService, WEB_SEARCH};

/// What the tools of a session know of the web.
#[derive(Clone)]
pub struct WebSettings {
    pub http: Arc<Http>,
    /// False when the session has no network.
    pub network: bool,
    /// Hosts that may have any address.
    pub allowed: AllowedPrivate,
    /// How long a call may take.
    pub timeout: Duration,
    /// How much of a page is read.
    pub max_bytes: usize,
}

/// The tool that reads pages.
pub fn fetch_tool(settings: WebSettings) -> Arc<dyn Tool> {
    Arc::new(fetch::Fetch::new(settings))
}

/// The tool that searches with a service.
pub fn search_tool(
    settings: WebSettings,
    service: SearchService,
) -> Result<Arc<dyn Tool>, InvalidService> {
    Ok(Arc::new(search::WebSearchTool::new(settings, service)?))
}

/// The tool that has the provider of the session's model search.
pub fn provider_search_tool(network: bool, models: Arc<dyn ModelRegistry>) -> Arc<dyn Tool> {
    Arc::new(provider_search::ProviderSearch { network, models })
}
