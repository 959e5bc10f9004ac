//! A login at a provider, as this dialect leads a person through it.

use std::future::Future;

use stentor_agent::box_error::BoxError;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};

use crate::login::Login;

/// What a login may ask of the person in front of the client.
pub(super) trait LoginUi {
    /// Has the client open a page, or show its address.
    fn open_url(&self, url: &str, instructions: &str);

    /// Tells how far it is.
    fn progress(&self, message: &str);

    /// Asks something.
    fn ask(&self, dialog: Dialog) -> impl Future<Output = DialogAnswer> + Send;
}

/// Logs in: shows the page, then waits for it or for what the person pastes, whichever comes first.
/// Dropping the future gives it up. The error is for a person.
pub(super) async fn log_in(
    logins: &dyn Login,
    provider: &str,
    ui: &impl LoginUi,
) -> Result<(), BoxError> {
    let step = logins.begin(provider).await?;
    ui.open_url(&step.url, &step.instructions);
    if let Some(code) = &step.user_code {
        ui.progress(&format!("Enter this code: {code}"));
    }
    let paste = Dialog {
        title: format!("{} Paste it here.", step.instructions),
        kind: DialogKind::Input {
            placeholder: Some("code".to_owned()),
        },
        form: None,
        timeout_ms: None,
    };
    let asked = ui.ask(paste);
    if step.uses_callback_server {
        tokio::select! {
            done = logins.complete(provider, None) => done,
            answer = asked => pasted(logins, provider, answer).await,
        }
    } else {
        pasted(logins, provider, asked.await).await
    }
}

/// What the person gave, if it was not to end the login.
async fn pasted(logins: &dyn Login, provider: &str, answer: DialogAnswer) -> Result<(), BoxError> {
    match answer {
        DialogAnswer::Value(text) => logins.complete(provider, Some(text)).await,
        DialogAnswer::Confirmed(_)
        | DialogAnswer::Values(_)
        | DialogAnswer::Filled(_)
        | DialogAnswer::Nothing => {
            logins.cancel(provider);
            Err(format!("the login for {provider} was cancelled").into())
        }
    }
}
