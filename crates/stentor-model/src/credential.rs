//! What gives access to a provider, and where it comes from at the moment it is needed.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::secret::Secret;

/// What a request is signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// A server that asks for nothing.
    None,
    ApiKey(Secret),
    /// An access token of a login.
    Bearer {
        token: Secret,
        /// The account it belongs to, where the provider wants to be told.
        account: Option<String>,
        /// The address the provider gave out with the token, where it does.
        base_url: Option<String>,
    },
}

/// Why there is no credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error("the key command of {provider} failed: {reason}")]
    Command { provider: String, reason: String },
    #[error("no credentials for {provider}: {hint}")]
    Missing { provider: String, hint: String },
    #[error(
        "the login for {provider} is no longer valid: {reason}; run `stentor login \
             {provider}`"
    )]
    Expired { provider: String, reason: String },
    /// Trying again may help.
    #[error("the login for {provider} could not be refreshed: {reason}")]
    Refresh { provider: String, reason: String },
}

/// Gives the credential for a request, refreshing or fetching it first where that is needed.
pub trait CredentialSource: Send + Sync + fmt::Debug {
    /// The credential to use now.
    fn credential(&self) -> CredentialFuture<'_>;

    /// Another credential after the provider refused `stale` before its time. `None` when there is
    /// no other.
    fn renew<'a>(&'a self, stale: &'a Credential) -> RenewalFuture<'a> {
        let _ = stale;
        Box::pin(std::future::ready(None))
    }

    /// What a person does when it is refused.
    fn hint(&self) -> String;
}

/// A credential on its way.
pub type CredentialFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Credential, CredentialError>> + Send + 'a>>;

/// Perhaps another credential, on its way.
pub type RenewalFuture<'a> = Pin<Box<dyn Future<Output = Option<Credential>> + Send + 'a>>;

/// A credential known from the start.
#[derive(Debug, Clone)]
pub struct FixedCredential {
    pub credential: Credential,
    pub hint: String,
}

impl CredentialSource for FixedCredential {
    fn credential(&self) -> CredentialFuture<'_> {
        Box::pin(std::future::ready(Ok(self.credential.clone())))
    }

    fn hint(&self) -> String {
        self.hint.clone()
    }
}

/// A command whose output is the key, run when the first request is made.
#[derive(Debug)]
pub struct FromCommand {
    provider: String,
    command: String,
    key: tokio::sync::OnceCell<Secret>,
}

impl FromCommand {
    /// The first line `command` prints will be the key.
    pub fn new(provider: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            command: command.into(),
            key: tokio::sync::OnceCell::new(),
        }
    }

    async fn run(&self) -> Result<Secret, CredentialError> {
        const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
        let failed = |reason: String| CredentialError::Command {
            provider: self.provider.clone(),
            reason,
        };
        let mut command = tokio::process::Command::new("sh");
        command
            .arg("-c")
            .arg(&self.command)
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        // Password stores are found below it.
        if let (None, Some(home)) = (std::env::var_os("HOME"), std::env::home_dir()) {
            command.env("HOME", home);
        }
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .map_err(|_| failed("it did not finish within a minute".to_owned()))?
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            return Err(failed(format!("{}: {last}", output.status)));
        }
        let text = String::from_utf8(output.stdout)
            .map_err(|_| failed("it printed bytes that are not UTF-8".to_owned()))?;
        match text.lines().next().map(str::trim) {
            Some(key) if !key.is_empty() => Ok(Secret::new(key)),
            _ => Err(failed("it printed nothing".to_owned())),
        }
    }
}

impl CredentialSource for FromCommand {
    fn credential(&self) -> CredentialFuture<'_> {
        Box::pin(async move {
            let key = self.key.get_or_try_init(|| self.run()).await?;
            Ok(Credential::ApiKey(key.clone()))
        })
    }

    fn hint(&self) -> String {
        format!("check what `api_key_command` of {} prints", self.provider)
    }
}

/// Shared handle to a source.
pub type SharedCredentials = Arc<dyn CredentialSource>;

impl Credential {
    /// The secret in it, for redaction.
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::ApiKey(key) => Some(key),
            Self::Bearer { token, .. } => Some(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_line_a_command_prints_is_the_key() {
        let source = FromCommand::new("acme", "printf 'one\\ntwo\\n'");
        assert_eq!(
            source.credential().await,
            Ok(Credential::ApiKey(Secret::new("one")))
        );
    }

    #[tokio::test]
    async fn a_command_that_fails_or_says_nothing_is_named() {
        for (command, reason) in [
            ("echo locked >&2; exit 3", "exit status: 3: locked"),
            ("true", "it printed nothing"),
        ] {
            let error = FromCommand::new("acme", command)
                .credential()
                .await
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the key command of acme failed: {reason}")
            );
        }
    }
}
