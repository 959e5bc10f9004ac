//! Asking whether a folder is to be trusted, and telling what is left out where nobody is asked.
//!
//! It is asked once for each folder and process, with the first prompt, and only of who can answer.
//! Whatever is not a clear yes leaves the folder untrusted. A yes counts from the next session on:
//! the one that asks has begun without what the folder brings.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_agent::hooks::{CallHooks, HookFuture, Hooks, PromptVerdict};
use stentor_agent::session::{HookSource, HookedSession, Session, WeakSession};
use stentor_journal::clock::{SharedClock, iso_time};
use stentor_text::visible::visible;

use super::brought::notice;
use crate::config::Wanted;
use crate::trust::store::TrustStore;

/// How the sessions of a way in are asked.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// The first prompt waits for the answer: the client takes questions only during a turn.
    in_turn: bool,
    /// The folders that have been asked about, or told of.
    told: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Asking {
    /// The question stands beside the conversation, which goes on meanwhile.
    pub fn beside() -> Self {
        Self::default()
    }

    /// The question is part of the first turn.
    pub fn in_turn() -> Self {
        Self {
            in_turn: true,
            ..Self::default()
        }
    }

    /// Notes that somebody has been told of a folder. False if that was so already.
    pub fn tell(&self, root: &Path) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(root.to_owned())
    }
}

/// The question about one folder, for its sessions.
#[derive(Clone)]
pub struct TrustQuestion {
    pub asking: Asking,
    pub root: PathBuf,
    pub wanted: Arc<[Wanted]>,
    /// Absent where there is no folder to keep an answer in: then nobody is asked.
    pub store: Option<TrustStore>,
    pub clock: SharedClock,
}

impl HookSource for TrustQuestion {
    fn attach(&self, hooked: HookedSession) -> Arc<dyn Hooks> {
        Arc::new(Attached {
            session: hooked.session,
            question: Arc::new(self.clone()),
            prompted: AtomicBool::new(false),
        })
    }
}

struct Attached {
    session: WeakSession,
    question: Arc<TrustQuestion>,
    prompted: AtomicBool,
}

impl TrustQuestion {
    async fn ask(&self, session: &Session) {
        let Some(store) = self.store.as_ref().filter(|_| session.can_ask()) else {
            return tell(
                session,
                NoticeLevel::Warning,
                notice(&self.root, &self.wanted),
            );
        };
        let dialog = Dialog {
            title: format!("Trust {}?", visible(&self.root.display().to_string())),
            kind: DialogKind::Confirm {
                message: question(&self.root, &self.wanted),
                lasting: Some("Trust this folder".to_owned()),
            },
            timeout_ms: Some(LONGEST_WAIT_MS),
        };
        if session.ask_dialog(dialog).await != DialogAnswer::Confirmed(true) {
            return;
        }
        let (store, root) = (store.clone(), self.root.clone());
        let now = iso_time(self.clock.now_ms());
        let kept = tokio::task::spawn_blocking(move || store.trust(&root, &now)).await;
        let root = self.root.display();
        let (level, message) = match kept {
            Ok(Ok(_)) => (
                NoticeLevel::Info,
                format!("{root} is trusted: what it brings counts from the next session on"),
            ),
            Ok(Err(error)) => (
                NoticeLevel::Error,
                format!("{root} is not trusted: {error}"),
            ),
            Err(error) => (
                NoticeLevel::Error,
                format!("{root} is not trusted: {error}"),
            ),
        };
        tell(session, level, message);
    }
}

/// A question that nobody answers is withdrawn.
const LONGEST_WAIT_MS: u64 = 10 * 60 * 1000;

/// What a person is asked: everything that waits, and what a yes means.
pub fn question(root: &Path, wanted: &[Wanted]) -> String {
    let mut text = String::from("It brings what is left out until you trust it:\n");
    for one in wanted {
        let line = format!("- {} ({}): {}\n", one.what, one.place(root), one.why);
        text.push_str(&visible(&line));
    }
    text.push_str("A yes counts from the next session on; `stentor trust --revoke` takes it back.");
    text
}

/// Asks at a terminal. Only a clear yes is one.
pub fn ask_at_terminal(
    root: &Path,
    wanted: &[Wanted],
    answers: &mut impl BufRead,
    out: &mut impl Write,
) -> io::Result<bool> {
    writeln!(
        out,
        "{} is not trusted. It brings:",
        visible(&root.display().to_string())
    )?;
    for one in wanted {
        let line = format!("  {} ({}): {}", one.what, one.place(root), one.why);
        writeln!(out, "{}", visible(&line))?;
    }
    write!(out, "Trust it from now on? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

fn tell(session: &Session, level: NoticeLevel, message: String) {
    session.publish(EventKind::Notice {
        level,
        message: visible(&message).into_owned(),
        from: NoticeSource::Agent,
    });
}

impl CallHooks for Attached {}

impl Hooks for Attached {
    fn before_prompt(&self, _: Arc<str>) -> HookFuture<PromptVerdict> {
        let pass = PromptVerdict::Answer {
            context: Vec::new(),
        };
        let session = self.session.upgrade();
        let is_first = !self.prompted.swap(true, Ordering::AcqRel);
        let (Some(session), true) = (session, is_first) else {
            return Box::pin(std::future::ready(pass));
        };
        if !self.question.asking.tell(&self.question.root) {
            return Box::pin(std::future::ready(pass));
        }
        let question = Arc::clone(&self.question);
        let in_turn = question.asking.in_turn;
        let asked = async move { question.ask(&session).await };
        Box::pin(async move {
            match in_turn {
                true => asked.await,
                false => drop(tokio::spawn(asked)),
            }
            pass
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a_terminal_only_a_clear_yes_is_one() {
        for (answer, trusted) in [
            ("y\n", true),
            ("yes\n", true),
            ("\n", false),
            ("", false),
            ("n\n", false),
            ("yesterday\n", false),
        ] {
            let mut out = Vec::new();
            let wanted = [Wanted {
                what: "`retry.fallback`".to_owned(),
                file: "/r/.stentor/config.toml".into(),
                line: Some(3),
                why: "it is not listed",
            }];
            let said = ask_at_terminal(Path::new("/r"), &wanted, &mut answer.as_bytes(), &mut out);
            assert_eq!(said.unwrap(), trusted, "{answer:?}");
            let shown = String::from_utf8(out).unwrap();
            assert_eq!(
                shown,
                "/r is not trusted. It brings:\n  `retry.fallback` (.stentor/config.toml:3): it is \
                 not listed\nTrust it from now on? [y/N] "
            );
        }
    }
}
