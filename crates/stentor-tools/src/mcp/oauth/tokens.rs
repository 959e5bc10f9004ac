//! Asking for tokens: for the code a browser brought back, or for an older token.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Url};
use serde::Deserialize;
use stentor_oauth::secret::{Secret, redact};
use stentor_text::visible::visible;

use super::client::OAuthClient;
use super::error::OAuthError;
use super::fetch::{FetchedAnswer, ask};

const WHAT: &str = "the authorization server";
/// As much of a refusal as a person reads.
const REFUSAL_CHARS: usize = 300;
/// A token is renewed this long before it expires, so that it does not do so under way.
const MARGIN_MS: u64 = 60_000;

/// Where tokens are given out, and to whom.
pub(super) struct McpTokenEndpoint<'a> {
    pub http: &'a Client,
    pub url: &'a Url,
    pub client: &'a OAuthClient,
    /// What the tokens are for.
    pub resource: &'a str,
    pub now_ms: u64,
}

/// The tokens of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoginTokens {
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// Milliseconds since the epoch; `None` when it does not expire.
    pub expires_at_ms: Option<u64>,
    /// From when on a new one should be asked for.
    pub renew_at_ms: Option<u64>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<f64>,
    error: Option<String>,
}

/// What a refusal says (RFC 6749, section 5.2).
#[derive(Default, Deserialize)]
struct TokenRefusal {
    error: Option<String>,
    error_description: Option<String>,
}

impl McpTokenEndpoint<'_> {
    /// Tokens for the code a browser brought back.
    pub async fn redeem(
        &self,
        code: &str,
        verifier: &Secret,
        redirect: &str,
    ) -> Result<LoginTokens, OAuthError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect),
        ];
        let tokens = self.ask(&fields, &[verifier]).await?;
        let is_over = tokens
            .expires_at_ms
            .is_some_and(|at_ms| at_ms <= self.now_ms);
        match is_over && tokens.refresh.is_none() {
            true => Err(OAuthError::ExpiredAtOnce),
            false => Ok(tokens),
        }
    }

    /// New tokens for an older one. One that may be used again stays.
    pub async fn refresh(&self, refresh: &Secret) -> Result<LoginTokens, OAuthError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
        ];
        let mut tokens = self.ask(&fields, &[refresh]).await?;
        tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok(tokens)
    }

    async fn ask(
        &self,
        fields: &[(&str, &str)],
        secrets: &[&Secret],
    ) -> Result<LoginTokens, OAuthError> {
        let mut request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/x-www-form-urlencoded");
        let mut form = Url::clone(self.url);
        form.set_query(None);
        form.query_pairs_mut()
            .extend_pairs(fields)
            .append_pair("resource", self.resource);
        match &self.client.secret {
            Some(secret) if !self.client.secret_by_post => {
                request = request.header("authorization", basic(&self.client.id, secret));
            }
            secret => {
                let mut pairs = form.query_pairs_mut();
                pairs.append_pair("client_id", &self.client.id);
                if let Some(secret) = secret {
                    pairs.append_pair("client_secret", secret.expose());
                }
            }
        }
        let body = form.query().unwrap_or_default().to_owned();
        let answer = ask(request.body(body), WHAT).await?;
        if answer.status.is_client_error() {
            let secrets = secrets.iter().copied().chain(&self.client.secret);
            let secrets: Vec<&Secret> = secrets.collect();
            return Err(OAuthError::Refused(refusal(&answer, &secrets)));
        }
        let answer = answer.successful()?;
        let tokens: TokenAnswer = answer.read()?;
        if tokens.error.is_some() {
            return Err(OAuthError::Refused(refusal(&answer, secrets)));
        }
        self.tokens(tokens)
    }

    fn tokens(&self, answer: TokenAnswer) -> Result<LoginTokens, OAuthError> {
        let kind = answer.token_type.unwrap_or_else(|| "Bearer".to_owned());
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(OAuthError::TokenType(kind.chars().take(40).collect()));
        }
        let access = answer.access_token.filter(|token| !token.is_empty());
        let access = access.ok_or_else(|| {
            OAuthError::Refused("there is no access token in the answer".to_owned())
        })?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest number, and one that is none becomes zero"
        )]
        let lifetime_ms = answer.expires_in.map(|seconds| (seconds * 1000.0) as u64);
        let after = |ms: u64| self.now_ms.saturating_add(ms);
        Ok(LoginTokens {
            access: Secret::new(access),
            refresh: answer.refresh_token.map(Secret::new),
            expires_at_ms: lifetime_ms.map(after),
            renew_at_ms: lifetime_ms.map(|ms| after(ms - MARGIN_MS.min(ms / 5))),
        })
    }
}

/// What a refusal says, for a person, without what may be secret.
pub(super) fn refusal(answer: &FetchedAnswer, secrets: &[&Secret]) -> String {
    let said: TokenRefusal = serde_json::from_slice(&answer.body).unwrap_or_default();
    let said = match (said.error, said.error_description) {
        (Some(error), Some(described)) => format!("{error}: {described}"),
        (Some(said), None) | (None, Some(said)) => said,
        (None, None) => format!("HTTP {}", answer.status),
    };
    let said: String = redact(&said, secrets).chars().take(REFUSAL_CHARS).collect();
    visible(&said).into_owned()
}

/// How a client with a secret shows who it is (RFC 6749, section 2.3.1): each part in the form of a
/// form.
fn basic(id: &str, secret: &Secret) -> String {
    let encoded = |text: &str| {
        let pair = Url::parse_with_params("http://localhost", [("", text)]);
        let query = pair.ok().and_then(|url| url.query().map(str::to_owned));
        query.unwrap_or_default().trim_start_matches('=').to_owned()
    };
    let both = format!("{}:{}", encoded(id), encoded(secret.expose()));
    format!("Basic {}", STANDARD.encode(both))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shows_its_secret_as_the_standard_wants() {
        let shown = basic("a b", &Secret::new("p:=ä"));
        assert_eq!(
            shown,
            format!("Basic {}", STANDARD.encode("a+b:p%3A%3D%C3%A4"))
        );
    }
}
