//! How a list of models is asked for and read, on each wire.

use serde::Deserialize;

use super::windows::{ModelList, ServerModel, readable};
use crate::credential::Credential;
use crate::wire::Wire;
use crate::{anthropic, gemini};

/// So many models are asked for at once, where that has to be said. No provider has as many.
const MOST_MODELS: usize = 1000;

/// What a model of Gemini's can be used for if it is to answer.
const ANSWERS: &str = "generateContent";

/// The form that a list of models has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListForm {
    OpenAi,
    Anthropic,
    Gemini,
}

impl ListForm {
    /// The form on this wire; `None` where there is no list.
    pub(super) fn of(wire: Wire) -> Option<Self> {
        match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses => Some(Self::OpenAi),
            Wire::AnthropicMessages => Some(Self::Anthropic),
            Wire::Gemini => Some(Self::Gemini),
            Wire::CodexResponses => None,
        }
    }

    /// Where the list is.
    pub(super) fn address(self, base_url: &str) -> String {
        match self {
            Self::OpenAi => format!("{base_url}/models"),
            Self::Anthropic => format!("{base_url}/v1/models?limit={MOST_MODELS}"),
            Self::Gemini => format!("{base_url}/models?pageSize={MOST_MODELS}"),
        }
    }

    /// What says who asks.
    pub(super) fn headers(self, credential: &Credential) -> Vec<(&'static str, String)> {
        match self {
            Self::OpenAi => match credential.secret() {
                Some(secret) => vec![("authorization", format!("Bearer {}", secret.expose()))],
                None => Vec::new(),
            },
            Self::Anthropic => {
                let (mut headers, betas) = anthropic::request::access(credential);
                if !betas.is_empty() {
                    headers.push(("anthropic-beta", betas.join(",")));
                }
                headers
            }
            Self::Gemini => gemini::request::access(credential),
        }
    }

    /// Reads the list. Models that nobody could name are left out.
    pub(super) fn read(self, bytes: &[u8]) -> Result<Vec<ServerModel>, serde_json::Error> {
        let mut listed = match self {
            Self::OpenAi | Self::Anthropic => serde_json::from_slice::<ModelList>(bytes)?.data,
            Self::Gemini => {
                let list: GeminiList = serde_json::from_slice(bytes)?;
                let answering = list.models.into_iter().filter(GeminiModel::answers);
                answering.map(GeminiModel::listed).collect()
            }
        };
        listed.retain(ServerModel::is_nameable);
        Ok(listed)
    }
}

#[derive(Deserialize)]
struct GeminiList {
    #[serde(deserialize_with = "readable")]
    models: Vec<GeminiModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModel {
    /// `models/ID`.
    name: String,
    input_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Vec<String>,
}

impl GeminiModel {
    /// True for one that is not only for embeddings, say.
    fn answers(&self) -> bool {
        let methods = &self.supported_generation_methods;
        methods.is_empty() || methods.iter().any(|method| method == ANSWERS)
    }

    fn listed(self) -> ServerModel {
        let id = self.name.trim_start_matches("models/").to_owned();
        ServerModel::holding(id, self.input_token_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn each_wire_asks_in_its_own_form_and_with_its_own_headers() {
        let key = Credential::ApiKey(Secret::new("k"));
        let asked = |wire, base_url| {
            let form = ListForm::of(wire).unwrap();
            let headers = form.headers(&key).into_iter();
            let headers = headers.map(|(name, value)| format!("{name}: {value}"));
            (form.address(base_url), headers.collect::<Vec<_>>())
        };
        assert_eq!(
            asked(Wire::OpenAiChat, "http://a/v1"),
            (
                "http://a/v1/models".to_owned(),
                vec!["authorization: Bearer k".to_owned()]
            )
        );
        assert_eq!(
            asked(Wire::AnthropicMessages, "http://a"),
            (
                "http://a/v1/models?limit=1000".to_owned(),
                vec![
                    "anthropic-version: 2023-06-01".to_owned(),
                    "x-api-key: k".to_owned()
                ]
            )
        );
        assert_eq!(
            asked(Wire::Gemini, "http://a/v1beta"),
            (
                "http://a/v1beta/models?pageSize=1000".to_owned(),
                vec!["x-goog-api-key: k".to_owned()]
            )
        );
        assert_eq!(ListForm::of(Wire::CodexResponses), None);
    }

    #[test]
    fn of_geminis_models_those_are_listed_that_answer() {
        let list = br#"{"models":[
            {"name":"models/g-pro","inputTokenLimit":9000,"supportedGenerationMethods":["generateContent"]},
            {"name":"models/embed","inputTokenLimit":2048,"supportedGenerationMethods":["embedContent"]},
            {"name":"models/plain"}
        ]}"#;
        let listed = ListForm::Gemini.read(list).unwrap();
        let ids: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["g-pro", "plain"]);
    }

    #[test]
    fn an_id_that_is_not_one_visible_word_is_not_listed() {
        let long = "x".repeat(513);
        let ids = [
            "",
            "a\nb\u{1b}[31m",
            "a b",
            " a",
            "a\t",
            "a\u{202e}b",
            &long,
        ];
        for id in ids {
            let models = [id, "a/b:7b-é"];
            let list =
                serde_json::json!({ "data": models.map(|id| serde_json::json!({ "id": id })) });
            let listed = ListForm::OpenAi.read(list.to_string().as_bytes()).unwrap();
            let listed: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
            assert_eq!(listed, ["a/b:7b-é"], "{id:?}");
        }
        let listed =
            ListForm::Gemini.read(br#"{"models":[{"name":"models/"},{"name":"models/a\nb"}]}"#);
        assert!(listed.unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_about_one_entry_costs_no_other() {
        let list = br#"{"data":[{"id":7},"text",{"id":"window","max_model_len":"large"},null,{},
            {"id":"meta","meta":[]},{"id":"fine","context_length":1.5}]}"#;
        let geminis = br#"{"models":[{"name":7},{"name":"models/fine"}]}"#;
        for (form, list, expected) in [
            (ListForm::OpenAi, &list[..], &["window", "meta", "fine"][..]),
            (ListForm::Anthropic, list, &["window", "meta", "fine"]),
            (ListForm::Gemini, geminis, &["fine"]),
        ] {
            let listed = form.read(list).unwrap();
            let ids: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
            assert_eq!(ids, expected, "{form:?}");
        }
        assert!(ListForm::OpenAi.read(br#"{"data":7}"#).is_err());
    }
}
