//! Logging in (sections 9.7 and 13.2).

use std::sync::Arc;

use stentor_agent::tasks;
use stentor_wire::edn::{EdnWriter, Fields, WriteEdn};
use stentor_wire::psi::ErrorCode;

use crate::login::{Login, LoginBegun};
use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::live::PsiSession;
use crate::psi::login_slot::{LoginSlotError, LoginWay, PendingLogin};
use crate::psi::payload::message::transcript_text;
use crate::psi::request::{OpAnswer, OpCall, OpDone, OpResult, RequestAnswerer};
use crate::psi::shared::PsiShared;

/// The provider may have to be asked first; nothing waits for it.
pub async fn begin(call: &mut OpCall<'_>) -> OpResult {
    let wanted = call.params.text("provider")?.map(str::to_owned);
    let live = call.target().await?;
    let shared = Arc::clone(call.shared());
    call.answerer.later(async move {
        let (pending, begun) = start(&shared, &live, wanted, false).await?;
        shared.login.waits(&pending, LoginWay::Operation);
        let done = OpDone::map(&[
            ("provider", &pending),
            ("url", &begun.url),
            ("uses-callback-server", &begun.uses_callback_server),
            ("pending-login", &true),
        ]);
        Ok(done.of(&live))
    })
}

/// A flow that waits for the browser may take long; nothing waits for it.
pub fn complete(call: &mut OpCall<'_>) -> OpResult {
    let input = call.params.text("input")?;
    let input = input.filter(|input| !input.trim().is_empty());
    let input = input.map(str::to_owned);
    let shared = Arc::clone(call.shared());
    let pending = shared.login.begun();
    let Some((pending, login)) = pending.zip(shared.options.login.clone()) else {
        let message = "no login was begun; login_begin begins one";
        return Err(OpError::new(ErrorCode::NoPendingLogin, message));
    };
    call.answerer.later(async move {
        let completed = tokio::select! {
            completed = login.complete(&pending.provider, input) => {
                completed.map_err(LoginSlotError::Refused)
            }
            () = pending.given_up.cancelled() => Err(LoginSlotError::Replaced),
        };
        completed?;
        shared.login.over(&pending);
        pending.given_up.cancel();
        Ok(OpDone::map(&[("provider", &pending), ("logged-in", &true)]))
    })
}

/// Begins a login at the provider that is meant: the one that is named, else the model's own. Has
/// it say where to go. A login that it refuses is not pending.
async fn start(
    shared: &PsiShared,
    live: &PsiSession,
    wanted: Option<String>,
    replaces: bool,
) -> Result<(PendingLogin, LoginBegun), LoginSlotError> {
    let login = shared.options.login.as_ref();
    let login = login.ok_or(LoginSlotError::Unavailable)?;
    let wanted = match wanted.filter(|wanted| !wanted.trim().is_empty()) {
        Some(wanted) => wanted.trim().to_owned(),
        None => {
            let model = live.session.state().await?.model;
            model.ok_or(LoginSlotError::NoModel)?.provider.clone()
        }
    };
    let providers = login.providers();
    let Some(provider) = providers.iter().find(|provider| provider.id == wanted) else {
        let names: Vec<&str> = providers.iter().map(|one| one.id.as_str()).collect();
        let there_are = names.join(", ");
        return Err(LoginSlotError::UnknownProvider { wanted, there_are });
    };
    let pending = shared.login.begin(provider, replaces)?;
    match login.begin(&pending.provider).await {
        Ok(begun) => Ok((pending, begun)),
        Err(why) => {
            shared.login.over(&pending);
            Err(LoginSlotError::Refused(why))
        }
    }
}

/// `/login`: one message with the address and what to do (section 19), and then, where the
/// browser comes back by itself, another when it did. Takes the place of one that is under way.
pub async fn slash_login(
    shared: &Arc<PsiShared>,
    live: &Arc<PsiSession>,
    wanted: Option<String>,
) -> Result<Vec<ItemPart>, LoginSlotError> {
    let (pending, begun) = start(shared, live, wanted, true).await?;
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
    Ok(vec![transcript_text(live, &text)])
}

fn wait_for_browser(shared: &Arc<PsiShared>, live: &Arc<PsiSession>, pending: PendingLogin) {
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
        shared.write(reported(live, &text)).await;
    });
}

/// The prompt was the code of a login: the model hears nothing of it.
pub fn pasted(
    call: &OpCall<'_>,
    live: Arc<PsiSession>,
    pending: PendingLogin,
    code: String,
) -> OpResult {
    let answerer: RequestAnswerer = call.answerer.clone();
    tasks::spawn(async move {
        answerer.done(OpDone::accepted().of(&live)).await;
        let Some(login) = answerer.shared.options.login.clone() else {
            return;
        };
        let text = completed(&*login, &pending, Some(code)).await;
        answerer.write(None, reported(live, &text)).await;
    });
    Ok(OpAnswer::Later)
}

/// How a login ended, in the transcript, and the snapshots.
fn reported(live: Arc<PsiSession>, text: &str) -> Vec<ItemPart> {
    let said = transcript_text(&live, text);
    vec![said, ItemPart::Snapshots(live)]
}

async fn completed(login: &dyn Login, pending: &PendingLogin, code: Option<String>) -> String {
    match login.complete(&pending.provider, code).await {
        Ok(()) => format!("✓ Logged in to {}.", pending.name),
        Err(why) => format!("Login at {} failed: {why}", pending.name),
    }
}

impl WriteEdn for PendingLogin {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.value(&Fields(&[("id", &self.provider), ("name", &self.name)]));
    }
}
