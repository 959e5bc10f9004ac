//! The web for the sessions of a folder: from the configuration to its tools.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::model::ModelRegistry;
use stentor_agent::sandbox::SandboxMode;
use stentor_agent::tool::Tool;
use stentor_tools::web::{
    SearchService, WebSettings, fetch_tool, provider_search_tool, search_tool,
};

use crate::config::{Config, WebSearch};
use crate::models::Models;

/// A page is in memory while it is converted, so there is an end to what can be asked for.
const MOST_BYTES: usize = 64 << 20;

/// The tools that reach the web. A search that is configured wrongly is left out with a warning.
pub fn tools(config: &Config, models: &Arc<Models>) -> Vec<Arc<dyn Tool>> {
    let settings = &config.settings;
    let web = WebSettings {
        http: Arc::clone(models.registry().http()),
        // What was asked for counts, whether the kernel can hold commands to it or not.
        network: settings.sandbox_mode.value == SandboxMode::Off || settings.sandbox_network.value,
        allowed: settings.web_allow_private.value.0.clone(),
        timeout: Duration::from_secs(settings.web_timeout_s.value.max(1)),
        max_bytes: usize::try_from(settings.web_max_bytes.value)
            .map_or(MOST_BYTES, |bytes| bytes.min(MOST_BYTES)),
    };
    let mut tools = vec![fetch_tool(web.clone())];
    match settings.web_search.value {
        WebSearch::Off => {}
        WebSearch::Provider => {
            let models = Arc::clone(models) as Arc<dyn ModelRegistry>;
            tools.push(provider_search_tool(web.network, models));
        }
        WebSearch::Service => match service(config) {
            Some(service) => match search_tool(web, service) {
                Ok(tool) => tools.push(tool),
                Err(error) => tracing::warn!("the web cannot be searched: {error}"),
            },
            None => tracing::warn!("the web cannot be searched: `web.search_url` is not set"),
        },
    }
    tools
}

fn service(config: &Config) -> Option<SearchService> {
    let settings = &config.settings;
    let variable = settings.web_search_key_env.as_ref();
    let key = variable.and_then(|set| {
        let name = &set.value.0;
        let key = config.variable(name).and_then(|key| key.into_string().ok());
        if key.is_none() {
            tracing::warn!("{name}, the key for searching the web, is not set");
        }
        Some((settings.web_search_key_header.value.0.clone(), key?))
    });
    Some(SearchService {
        url: settings.web_search_url.as_ref()?.value.0.clone(),
        key,
    })
}
