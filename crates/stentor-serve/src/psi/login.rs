//! Logging in (sections 9.7 and 13.2), and the one login that may be under way.

use std::sync::{Arc, Mutex, OnceLock};

use stentor_agent::box_error::BoxError;
use stentor_agent::tasks;
use stentor_wire::edn::Value;
use stentor_wire::psi::ErrorCode;
use tokio_util::sync::CancellationToken;

use super::error::OpError;
use super::item::ItemPart;
use super::live::PsiSession;
use super::payload::message::transcript_text;
use super::request::{OpCall, OpDone, OpResult};
use super::shared::{PsiShared, lock};
use crate::login::{Login, LoginBegun, ProviderLogin};

/// Where the login that is under way is noted.
#[derive(Default)]
pub(super) struct LoginSlot {
    pending: Mutex<Option<Arc<PendingLogin>>>,
}

/// A login that is under way.
#[derive(Debug)]
pub(super) struct PendingLogin {
    provider: String,
    name: String,
    /// How it is completed; nothing yet when the provider has not said where to go.
    way: OnceLock<LoginWay>,
    /// Fires when another took its place, or the code came another way.
    given_up: CancellationToken,
}

/// How a login is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginWay {
    /// By `login_complete`.
    Operation,
    /// The next prompt is the code.
    NextPrompt,
    /// The browser comes back by itself, or its address is pasted as a prompt.
    Browser,
}

impl PendingLogin {
    /// The provider said where to go: this is how the login is completed.
    fn waits(&self, way: LoginWay) {
        // It says so once.
        self.way.set(way).ok();
    }

    fn shown(&self) -> Value<'static> {
        let (id, name) = (self.provider.clone(), self.name.clone());
        Value::map([("id", id.into()), ("name", name.into())])
    }
}

impl LoginSlot {
    /// Notes that a login begins, unless another one is under way that it does not replace.
    fn begin(
        &self,
        provider: &ProviderLogin,
        replaces: bool,
    ) -> Result<Arc<PendingLogin>, OpError> {
        let mut under_way = lock(&self.pending);
        match &*under_way {
            Some(pending) if !replaces => {
                let name = &pending.name;
                let message =
                    format!("a login to {name} is already in progress; /login starts another");
                return Err(OpError::params(message));
            }
            Some(pending) => pending.given_up.cancel(),
            None => {}
        }
        let pending = Arc::new(PendingLogin {
            provider: provider.id.clone(),
            name: provider.name.clone(),
            way: OnceLock::new(),
            given_up: CancellationToken::new(),
        });
        *under_way = Some(Arc::clone(&pending));
        Ok(pending)
    }

    /// The login is over, however it ended.
    fn over(&self, of: &Arc<PendingLogin>) {
        lock(&self.pending).take_if(|pending| Arc::ptr_eq(pending, of));
    }

    /// The login that `login_complete` would complete.
    fn begun(&self) -> Option<Arc<PendingLogin>> {
        let pending = lock(&self.pending).clone();
        pending.filter(|pending| pending.way.get().is_some())
    }

    /// The login whose code this prompt is; it is no longer pending then.
    pub fn take_for_prompt(&self, text: &str) -> Option<Arc<PendingLogin>> {
        let is_code = |pending: &mut Arc<PendingLogin>| match pending.way.get() {
            Some(LoginWay::NextPrompt) => true,
            Some(LoginWay::Browser) => is_return_address(text),
            Some(LoginWay::Operation) | None => false,
        };
        let taken = lock(&self.pending).take_if(is_code)?;
        taken.given_up.cancel();
        Some(taken)
    }
}

/// The address a browser is sent back to: no prompt looks like it by accident.
fn is_return_address(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("http")
        && !text.contains(char::is_whitespace)
        && text.contains("code=")
        && text.contains("state=")
}

/// The provider may have to be asked first; nothing waits for it.
pub async fn begin(call: &mut OpCall<'_>) -> OpResult {
    let wanted = call.params.text("provider")?.map(str::to_owned);
    let live = call.target().await?;
    let shared = Arc::clone(call.shared());
    call.answerer.later(async move {
        let (pending, begun) = start(&shared, &live, wanted, false).await?;
        pending.waits(LoginWay::Operation);
        let done = OpDone::map(&[
            ("provider", &pending.shown()),
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
            completed = login.complete(&pending.provider, input) => completed,
            () = pending.given_up.cancelled() => Err("another login was started".into()),
        };
        completed.map_err(refused)?;
        shared.login.over(&pending);
        pending.given_up.cancel();
        Ok(OpDone::map(&[
            ("provider", &pending.shown()),
            ("logged-in", &true),
        ]))
    })
}

/// Begins a login at the provider that is meant: the one that is named, else the model's own. Has
/// it say where to go. A login that it refuses is not pending.
async fn start(
    shared: &PsiShared,
    live: &PsiSession,
    wanted: Option<String>,
    replaces: bool,
) -> Result<(Arc<PendingLogin>, LoginBegun), OpError> {
    let login = shared.options.login.as_ref();
    let unavailable = "logging in is not available here; configure a key instead";
    let login = login.ok_or_else(|| OpError::params(unavailable))?;
    let wanted = match wanted.filter(|wanted| !wanted.trim().is_empty()) {
        Some(wanted) => wanted.trim().to_owned(),
        None => {
            let state = live.session.state().await;
            let state = state.map_err(|error| OpError::params(error.to_string()))?;
            let none = || OpError::params("name a provider: there is no model");
            state.model.ok_or_else(none)?.provider.clone()
        }
    };
    let providers = login.providers();
    let Some(provider) = providers.iter().find(|provider| provider.id == wanted) else {
        let names: Vec<&str> = providers.iter().map(|one| one.id.as_str()).collect();
        let there_are = names.join(", ");
        let message = format!("{wanted} has no login; these providers do: {there_are}");
        return Err(OpError::params(message));
    };
    let pending = shared.login.begin(provider, replaces)?;
    match login.begin(&pending.provider).await {
        Ok(begun) => Ok((pending, begun)),
        Err(why) => {
            shared.login.over(&pending);
            Err(refused(why))
        }
    }
}

/// The text is the provider's.
fn refused(why: BoxError) -> OpError {
    OpError::failed(why.to_string())
}

/// `/login`: one message with the address and what to do (section 19), and then, where the
/// browser comes back by itself, another when it did. Takes the place of one that is under way.
pub async fn slash_login(
    shared: &Arc<PsiShared>,
    live: &Arc<PsiSession>,
    wanted: Option<String>,
) -> Result<Vec<ItemPart>, OpError> {
    let (pending, begun) = start(shared, live, wanted, true).await?;
    let mut text = format!("Log in at {}: {}", pending.name, begun.url);
    if !begun.instructions.is_empty() {
        text.push('\n');
        text.push_str(&begun.instructions);
    }
    if begun.uses_callback_server {
        text.push_str("\nWaiting for the browser to come back…");
        pending.waits(LoginWay::Browser);
        wait_for_browser(shared, live, pending);
    } else {
        text.push_str("\nPaste the code as your next message.");
        pending.waits(LoginWay::NextPrompt);
    }
    Ok(vec![transcript_text(live, &text)])
}

fn wait_for_browser(shared: &Arc<PsiShared>, live: &Arc<PsiSession>, pending: Arc<PendingLogin>) {
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
    pending: Arc<PendingLogin>,
    code: String,
) -> OpResult {
    let answerer = call.answerer.clone();
    tasks::spawn(async move {
        answerer.done(OpDone::accepted().of(&live)).await;
        let Some(login) = answerer.shared.options.login.clone() else {
            return;
        };
        let text = completed(&*login, &pending, Some(code)).await;
        answerer.write(None, reported(live, &text)).await;
    });
    Ok(None)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: &str) -> ProviderLogin {
        ProviderLogin {
            id: id.to_owned(),
            name: id.to_uppercase(),
            logged_in: false,
        }
    }

    #[test]
    fn one_login_is_under_way_and_only_a_person_replaces_it() {
        let slot = LoginSlot::default();
        let first = slot.begin(&provider("a"), false).unwrap();
        assert!(slot.begun().is_none(), "nobody can complete it yet");
        first.waits(LoginWay::Operation);
        assert_eq!(slot.begun().unwrap().provider, "a");
        assert_eq!(
            slot.begin(&provider("b"), false).unwrap_err().to_string(),
            "a login to A is already in progress; /login starts another"
        );
        let second = slot.begin(&provider("b"), true).unwrap();
        assert!(first.given_up.is_cancelled());
        // What the first still does changes nothing.
        first.waits(LoginWay::Operation);
        slot.over(&first);
        second.waits(LoginWay::Browser);
        assert_eq!(slot.begun().unwrap().provider, "b");
        slot.over(&second);
        assert!(slot.begun().is_none());
    }

    #[test]
    fn a_prompt_is_a_code_when_one_is_waited_for() {
        let slot = LoginSlot::default();
        assert!(slot.take_for_prompt("code").is_none());
        for (way, text, is_code) in [
            (LoginWay::NextPrompt, "anything", true),
            (LoginWay::Operation, "anything", false),
            (LoginWay::Browser, "anything", false),
            (LoginWay::Browser, "what is http://x/?code=1&state=2", false),
            (
                LoginWay::Browser,
                " http://localhost:1/callback?code=1&state=2 ",
                true,
            ),
        ] {
            let pending = slot.begin(&provider("a"), true).unwrap();
            pending.waits(way);
            let taken = slot.take_for_prompt(text);
            assert_eq!(taken.is_some(), is_code, "{way:?} {text}");
            assert_eq!(pending.given_up.is_cancelled(), is_code);
        }
    }
}
