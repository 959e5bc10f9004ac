//! Logging in (sections 9.7 and 13.2).

use std::sync::Arc;

use stentor_agent::tasks;
use stentor_wire::edn::EdnWriter;
use stentor_wire::psi::ErrorCode;

use crate::login::{Login, LoginBegun, LoginProvider};
use crate::psi::error::OpError;
use crate::psi::item::{Cause, Part};
use crate::psi::live::Live;
use crate::psi::login_slot::{LoginError, LoginWay, PendingLogin};
use crate::psi::payload::{self, message::transcript_text};
use crate::psi::request::{Answerer, Call, Done, Handled};
use crate::psi::shared::Shared;

/// The provider may have to be asked first; nothing waits for it.
pub(in crate::psi) async fn begin(call: &mut Call<'_>) -> Handled {
    let wanted = call.params.text("provider")?.map(str::to_owned);
    let live = call.target().await?;
    let shared = Arc::clone(&call.connection.shared);
    call.answerer.later(async move {
        let chosen = provider(&shared, &live, wanted).await?;
        let pending = shared.login.begin(&chosen, false)?;
        let begun = begun(&shared, &pending).await?;
        shared.login.waits(&pending, LoginWay::Operation);
        Ok(Done::data(payload::map(|data| {
            data.key("provider");
            write_provider(data, &pending);
            data.field("url", &begun.url)
                .field("uses-callback-server", &begun.uses_callback_server)
                .field("pending-login", &true);
        }))
        .of(&live))
    })
}

/// A flow that waits for the browser may take long; nothing waits for it.
pub(in crate::psi) fn complete(call: &mut Call<'_>) -> Handled {
    let input = call.params.text("input")?;
    let input = input
        .filter(|input| !input.trim().is_empty())
        .map(str::to_owned);
    let shared = Arc::clone(&call.connection.shared);
    let pending = shared.login.begun();
    let Some((pending, login)) = pending.zip(shared.options.login.clone()) else {
        let message = "no login was begun; login_begin begins one";
        return Err(OpError::new(ErrorCode::NoPendingLogin, message));
    };
    call.answerer.later(async move {
        let completed = tokio::select! {
            completed = login.complete(&pending.provider, input) => {
                completed.map_err(LoginError::Refused)
            }
            () = pending.given_up.cancelled() => Err(LoginError::Replaced),
        };
        completed?;
        shared.login.over(&pending);
        pending.given_up.cancel();
        Ok(Done::data(payload::map(|data| {
            data.key("provider");
            write_provider(data, &pending);
            data.field("logged-in", &true);
        })))
    })
}

/// The provider that is meant: the one that is named, else the model's own.
async fn provider(
    shared: &Shared,
    live: &Live,
    wanted: Option<String>,
) -> Result<LoginProvider, LoginError> {
    let login = shared.options.login.as_ref();
    let login = login.ok_or(LoginError::Unavailable)?;
    let wanted = match wanted.filter(|wanted| !wanted.trim().is_empty()) {
        Some(wanted) => wanted.trim().to_owned(),
        None => {
            let model = live.session.state().await?.model;
            model.ok_or(LoginError::NoModel)?.provider.clone()
        }
    };
    let providers = login.providers();
    let provider = providers.iter().find(|provider| provider.id == wanted);
    provider.cloned().ok_or_else(|| {
        let names: Vec<&str> = providers.iter().map(|one| one.id.as_str()).collect();
        let there_are = names.join(", ");
        LoginError::UnknownProvider { wanted, there_are }
    })
}

/// Has the provider say where to go. A login that it refuses is not pending.
async fn begun(shared: &Shared, pending: &PendingLogin) -> Result<LoginBegun, LoginError> {
    let begun = match shared.options.login.as_ref() {
        Some(login) => login.begin(&pending.provider).await,
        None => return Err(LoginError::Unavailable),
    };
    if begun.is_err() {
        shared.login.over(pending);
    }
    begun.map_err(LoginError::Refused)
}

/// `/login`: one message with the address and what to do (section 19), and then, where the
/// browser comes back by itself, another when it did. Takes the place of one that is under way.
pub(in crate::psi) async fn slash_login(
    shared: &Arc<Shared>,
    live: &Arc<Live>,
    wanted: Option<String>,
    cause: Cause,
) -> Result<Vec<Part>, LoginError> {
    let chosen = provider(shared, live, wanted).await?;
    let pending = shared.login.begin(&chosen, true)?;
    let begun = begun(shared, &pending).await?;
    let mut text = format!("Log in at {}: {}", pending.name, begun.url);
    if !begun.instructions.is_empty() {
        text.push('\n');
        text.push_str(&begun.instructions);
    }
    if begun.uses_callback_server {
        text.push_str("\nWaiting for the browser to come back…");
        shared.login.waits(&pending, LoginWay::Browser);
        wait_for_browser(shared, live, pending);
    } else {
        text.push_str("\nPaste the code as your next message.");
        shared.login.waits(&pending, LoginWay::NextPrompt);
    }
    Ok(vec![transcript_text(live, &text, cause)])
}

fn wait_for_browser(shared: &Arc<Shared>, live: &Arc<Live>, pending: PendingLogin) {
    let (shared, live) = (Arc::clone(shared), Arc::clone(live));
    tasks::spawn(async move {
        let Some(login) = shared.options.login.clone() else {
            return;
        };
        let text = tokio::select! {
            text = completed(&*login, &pending, None) => text,
            // Whoever took its place says how that went.
            () = pending.given_up.cancelled() => return,
        };
        shared.login.over(&pending);
        let snapshots = Part::Snapshots(Arc::clone(&live), None);
        shared
            .write(vec![transcript_text(&live, &text, None), snapshots])
            .await;
    });
}

/// The prompt was the code of a login: the model hears nothing of it.
pub(in crate::psi) fn pasted(
    call: &Call<'_>,
    live: Arc<Live>,
    pending: PendingLogin,
    code: String,
) -> Handled {
    let answerer: Answerer = call.answerer.clone();
    tasks::spawn(async move {
        answerer.done(Done::accepted().of(&live)).await;
        let Some(login) = answerer.shared.options.login.clone() else {
            return;
        };
        let text = completed(&*login, &pending, Some(code)).await;
        let cause = answerer.cause();
        let parts = vec![
            transcript_text(&live, &text, cause.clone()),
            Part::Snapshots(live, cause),
        ];
        answerer.shared.write(parts).await;
    });
    Ok(crate::psi::request::Answered::Later)
}

async fn completed(login: &dyn Login, pending: &PendingLogin, code: Option<String>) -> String {
    match login.complete(&pending.provider, code).await {
        Ok(()) => format!("✓ Logged in to {}.", pending.name),
        Err(why) => format!("Login at {} failed: {why}", pending.name),
    }
}

fn write_provider(writer: &mut EdnWriter<'_>, pending: &PendingLogin) {
    writer.map(|map| {
        map.field("id", &pending.provider)
            .field("name", &pending.name);
    });
}
