//! The logins at model providers, for the dialects that let people log in.

use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_model::login::{ForgottenLogins, LoginInput, Logins};
use stentor_serve::login::{ForgottenCredentials, Login, LoginBegun, LoginFuture, ProviderLogin};

use crate::models::Models;

/// The logins of the model providers.
pub struct ModelLogins(pub Arc<Models>);

impl ModelLogins {
    fn logins(&self) -> Arc<Logins> {
        self.0.logins()
    }
}

impl Login for ModelLogins {
    fn providers(&self) -> Vec<ProviderLogin> {
        let status = self.logins().status().unwrap_or_else(|error| {
            tracing::warn!(%error, "the logins cannot be read");
            Vec::new()
        });
        status
            .into_iter()
            .map(|one| ProviderLogin {
                id: one.id,
                name: one.name,
                logged_in: one.logged_in,
            })
            .collect()
    }

    fn begin<'a>(&'a self, provider: &'a str) -> LoginFuture<'a, LoginBegun> {
        Box::pin(async move {
            let step = self.logins().begin(provider).await?;
            Ok(LoginBegun {
                url: step.url,
                // A device's approval is waited for as well.
                uses_callback_server: step.uses_callback_server || step.user_code.is_some(),
                instructions: step.instructions,
                user_code: step.user_code,
            })
        })
    }

    fn complete<'a>(&'a self, provider: &'a str, input: Option<String>) -> LoginFuture<'a, ()> {
        Box::pin(async move {
            let input = input.map_or(LoginInput::Wait, LoginInput::Pasted);
            Ok(self.logins().complete(provider, input).await?)
        })
    }

    fn cancel(&self, provider: &str) {
        self.logins().cancel(provider);
    }

    fn forget_all(&self) -> LoginFuture<'_, ForgottenCredentials> {
        Box::pin(async move {
            // What cannot be forgotten here is no reason to keep what is stored elsewhere.
            let of_models = self.logins().forget_all().await;
            let of_servers = self.0.mcp_logins().forget_all().await;
            let mut forgotten = ForgottenCredentials::default();
            let mut failed: Option<BoxError> = None;
            match of_models {
                Ok(ForgottenLogins { logins, keys }) => {
                    forgotten.logins = logins;
                    forgotten.keys = keys;
                }
                Err(error) => failed = Some(error.into()),
            }
            match of_servers {
                Ok(servers) => forgotten.servers = servers,
                Err(error) => failed = failed.or(Some(error.into())),
            }
            match failed {
                None => Ok(forgotten),
                Some(error) => Err(PartlyForgotten { error, forgotten }.into()),
            }
        })
    }
}

/// Not everything could be forgotten.
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", but_forgotten(.forgotten))]
struct PartlyForgotten {
    error: BoxError,
    forgotten: ForgottenCredentials,
}

fn but_forgotten(forgotten: &ForgottenCredentials) -> String {
    let words = forgotten.in_words();
    words.map_or_else(String::new, |words| format!("\nThe rest is done: {words}"))
}
