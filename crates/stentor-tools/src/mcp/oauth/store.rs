//! The logins to servers on disk, each under the address of its server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use stentor_oauth::secret::Secret;
use stentor_oauth::{CredentialFile, CredentialFileError, CredentialLock};

use super::client::OAuthClient;
use super::tokens::LoginTokens;

/// A login to a server, and what is needed to renew it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpLogin {
    pub issuer: String,
    pub token_endpoint: String,
    pub resource: String,
    pub client: OAuthClient,
    pub tokens: LoginTokens,
}

/// The file of logins.
#[derive(Debug, Clone)]
pub(super) struct LoginFile(CredentialFile);

#[derive(Default, Serialize, Deserialize)]
struct ServerTokenFile {
    /// By the address of the server.
    #[serde(default)]
    servers: BTreeMap<String, StoredTokens>,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct StoredTokens {
    issuer: String,
    token_endpoint: String,
    resource: String,
    client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(default)]
    client_secret_by_post: bool,
    access: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renew_at_ms: Option<u64>,
}

impl LoginFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(CredentialFile::new(path))
    }

    pub async fn lock(&self) -> Result<CredentialLock, CredentialFileError> {
        self.0.lock().await
    }

    /// The login to the server at this address, if there is one.
    pub fn get(&self, url: &Url) -> Result<Option<McpLogin>, CredentialFileError> {
        let mut content: ServerTokenFile = self.0.read()?;
        Ok(content.servers.remove(url.as_str()).map(McpLogin::from))
    }

    pub fn put(
        &self,
        lock: &CredentialLock,
        url: &Url,
        login: &McpLogin,
    ) -> Result<(), CredentialFileError> {
        let mut content: ServerTokenFile = self.0.read()?;
        content.servers.insert(url.to_string(), login.into());
        self.0.write(lock, &content)
    }

    /// Forgets a login. False when there was none.
    pub fn remove(&self, lock: &CredentialLock, url: &Url) -> Result<bool, CredentialFileError> {
        let mut content: ServerTokenFile = self.0.read()?;
        let was_there = content.servers.remove(url.as_str()).is_some();
        if was_there {
            self.0.write(lock, &content)?;
        }
        Ok(was_there)
    }

    /// Forgets every login. The answer has the addresses of the servers.
    pub fn clear(&self, lock: &CredentialLock) -> Result<Vec<String>, CredentialFileError> {
        let mut content: ServerTokenFile = self.0.read()?;
        let servers = std::mem::take(&mut content.servers);
        if !servers.is_empty() {
            self.0.write(lock, &content)?;
        }
        Ok(servers.into_keys().collect())
    }
}

impl From<StoredTokens> for McpLogin {
    fn from(entry: StoredTokens) -> Self {
        Self {
            issuer: entry.issuer,
            token_endpoint: entry.token_endpoint,
            resource: entry.resource,
            client: OAuthClient {
                id: entry.client_id,
                secret: entry.client_secret.map(Secret::new),
                secret_by_post: entry.client_secret_by_post,
            },
            tokens: LoginTokens {
                access: Secret::new(entry.access),
                refresh: entry.refresh.map(Secret::new),
                expires_at_ms: entry.expires_at_ms,
                renew_at_ms: entry.renew_at_ms,
            },
        }
    }
}

impl From<&McpLogin> for StoredTokens {
    fn from(login: &McpLogin) -> Self {
        let exposed = |secret: &Option<Secret>| secret.as_ref().map(|it| it.expose().to_owned());
        let McpLogin { client, tokens, .. } = login;
        Self {
            issuer: login.issuer.clone(),
            token_endpoint: login.token_endpoint.clone(),
            resource: login.resource.clone(),
            client_id: client.id.clone(),
            client_secret: exposed(&client.secret),
            client_secret_by_post: client.secret_by_post,
            access: tokens.access.expose().to_owned(),
            refresh: exposed(&tokens.refresh),
            expires_at_ms: tokens.expires_at_ms,
            renew_at_ms: tokens.renew_at_ms,
        }
    }
}
