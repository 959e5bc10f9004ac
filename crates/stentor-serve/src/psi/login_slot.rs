//! The one login that may be under way.

use std::sync::{Mutex, MutexGuard};

use stentor_agent::box_error::BoxError;
use stentor_agent::session::SessionError;
use tokio_util::sync::CancellationToken;

use super::shared::lock;
use crate::login::ProviderLogin;

/// Where the login that is under way is noted.
#[derive(Default)]
pub(super) struct LoginSlot {
    state: Mutex<LoginSlotState>,
}

#[derive(Default)]
struct LoginSlotState {
    begun: u64,
    pending: Option<PendingLogin>,
}

/// A login that is under way.
#[derive(Debug, Clone)]
pub(super) struct PendingLogin {
    /// Tells it from those before and after it.
    number: u64,
    pub provider: String,
    pub name: String,
    /// How it is completed; nothing yet when the provider has not said.
    pub way: Option<LoginWay>,
    /// Fires when another took its place, or the code came another way.
    pub given_up: CancellationToken,
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

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginSlotError {
    #[error("logging in is not available here; configure a key instead")]
    Unavailable,
    #[error("name a provider: there is no model")]
    NoModel,
    #[error("{wanted} has no login; these providers do: {there_are}")]
    UnknownProvider { wanted: String, there_are: String },
    #[error("a login to {0} is already in progress; /login starts another")]
    Pending(String),
    #[error("another login was started")]
    Replaced,
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The text is the provider's.
    #[error(transparent)]
    Refused(BoxError),
}

impl LoginSlot {
    /// Notes that a login begins, unless another one is under way that it does not replace.
    pub fn begin(
        &self,
        provider: &ProviderLogin,
        replaces: bool,
    ) -> Result<PendingLogin, LoginSlotError> {
        let mut state = self.lock();
        match &state.pending {
            Some(pending) if !replaces => {
                return Err(LoginSlotError::Pending(pending.name.clone()));
            }
            Some(pending) => pending.given_up.cancel(),
            None => {}
        }
        state.begun += 1;
        let pending = PendingLogin {
            number: state.begun,
            provider: provider.id.clone(),
            name: provider.name.clone(),
            way: None,
            given_up: CancellationToken::new(),
        };
        state.pending = Some(pending.clone());
        Ok(pending)
    }

    /// The provider said where to go: this is how the login is completed.
    pub fn waits(&self, of: &PendingLogin, way: LoginWay) {
        let mut state = self.lock();
        if let Some(pending) = state.pending.as_mut()
            && pending.number == of.number
        {
            pending.way = Some(way);
        }
    }

    /// The login is over, however it ended.
    pub fn over(&self, of: &PendingLogin) {
        self.lock()
            .pending
            .take_if(|pending| pending.number == of.number);
    }

    /// The login that `login_complete` would complete.
    pub fn begun(&self) -> Option<PendingLogin> {
        let pending = self.lock().pending.clone();
        pending.filter(|pending| pending.way.is_some())
    }

    /// The login whose code this prompt is; it is no longer pending then.
    pub fn take_for_prompt(&self, text: &str) -> Option<PendingLogin> {
        let taken = self.lock().pending.take_if(|pending| match pending.way {
            Some(LoginWay::NextPrompt) => true,
            Some(LoginWay::Browser) => is_return_address(text),
            Some(LoginWay::Operation) | None => false,
        })?;
        taken.given_up.cancel();
        Some(taken)
    }

    fn lock(&self) -> MutexGuard<'_, LoginSlotState> {
        lock(&self.state)
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
        slot.waits(&first, LoginWay::Operation);
        assert_eq!(slot.begun().unwrap().provider, "a");
        assert_eq!(
            slot.begin(&provider("b"), false).unwrap_err().to_string(),
            "a login to A is already in progress; /login starts another"
        );
        let second = slot.begin(&provider("b"), true).unwrap();
        assert!(first.given_up.is_cancelled());
        // What the first still does changes nothing.
        slot.waits(&first, LoginWay::Operation);
        slot.over(&first);
        slot.waits(&second, LoginWay::Browser);
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
            slot.waits(&pending, way);
            let taken = slot.take_for_prompt(text);
            assert_eq!(taken.is_some(), is_code, "{way:?} {text}");
            assert_eq!(pending.given_up.is_cancelled(), is_code);
        }
    }
}
