//! The providers and models known without asking anybody.
//!
//! The list is text inside the program and is read when somebody first asks for it, so that
//! starting costs nothing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::configuration::{ModelConfiguration, OAuthConfiguration};

/// A provider of the catalogue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueProvider {
    pub id: String,
    pub name: String,
    pub api: String,
    pub base_url: String,
    /// The environment variable that moves `base_url`.
    pub base_url_env: Option<String>,
    /// Environment variables a key may be in; the first that is set counts.
    #[serde(default)]
    pub key_env: Vec<String>,
    /// Environment variables an access token may be in.
    #[serde(default)]
    pub token_env: Vec<String>,
    /// The provider one logs in at when asked to log in here.
    pub login_as: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub oauth: Option<OAuthConfiguration>,
    pub models: Vec<ModelConfiguration>,
}

#[derive(Deserialize)]
struct Catalogue {
    provider: Vec<CatalogueProvider>,
}

/// All providers, best first.
pub fn providers() -> &'static [CatalogueProvider] {
    static PROVIDERS: OnceLock<Vec<CatalogueProvider>> = OnceLock::new();
    PROVIDERS.get_or_init(|| match read() {
        Ok(catalogue) => catalogue.provider,
        // Cannot happen: a test reads the same text.
        Err(error) => {
            tracing::error!(%error, "the built-in catalogue cannot be read");
            Vec::new()
        }
    })
}

/// What `models.toml` says. The build script has made JSON of it.
fn read() -> Result<Catalogue, serde_json::Error> {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/models.json")))
}

/// How the variables of nearly all providers end, and of services that are paid in the same way.
const KEY_VARIABLE_ENDING: &str = "_API_KEY";

/// Variables with other names that hold keys of providers, though none of these providers is in
/// the catalogue: programs of the same kind use them. Those that other commands live on
/// (`GITHUB_TOKEN`, `GH_TOKEN`, `AWS_ACCESS_KEY_ID` and the like) are left out on purpose.
const OTHER_KEY_VARIABLES: [&str; 22] = [
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_OAUTH_TOKEN",
    "ANTHROPIC_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CHUTES_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COPILOT_GITHUB_TOKEN",
    "CURSOR_ACCESS_TOKEN",
    "GEMINI_OAUTH_TOKEN",
    "HF_TOKEN",
    "HUGGINGFACE_HUB_TOKEN",
    "HUGGINGFACE_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "KIMI_OAUTH_TOKEN",
    "MINIMAX_OAUTH_TOKEN",
    "OMP_AUTH_BROKER_TOKEN",
    "OPENAI_CODEX_OAUTH_TOKEN",
    "OPENAI_KEY",
    "PERPLEXITY_COOKIES",
    "QWEN_OAUTH_TOKEN",
    "REPLICATE_API_TOKEN",
    "XAI_OAUTH_TOKEN",
];

/// Whether an environment variable holds the key of a provider, going by its name.
pub fn is_key_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.ends_with(KEY_VARIABLE_ENDING) || OTHER_KEY_VARIABLES.contains(&name.as_str())
}

/// The provider of this name.
pub fn provider(id: &str) -> Option<&'static CatalogueProvider> {
    providers().iter().find(|provider| provider.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::wire::Wire;

    #[test]
    fn the_catalogue_can_be_read_and_every_entry_is_complete() {
        assert!(read().is_ok());
        let mut seen = HashSet::new();
        for provider in providers() {
            assert!(Wire::from_api(&provider.api).is_some(), "{}", provider.id);
            assert!(!provider.base_url.ends_with('/'), "{}", provider.id);
            let has_door = !provider.key_env.is_empty() || provider.oauth.is_some();
            assert!(has_door, "{}", provider.id);
            assert!(!provider.models.is_empty(), "{}", provider.id);
            if let Some(other) = &provider.login_as {
                assert!(super::provider(other).is_some_and(|other| other.oauth.is_some()));
            }
            for model in &provider.models {
                assert!(seen.insert((&provider.id, &model.id)), "{} twice", model.id);
                let info = model.to_info(&provider.id, &provider.api, &provider.base_url);
                assert!(
                    model.context_window.is_some() && model.max_tokens.is_some(),
                    "{}",
                    model.id
                );
                assert!(info.max_tokens < info.context_window, "{}", model.id);
                let cost = info.cost.unwrap_or_else(|| panic!("{}", model.id));
                assert!(cost.cache_read <= cost.input, "{}", model.id);
                assert!(cost.input <= cost.output, "{}", model.id);
            }
        }
    }

    #[test]
    fn every_provider_people_expect_is_there() {
        let ids: Vec<&str> = providers()
            .iter()
            .map(|provider| provider.id.as_str())
            .collect();
        assert_eq!(
            ids,
            [
                "anthropic",
                "openai",
                "openai-codex",
                "google",
                "github-copilot",
                "xai",
                "deepseek",
                "mistral",
                "openrouter",
                "groq",
                "together"
            ]
        );
    }
}
