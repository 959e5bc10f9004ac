//! Asking a provider for tokens.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use stentor_http::{Http, deepest};
use stentor_journal::clock::SharedClock;
use tokio::time::timeout;

use super::store::StoredLogin;
use super::{LoginError, LoginProvider};
use crate::configuration::TokenFormat;
use crate::failure::read_fault;
use crate::secret::{Secret, redact};

/// How long a provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Speaks to the token endpoints of one provider.
#[derive(Clone)]
pub(super) struct TokenEndpoint {
    pub provider: Arc<LoginProvider>,
    pub http: Arc<Http>,
    pub clock: SharedClock,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
    /// Set while a person has not approved yet.
    error: Option<String>,
    interval: Option<u64>,
}

/// Why a token is refused, in words.
#[derive(Deserialize)]
struct DescribedRefusal {
    error_description: String,
}

/// The code a person types on another device.
#[derive(Deserialize)]
pub(super) struct DeviceCode {
    pub device_code: String,
    pub user_code: String,
    #[serde(alias = "verification_url")]
    pub verification_uri: String,
    #[serde(default = "usual_interval_s")]
    pub interval: u64,
    #[serde(default = "usual_lifetime_s")]
    pub expires_in: u64,
}

fn usual_interval_s() -> u64 {
    5
}

fn usual_lifetime_s() -> u64 {
    900
}

/// What came of one question whether a person has approved.
pub(super) enum Approval {
    Given(StoredLogin),
    Pending,
    /// Ask less often, every so many seconds.
    SlowDown(Option<u64>),
}

#[derive(Deserialize)]
struct ExchangedToken {
    token: String,
    /// Seconds since the epoch.
    expires_at: Option<u64>,
    endpoints: Option<ExchangedEndpoints>,
}

#[derive(Deserialize)]
struct ExchangedEndpoints {
    api: Option<String>,
}

impl TokenEndpoint {
    /// Tokens for the code a browser brought back.
    pub(super) async fn redeem(
        &self,
        code: &str,
        state: &str,
        verifier: &Secret,
        redirect: &str,
    ) -> Result<StoredLogin, LoginError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("state", state),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect),
        ];
        let response = self.ask_for_token(&fields).await?;
        self.login_from(response, None).await
    }

    /// New tokens for an old refresh token.
    pub(super) async fn refresh(&self, login: &StoredLogin) -> Result<StoredLogin, LoginError> {
        let Some(refresh) = &login.refresh else {
            return Err(self.refused("it cannot be refreshed"));
        };
        if self.provider.oauth.exchange_url.is_some() {
            return self.exchange(refresh.clone()).await;
        }
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
        ];
        let response = self.ask_for_token(&fields).await?;
        let mut new = self.login_from(response, Some(refresh.clone())).await?;
        new.account = new.account.or_else(|| login.account.clone());
        Ok(new)
    }

    /// The code to show to a person.
    pub(super) async fn device_code(&self, device_url: &str) -> Result<DeviceCode, LoginError> {
        let scopes = self.provider.oauth.scopes.join(" ");
        let fields = [("scope", scopes.as_str())];
        let body = self.post(device_url, &fields).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(&error))
    }

    /// Asks whether a person has approved.
    pub(super) async fn approval(&self, device_code: &str) -> Result<Approval, LoginError> {
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", device_code),
        ];
        let response = match self.ask_for_token(&fields).await {
            Err(LoginError::Refused { reason, .. }) if reason.contains("authorization_pending") => {
                return Ok(Approval::Pending);
            }
            Err(LoginError::Refused { reason, .. }) if reason.contains("slow_down") => {
                return Ok(Approval::SlowDown(None));
            }
            response => response?,
        };
        match response.error.as_deref() {
            Some("authorization_pending") => Ok(Approval::Pending),
            Some("slow_down") => Ok(Approval::SlowDown(response.interval)),
            Some(error) => Err(self.refused(error)),
            None => self.login_from(response, None).await.map(Approval::Given),
        }
    }

    async fn login_from(
        &self,
        response: TokenResponse,
        old_refresh: Option<Secret>,
    ) -> Result<StoredLogin, LoginError> {
        if let Some(error) = &response.error {
            return Err(self.refused(error));
        }
        let access = response.access_token.filter(|token| !token.is_empty());
        let access =
            access.ok_or_else(|| self.refused("there is no access token in the answer"))?;
        if self.provider.oauth.exchange_url.is_some() {
            return self.exchange(Secret::new(access)).await;
        }
        let lifetime_ms = response
            .expires_in
            .map(|seconds| seconds.saturating_mul(1000));
        Ok(StoredLogin {
            account: claim(&access, &self.provider.oauth.account_claim),
            access: Secret::new(access),
            refresh: response.refresh_token.map(Secret::new).or(old_refresh),
            expires_at_ms: lifetime_ms.map(|ms| self.clock.now_ms().saturating_add(ms)),
            base_url: None,
        })
    }

    /// A short-lived token for the one the login gave, which stays the way to get the next.
    async fn exchange(&self, lasting: Secret) -> Result<StoredLogin, LoginError> {
        let url = self
            .provider
            .oauth
            .exchange_url
            .as_deref()
            .unwrap_or_default();
        let client = self.client()?;
        let request = client
            .get(url)
            .header("authorization", format!("Bearer {}", lasting.expose()))
            .header("accept", "application/json");
        let body = self.send(request, &[&lasting]).await?;
        let token: ExchangedToken =
            serde_json::from_slice(&body).map_err(|error| self.unexpected(&error))?;
        Ok(StoredLogin {
            access: Secret::new(token.token),
            refresh: Some(lasting),
            expires_at_ms: token.expires_at.map(|seconds| seconds.saturating_mul(1000)),
            account: None,
            base_url: token.endpoints.and_then(|endpoints| endpoints.api),
        })
    }

    async fn ask_for_token(&self, fields: &[(&str, &str)]) -> Result<TokenResponse, LoginError> {
        let body = self.post(&self.provider.oauth.token_url, fields).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(&error))
    }

    async fn post(&self, url: &str, fields: &[(&str, &str)]) -> Result<Vec<u8>, LoginError> {
        let client_id = ("client_id", self.provider.oauth.client_id.as_str());
        let fields = || fields.iter().copied().chain([client_id]);
        let request = self
            .client()?
            .post(url)
            .header("accept", "application/json");
        let request = match self.provider.oauth.token_format {
            TokenFormat::Form => {
                let encoded = Url::parse_with_params("http://localhost", fields());
                let encoded = encoded.map_err(|error| self.refused(&error.to_string()))?;
                request
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body(encoded.query().unwrap_or_default().to_owned())
            }
            TokenFormat::Json => {
                let fields = fields().map(|(name, value)| (name.to_owned(), value.into()));
                let body = Value::Object(fields.collect());
                request
                    .header("content-type", "application/json")
                    .body(body.to_string())
            }
        };
        self.send(request, &[]).await
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        secrets: &[&Secret],
    ) -> Result<Vec<u8>, LoginError> {
        let unreachable = |reason: String| LoginError::Unreachable {
            provider: self.provider.id.clone(),
            reason,
        };
        let response = timeout(PATIENCE, request.send())
            .await
            .map_err(|_| unreachable("no answer within 30 s".to_owned()))?
            .map_err(|error| unreachable(deepest(&error)))?;
        let status = response.status();
        let body = timeout(PATIENCE, response.bytes())
            .await
            .map_err(|_| unreachable("the answer broke off".to_owned()))?
            .map_err(|error| unreachable(deepest(&error)))?;
        if status.is_server_error() {
            return Err(unreachable(format!("it answered {status}")));
        }
        if !status.is_success() {
            let fault = read_fault(&body);
            let described = serde_json::from_slice::<DescribedRefusal>(&body).ok();
            let described = described.map_or_else(String::new, |said| said.error_description);
            let said = [status.to_string(), fault.code, fault.message, described];
            let said: Vec<String> = said.into_iter().filter(|one| !one.is_empty()).collect();
            return Err(self.refused(&redact(&said.join(" "), secrets)));
        }
        Ok(body.to_vec())
    }

    fn client(&self) -> Result<reqwest::Client, LoginError> {
        let ca_file: Option<&Path> = self.provider.ca_file.as_deref();
        self.http
            .client(ca_file)
            .map_err(|error| self.refused(&error.to_string()))
    }

    fn refused(&self, reason: &str) -> LoginError {
        LoginError::Refused {
            provider: self.provider.id.clone(),
            reason: reason.to_owned(),
        }
    }

    fn unexpected(&self, error: &serde_json::Error) -> LoginError {
        // Where, not what: the text may be a token.
        let (line, column) = (error.line(), error.column());
        self.refused(&format!(
            "the answer is invalid at line {line}, column {column}"
        ))
    }
}

/// A text inside the claims of a JWT. The token came from its issuer over TLS, so its signature is
/// not looked at.
fn claim(token: &str, path: &[String]) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let payload = token.split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let found = path.iter().try_fold(&claims, |value, name| value.get(name));
    found.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_from_the_claims_of_a_token() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"https://x":{"account":"a1"}}"#);
        let token = format!("h.{claims}.s");
        let path = ["https://x".to_owned(), "account".to_owned()];
        assert_eq!(claim(&token, &path).as_deref(), Some("a1"));
        assert_eq!(claim("not a token", &path), None);
        assert_eq!(claim(&token, &[]), None);
    }
}
