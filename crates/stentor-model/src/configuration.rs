//! What a user writes about providers and models in the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use stentor_agent::model::{InputKind, ModelInfo, ThinkingLevel};
use stentor_journal::usage::Prices;
use stentor_text::redaction::public_address;

use crate::hosted::is_hosted;
use crate::secret::Secret;

/// The `[providers]` table: what is said about each provider, by its name.
pub type ProvidersConfiguration = BTreeMap<String, ProviderConfiguration>;

/// One provider. A name of the catalogue changes what the catalogue says of it; a new name adds a
/// provider, which needs `base_url` and `api`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderConfiguration {
    /// For people.
    pub name: Option<String>,
    /// Where the API is. For `anthropic-messages` without `/v1`, for the others with it.
    pub base_url: Option<String>,
    /// The wire: `anthropic-messages`, `openai-completions`, `openai-responses` or
    /// `google-generative-ai`.
    pub api: Option<String>,
    pub api_key: Option<Secret>,
    /// The environment variable the key is in.
    pub api_key_env: Option<String>,
    /// A shell command that prints the key. It is run when the key is first needed.
    pub api_key_command: Option<String>,
    /// Sent with every request.
    pub headers: BTreeMap<String, Secret>,
    pub models: Vec<ModelConfiguration>,
    /// A PEM file of certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Tools that the provider runs itself while it answers, in the words of its API.
    pub server_tools: Vec<serde_json::Map<String, Value>>,
    pub oauth: Option<OAuthConfiguration>,
}

/// One model of a provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfiguration {
    pub id: String,
    pub name: Option<String>,
    /// The wire, where it is not the provider's.
    pub api: Option<String>,
    pub reasoning: bool,
    /// `text`, `image`, `document`, `audio`; text alone if nothing is said.
    pub input: Vec<InputKind>,
    pub context_window: Option<u64>,
    pub max_tokens: Option<u64>,
    /// What it costs; unknown if nothing is said.
    pub cost: Option<CostConfiguration>,
    /// The levels it distinguishes; all of them if nothing is said.
    pub thinking_levels: Vec<ThinkingLevel>,
}

/// The `[models]` table: what is said about single models, by `provider/id`.
pub type ModelsConfiguration = BTreeMap<String, ModelOverride>;

/// What a user knows better about a model, whoever described it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelOverride {
    pub name: Option<String>,
    pub reasoning: Option<bool>,
    pub input: Option<Vec<InputKind>>,
    pub context_window: Option<u64>,
    pub max_tokens: Option<u64>,
    pub cost: Option<CostConfiguration>,
    pub thinking_levels: Option<Vec<ThinkingLevel>>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostConfiguration {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// How to log in at a provider.
///
/// With `authorize_url` a person approves in a browser (PKCE); with `device_url` they type a code
/// on another device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OAuthConfiguration {
    pub authorize_url: Option<String>,
    pub token_url: String,
    pub client_id: String,
    pub scopes: Vec<String>,
    /// Where the browser is sent back to: `http://localhost:PORT/PATH`, port 0 for any that is
    /// free, or a page of the provider's that shows the code.
    pub redirect: Option<String>,
    pub device_url: Option<String>,
    /// Gives a short-lived token for the one the login gave.
    pub exchange_url: Option<String>,
    pub token_format: TokenFormat,
    /// More to be sent with the browser.
    pub authorize_parameters: BTreeMap<String, String>,
    /// Where in the access token (a JWT) the account is named.
    pub account_claim: Vec<String>,
}

/// How a token endpoint wants to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenFormat {
    #[default]
    Form,
    Json,
}

/// What a hosted model is taken to hold when nobody says.
const USUAL_CONTEXT_WINDOW: u64 = 128_000;
/// The same of a model on one's own server: much less, since what does not fit is cut off there
/// without a word.
pub(crate) const SMALL_CONTEXT_WINDOW: u64 = 16_384;
const USUAL_MAX_TOKENS: u64 = 16_384;

impl ModelConfiguration {
    /// What is known about the model, as a model of `provider`.
    pub fn to_info(&self, provider: &str, api: &str, base_url: &str) -> ModelInfo {
        self.to_info_at(provider, api, base_url, &public_address(base_url))
    }

    /// The same for one of many models of a provider, whose address is the same.
    pub fn to_info_at(
        &self,
        provider: &str,
        api: &str,
        base_url: &str,
        public_address: &str,
    ) -> ModelInfo {
        let usual_window = || match is_hosted(base_url) {
            true => USUAL_CONTEXT_WINDOW,
            false => SMALL_CONTEXT_WINDOW,
        };
        let context_window = self.context_window.unwrap_or_else(usual_window);
        ModelInfo {
            id: self.id.clone(),
            name: self.name.clone().unwrap_or_else(|| self.id.clone()),
            api: self.api.clone().unwrap_or_else(|| api.to_owned()),
            provider: provider.to_owned(),
            base_url: public_address.to_owned(),
            reasoning: self.reasoning,
            input: if self.input.is_empty() {
                vec![InputKind::Text]
            } else {
                self.input.clone()
            },
            cost: self.cost.map(Prices::from),
            context_window,
            max_tokens: self
                .max_tokens
                .unwrap_or_else(|| USUAL_MAX_TOKENS.min(context_window / 2)),
            thinking_levels: self.thinking_levels.clone(),
            modes: Vec::new(),
        }
    }
}

impl From<CostConfiguration> for Prices {
    fn from(cost: CostConfiguration) -> Self {
        Self {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
        }
    }
}

impl ModelOverride {
    /// Changes what is known about the model.
    pub fn apply(&self, info: &mut ModelInfo) {
        fn set<T: Clone>(field: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                field.clone_from(value);
            }
        }
        set(&mut info.name, self.name.as_ref());
        set(&mut info.reasoning, self.reasoning.as_ref());
        set(&mut info.input, self.input.as_ref());
        set(&mut info.context_window, self.context_window.as_ref());
        set(&mut info.max_tokens, self.max_tokens.as_ref());
        set(
            &mut info.cost,
            self.cost.map(|cost| Some(cost.into())).as_ref(),
        );
        set(&mut info.thinking_levels, self.thinking_levels.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_read_from_the_configuration_file() {
        let text = r#"
            [acme]
            base_url = "https://models.acme.example/v1"
            api = "openai-completions"
            api_key_env = "ACME_KEY"
            headers = { x-team = "blue" }
            ca_file = "/etc/acme.pem"
            [[acme.models]]
            id = "m1"
            reasoning = true
            input = ["text", "image"]
            context_window = 32000
            thinking_levels = ["off", "high"]
            cost = { input = 1, output = 2.5 }
            [acme.oauth]
            authorize_url = "https://login.acme.example/authorize"
            token_url = "https://login.acme.example/token"
            client_id = "stentor"
            scopes = ["models"]
        "#;
        let providers: ProvidersConfiguration = toml::from_str(text).unwrap();
        let acme = &providers["acme"];
        let info = acme.models[0].to_info(
            "acme",
            "openai-completions",
            "https://models.acme.example/v1",
        );
        assert_eq!((info.context_window, info.max_tokens), (32_000, 16_000));
        assert_eq!(info.levels(), [ThinkingLevel::Off, ThinkingLevel::High]);
        assert!((info.cost.unwrap().output - 2.5).abs() < 1e-9);
        assert!(!format!("{acme:?}").contains("blue"));
    }

    #[test]
    fn a_word_that_means_nothing_is_an_error_that_names_it() {
        let error =
            toml::from_str::<ProvidersConfiguration>("[acme]\nbaseurl = \"x\"").unwrap_err();
        assert!(error.to_string().contains("baseurl"), "{error}");
    }
}
