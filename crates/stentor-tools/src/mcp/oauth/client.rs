//! The client that asks for tokens: one that somebody configured, or one that registers itself (RFC
//! 7591).

use reqwest::Client;
use serde::Deserialize;
use serde_json::json;
use stentor_agent::tool_servers::OAuthSettings;
use stentor_oauth::secret::Secret;

use super::discovery::Issuer;
use super::error::OAuthError;
use super::fetch::ask;
use super::tokens::refusal;

const WHAT: &str = "the authorization server";

/// As what we ask for tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OAuthClient {
    pub id: String,
    pub secret: Option<Secret>,
    /// The secret is a field of the form, not a header.
    pub secret_by_post: bool,
}

#[derive(Deserialize)]
struct RegisteredClient {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl OAuthClient {
    /// The configured client, or a new one whose logins return to `redirect`.
    pub async fn get(
        http: &Client,
        issuer: &Issuer,
        settings: &OAuthSettings,
        redirect: &str,
    ) -> Result<Self, OAuthError> {
        if let Some(id) = &settings.client_id {
            return Ok(Self {
                id: id.clone(),
                secret: settings.client_secret.as_deref().map(Secret::new),
                secret_by_post: issuer.secret_by_post,
            });
        }
        let address = issuer.register.clone();
        let address = address.ok_or(OAuthError::NoRegistration)?;
        let wanted = json!({
            "client_name": "Stentor",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let request = http
            .post(address)
            .header("content-type", "application/json")
            .body(wanted.to_string());
        let answer = ask(request, WHAT).await?;
        if answer.status.is_client_error() {
            return Err(OAuthError::NotRegistered(refusal(&answer, &[])));
        }
        let registered: RegisteredClient = answer.successful()?.read()?;
        let by = registered.token_endpoint_auth_method;
        let secret = registered.client_secret.filter(|secret| !secret.is_empty());
        Ok(Self {
            id: registered.client_id,
            // One that need not be shown is none.
            secret: secret
                .filter(|_| by.as_deref() != Some("none"))
                .map(Secret::new),
            secret_by_post: match by.as_deref() {
                Some(by) => by == "client_secret_post",
                None => issuer.secret_by_post,
            },
        })
    }
}
