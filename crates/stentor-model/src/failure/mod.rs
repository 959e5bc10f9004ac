//! From what went wrong at a provider to an error a person can act on.

mod kind;
mod limits;
mod waiting;

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;
use stentor_agent::model::{ModelError, ModelErrorKind as Kind};
use stentor_http::{HttpLimits, deepest};
use stentor_text::redaction::public_address;

use self::kind::kind_of;
use self::limits::rate_limit;
use self::waiting::{retry_after_ms, waiting_time_in_words};
use crate::answer::{ProviderFault, StreamFault};
use crate::secret::{Secret, redact};

/// The most text of a provider that goes into an error.
const MESSAGE_CHARS: usize = 1500;

/// Who was asked, for the words of an error.
#[derive(Debug, Clone)]
pub struct AskedModel {
    pub provider: String,
    pub model: String,
    /// What to do when the credentials are wrong.
    pub login_hint: String,
    /// What it was asked with. Must not appear in any message.
    pub credentials: Vec<Secret>,
    /// What else must not appear in any message.
    pub secrets: Vec<Secret>,
}

impl AskedModel {
    /// The error for a response whose status says failure.
    pub fn refused(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        now_ms: u64,
    ) -> ModelError {
        if (300..400).contains(&status) {
            return self.redirected(status, headers);
        }
        let fault = read_fault(body);
        let kind = kind_of(Some(status), &fault);
        let mut error = self.error(kind, Some(status), &fault);
        error.retry_after_ms =
            retry_after_ms(headers, now_ms).or_else(|| waiting_time_in_words(&fault.message));
        error.rate_limit = rate_limit(headers, now_ms);
        error
    }

    /// The error for a stream that could not be read to its end.
    pub fn broken(&self, fault: StreamFault) -> ModelError {
        match fault {
            StreamFault::Provider(fault) => {
                let kind = kind_of(fault.status, &fault);
                self.error(kind, fault.status, &fault)
            }
            StreamFault::Malformed(what) => self.plain(
                Kind::BrokenStream,
                &format!("the answer cannot be read: {what}"),
            ),
            StreamFault::TooLong(what) => self.plain(
                Kind::AnswerTooLong,
                &format!("the answer cannot be read: {what}"),
            ),
            StreamFault::CutShort => self.plain(
                Kind::BrokenStream,
                "the connection was closed in the middle of the answer",
            ),
        }
    }

    /// The error for a response that claims success and is no answer. Asking again would bring the
    /// same: it comes from a wrong address, or from something between us and the provider.
    pub fn no_answer(&self, status: u16, what: &str) -> ModelError {
        let mut error = self.plain(
            Kind::InvalidRequest,
            &format!(
                "{}: {what}; check `base_url` and any proxy",
                status_in_words(status)
            ),
        );
        error.status = Some(status);
        error
    }

    /// The error for a request that got no response.
    pub fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let url = error.url().map(|url| {
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or("?"))
        });
        let cause = deepest(error);
        let hint = if cause.contains("certificate") || cause.contains("UnknownIssuer") {
            "; if the server uses its own certificate authority, set `ca_file` to its root \
             certificate"
        } else if error.is_connect() {
            "; check the network, the address and any proxy"
        } else {
            ""
        };
        let url = url.unwrap_or_else(|| "the server".to_owned());
        self.plain(Kind::Network, &format!("cannot reach {url}: {cause}{hint}"))
    }

    /// The error for an answer that stopped coming.
    pub fn lost(&self, error: &reqwest::Error) -> ModelError {
        self.plain(
            Kind::BrokenStream,
            &format!(
                "the connection broke in the middle of the answer: {}",
                deepest(error)
            ),
        )
    }

    /// The error for a provider that says nothing.
    pub fn silent(&self, limit_ms: u64) -> ModelError {
        self.plain(
            Kind::Silence,
            &format!("nothing came for {} s", limit_ms as f64 / 1000.0),
        )
    }

    /// The error for a response head that never came.
    pub fn unanswered(&self, limits: &HttpLimits) -> ModelError {
        self.plain(
            Kind::Silence,
            &format!("no response within {} s", limits.answer_ms as f64 / 1000.0),
        )
    }

    /// An error in our own words.
    pub fn plain(&self, kind: Kind, what: &str) -> ModelError {
        let advice = self.advice(kind);
        let secrets: Vec<&Secret> = self.credentials.iter().chain(&self.secrets).collect();
        let what = redact(what, &secrets);
        ModelError::new(kind, format!("{}: {what}{advice}", self.name()))
    }

    fn error(&self, kind: Kind, status: Option<u16>, fault: &ProviderFault) -> ModelError {
        let status_words = status.map(status_in_words);
        let said = [fault.code.as_str(), fault.message.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        let parts = [status_words.unwrap_or_default(), shortened(&said)];
        let what = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        let mut error = self.plain(kind, &what);
        error.status = status;
        error
    }

    fn redirected(&self, status: u16, headers: &HeaderMap) -> ModelError {
        let to = headers
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("an unknown address");
        let mut error = self.plain(
            Kind::InvalidRequest,
            &format!(
                "{status}: the server redirects to {}; keys are not sent to other addresses: set \
                 `base_url` to the final address",
                shortened(&public_address(to))
            ),
        );
        error.status = Some(status);
        error
    }

    fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    fn advice(&self, kind: Kind) -> String {
        let advice = match kind {
            Kind::Auth => self.login_hint.as_str(),
            Kind::Quota => {
                "the quota or the balance is used up: top it up, or choose another model"
            }
            Kind::RateLimited => "too many requests: it will be retried when the provider allows",
            Kind::Overloaded => "the provider is overloaded: try again later",
            Kind::ContextOverflow => {
                "the conversation is longer than the model's context window: compact it, or \
                 choose a model with a larger one"
            }
            Kind::UnknownModel => "run `stentor models` to list the available models",
            Kind::Server
            | Kind::Network
            | Kind::BrokenStream
            | Kind::Silence
            | Kind::AnswerTooLong
            | Kind::InvalidRequest
            | Kind::Other => "",
        };
        if advice.is_empty() {
            String::new()
        } else {
            format!(" ({advice})")
        }
    }
}

fn status_in_words(status: u16) -> String {
    let reason = reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or(if status == 529 { "Overloaded" } else { "" });
    format!("{status} {reason}").trim_end().to_owned()
}

/// An error as providers word it in a response body or an event.
pub fn read_fault(body: &[u8]) -> ProviderFault {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => fault_in(&value),
        Err(_) => ProviderFault {
            message: without_markup(&String::from_utf8_lossy(body)),
            ..ProviderFault::default()
        },
    }
}

/// An error as providers word it, in JSON: `{"error": {...}}`, `{"error": "..."}`,
/// `{"message": ...}`, `{"detail": ...}`, or the first of a list of those.
pub fn fault_in(value: &Value) -> ProviderFault {
    if let Value::Array(list) = value {
        return list.first().map(fault_in).unwrap_or_default();
    }
    let inner = value
        .get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(value);
    if let Value::String(message) = inner {
        return ProviderFault {
            message: message.clone(),
            ..ProviderFault::default()
        };
    }
    let word = |name: &str| match inner.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let first = |names: [&str; 3]| {
        let mut words = names.into_iter().map(word);
        words.find(|word| !word.is_empty()).unwrap_or_default()
    };
    let numeric_code = inner.get("code").and_then(Value::as_u64);
    let message = match first(["message", "detail", "msg"]) {
        message if !message.is_empty() => message,
        _ => inner.to_string(),
    };
    ProviderFault {
        code: match (word("code"), word("status"), word("type")) {
            (code, _, _) if !code.is_empty() && numeric_code.is_none() => code,
            (_, status, _) if !status.is_empty() => status,
            (_, _, kind) => kind,
        },
        message,
        status: numeric_code.and_then(|code| u16::try_from(code).ok()),
    }
}

/// A page of HTML, as proxies send it, says little: only its text is kept.
pub(crate) fn without_markup(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut inside_tag = false;
    for c in text.chars() {
        match c {
            '<' => inside_tag = true,
            '>' => {
                inside_tag = false;
                out.push(' ');
            }
            c if !inside_tag => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> AskedModel {
        AskedModel {
            provider: "acme".into(),
            model: "m1".into(),
            login_hint: "check ACME_API_KEY".into(),
            credentials: Vec::new(),
            secrets: vec![Secret::new("hush-hush")],
        }
    }

    fn refused(status: u16, body: &str) -> ModelError {
        asked().refused(status, &HeaderMap::new(), body.as_bytes(), 0)
    }

    #[test]
    fn each_failure_is_told_apart_by_status_and_words() {
        for (status, body, kind) in [
            (401, r#"{"error":{"message":"nope"}}"#, Kind::Auth),
            (403, "", Kind::Auth),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
                Kind::Auth,
            ),
            (
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
                Kind::UnknownModel,
            ),
            (
                429,
                r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#,
                Kind::RateLimited,
            ),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
                Kind::Quota,
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient Balance"}}"#,
                Kind::Quota,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
                Kind::Quota,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
                Kind::ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
                Kind::ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
                Kind::ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}"#,
                Kind::ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"message":"the request exceeds the available context size"}}"#,
                Kind::ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"message":"bad temperature"}}"#,
                Kind::InvalidRequest,
            ),
            (500, "<html><body>oops</body></html>", Kind::Server),
            (
                503,
                r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#,
                Kind::Overloaded,
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Kind::Overloaded,
            ),
        ] {
            assert_eq!(refused(status, body).kind, kind, "{status} {body}");
        }
    }

    #[test]
    fn the_message_names_everything_a_person_needs_and_no_key() {
        let error = refused(
            401,
            r#"{"error":{"code":"invalid_api_key","message":"Wrong key hush-hush or sk-abcdef123"}}"#,
        );
        assert_eq!(
            error.message,
            "acme/m1: 401 Unauthorized: invalid_api_key: Wrong key [key] or [key] (check ACME_API_KEY)"
        );
        assert_eq!(error.status, Some(401));
    }

    #[test]
    fn a_redirect_to_another_place_is_explained() {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, "https://elsewhere.example/".parse().unwrap());
        let error = asked().refused(302, &headers, b"", 0);
        assert!(
            error.message.contains("https://elsewhere.example/"),
            "{error}"
        );
        assert!(error.message.contains("base_url"), "{error}");
    }

    #[test]
    fn a_waiting_time_in_words_is_a_limit_and_not_a_used_up_quota() {
        for (message, ms) in [
            (
                "You exceeded your current quota. Please retry in 34.07s.",
                34_070,
            ),
            ("Rate limit reached for m. Please try again in 20ms.", 20),
            ("Please try again in 1m30s.", 60_000),
        ] {
            let body = format!(
                r#"{{"error":{{"code":429,"message":"{message}","status":"RESOURCE_EXHAUSTED"}}}}"#
            );
            let error = refused(429, &body);
            assert_eq!(
                (error.kind, error.retry_after_ms),
                (Kind::RateLimited, Some(ms))
            );
        }
        let error = refused(
            429,
            r#"{"error":{"message":"You exceeded your current quota"}}"#,
        );
        assert_eq!((error.kind, error.retry_after_ms), (Kind::Quota, None));
    }

    #[test]
    fn a_long_message_is_cut_and_not_copied_whole() {
        let error = refused(400, &"ü".repeat(10_000));
        assert!(error.message.chars().count() < 2 * MESSAGE_CHARS);
    }
}
