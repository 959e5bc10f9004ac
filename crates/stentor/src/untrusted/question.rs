//! Asking whether a folder is to be trusted, and warning of what is left out where nobody is asked.
//!
//! It is asked once for each folder and process, with the first prompt for which somebody is known
//! to answer. Before that, a notice with the first prompt lists what is left out. Nobody waits for
//! the answer: the run goes on with an untrusted folder, and whatever is not a clear yes leaves it
//! that. After a yes [`super::joining`] has what the folder brings join the session that asked.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stentor_agent::box_error::BoxError;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::event::{CommandInfo, EventKind, NoticeLevel, NoticeSource};
use stentor_agent::hooks::{CallHooks, CallVerdict, CommandRan, HookFuture, Hooks, PromptVerdict};
use stentor_agent::session::{HookSource, HookedSession, Session};
use stentor_agent::tasks;
use stentor_agent::tool::{Tool, ToolOutput};
use stentor_journal::clock::{SharedClock, iso_time};
use stentor_journal::message::ToolCall;
use stentor_text::visible::visible;
use tokio::task::JoinError;

use super::brought::{lines, notice};
use super::joining::{LoadTrusted, TrustedContents};
use crate::config::TrustRequirement;
use crate::trust::store::{TrustStore, TrustStoreError};

/// How the sessions of a way in are asked.
#[derive(Debug, Clone, Default)]
pub struct TrustAsking {
    /// How far it has come with each folder.
    mentioned: Arc<Mutex<HashMap<PathBuf, MentionKind>>>,
}

/// How a folder was brought up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MentionKind {
    Notified,
    Asked,
}

impl TrustAsking {
    /// Notes that somebody is asked about a folder. False if that was so already.
    pub fn mark_asked(&self, root: &Path) -> bool {
        self.mark(root, MentionKind::Asked)
    }

    /// Notes that somebody is notified of a folder. False if that was so already, or somebody was
    /// asked about it.
    fn mark_notified(&self, root: &Path) -> bool {
        self.mark(root, MentionKind::Notified)
    }

    fn mark(&self, root: &Path, how: MentionKind) -> bool {
        let mut mentioned = self
            .mentioned
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = mentioned.get(root).copied();
        if before >= Some(how) {
            return false;
        }
        mentioned.insert(root.to_owned(), how);
        true
    }
}

/// The question about one folder, for its sessions.
#[derive(Clone)]
pub struct TrustQuestion {
    pub asking: TrustAsking,
    pub root: PathBuf,
    pub wanted: Arc<[TrustRequirement]>,
    /// Absent where there is no folder to keep an answer in: then nobody is asked.
    pub store: Option<TrustStore>,
    pub loader: Arc<dyn LoadTrusted>,
    pub clock: SharedClock,
}

impl HookSource for TrustQuestion {
    fn attach(&self, hooked: HookedSession) -> Arc<dyn Hooks> {
        Arc::new(AttachedQuestion(Arc::new(SessionTrustQuestion {
            hooked,
            question: self.clone(),
            brought: OnceLock::new(),
        })))
    }
}

struct AttachedQuestion(Arc<SessionTrustQuestion>);

/// The question of one session.
struct SessionTrustQuestion {
    hooked: HookedSession,
    question: TrustQuestion,
    /// The hooks that the folder brought when it was trusted.
    brought: OnceLock<Arc<dyn Hooks>>,
}

impl SessionTrustQuestion {
    /// Asks who is known to answer, and notifies everybody else: each once.
    async fn mention(self: &Arc<Self>, session: Session) {
        let TrustQuestion { asking, root, .. } = &self.question;
        if !self.question.can_be_asked(&session) {
            // Before the prompt is answered: a program that answers just one ends then.
            if asking.mark_notified(root) {
                let message = notice(root, &self.question.wanted);
                notify(&session, NoticeLevel::Warning, message);
            }
        } else if asking.mark_asked(root) {
            let asked = Arc::clone(self);
            let mut question = Box::pin(async move { asked.ask(&session).await });
            // Polled once, so that the question stands before everything the run publishes: some
            // clients take questions only during a turn. The answer may take as long as it likes.
            tokio::select! {
                biased;
                () = &mut question => {}
                () = std::future::ready(()) => {
                    tasks::spawn(question);
                }
            }
        }
    }

    /// Asks, and has what a yes allows join the session.
    async fn ask(&self, session: &Session) {
        if !self.question.is_answered_with_yes(session).await {
            return;
        }
        let question = self.question.clone();
        let trusted = tasks::spawn_blocking(move || question.trust()).await;
        let trusted = trusted.map_err(TrustError::Panicked).flatten();
        let root = self.question.root.display();
        let loaded = match trusted {
            Ok(loaded) => loaded,
            Err(why) => return notify(session, NoticeLevel::Error, format!("{root} {why}")),
        };
        if let Some(hooks) = loaded.join(session, self.hooked.clone()).await {
            let _ = self.brought.set(hooks);
        }
        let message = format!("{root} is trusted{}", counts_later(&self.question.wanted));
        notify(session, NoticeLevel::Info, message);
    }

    fn brought(&self) -> Option<&Arc<dyn Hooks>> {
        self.brought.get()
    }
}

/// What came of a yes. Its text goes on after the folder's name.
#[derive(Debug, thiserror::Error)]
enum TrustError {
    #[error("is not trusted: {0}")]
    NotStored(#[from] TrustStoreError),
    #[error("is trusted from the next session on: {0}")]
    NotLoaded(BoxError),
    #[error(transparent)]
    Panicked(JoinError),
}

impl TrustQuestion {
    fn can_be_asked(&self, session: &Session) -> bool {
        self.store.is_some() && session.is_known_to_answer()
    }

    async fn is_answered_with_yes(&self, session: &Session) -> bool {
        let dialog = Dialog {
            title: format!("Trust {}?", visible(&self.root.display().to_string())),
            kind: DialogKind::Confirm {
                message: question(&self.root, &self.wanted),
                lasting: Some("Trust this folder".to_owned()),
            },
            form: None,
            timeout_ms: Some(LONGEST_WAIT_MS),
        };
        session.ask_dialog(dialog).await == DialogAnswer::Confirmed(true)
    }

    /// Trusts the folder and loads what it brings. Waits for the disk.
    fn trust(&self) -> Result<TrustedContents, TrustError> {
        let now = iso_time(self.clock.now_ms());
        let stored = self
            .store
            .as_ref()
            .map(|store| store.trust(&self.root, &now));
        stored.transpose()?;
        self.loader.load().map_err(TrustError::NotLoaded)
    }
}

/// What of it does not reach the session that asked, to go on after "is trusted".
fn counts_later(wanted: &[TrustRequirement]) -> String {
    let later: Vec<&str> = wanted
        .iter()
        .filter(|one| !one.at_once)
        .map(|one| one.what.as_str())
        .collect();
    match later.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} takes effect with the next session"),
        several => format!("; {} take effect with the next session", several.join(", ")),
    }
}

/// A question that nobody answers is withdrawn.
const LONGEST_WAIT_MS: u64 = 10 * 60 * 1000;

/// What a person is asked: everything that waits, and what a yes means.
pub fn question(root: &Path, wanted: &[TrustRequirement]) -> String {
    let mut text = String::from("This is not used until you trust the folder:\n");
    for line in lines(root, wanted) {
        text.push_str(&format!("- {}\n", visible(&line)));
    }
    text.push_str("To take trust back later, run `stentor trust --revoke`.");
    text
}

/// How long a question at a terminal waits: some terminals have nobody before them.
pub const AT_TERMINAL: Duration = Duration::from_secs(60);

/// Asks at a terminal, for as long as `limit` says. Only a clear yes is one.
pub fn ask_at_terminal(
    root: &Path,
    wanted: &[TrustRequirement],
    terminal: &mut (impl Read + AsFd),
    limit: Duration,
    out: &mut impl Write,
) -> io::Result<bool> {
    writeln!(
        out,
        "{} is not trusted, so this is not used:",
        visible(&root.display().to_string())
    )?;
    for line in lines(root, wanted) {
        writeln!(out, "  {}", visible(&line))?;
    }
    write!(out, "Trust this folder? [y/N] ")?;
    out.flush()?;
    if !is_answered(terminal, limit)? {
        writeln!(out, "\nNobody answers, so the folder is not trusted.")?;
        return Ok(false);
    }
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// Waits for a line, or for the end of the input. A terminal is ready when the line is whole.
fn is_answered(terminal: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut asked = [PollFd::new(terminal, PollFlags::IN)];
    Ok(poll(&mut asked, Some(&limit))? > 0)
}

fn notify(session: &Session, level: NoticeLevel, message: String) {
    session.publish(EventKind::Notice {
        level,
        message: visible(&message).into_owned(),
        from: NoticeSource::Agent,
    });
}

impl CallHooks for AttachedQuestion {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let brought = self.0.brought();
        brought.map(|hooks| hooks.tools()).unwrap_or_default()
    }

    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        match self.0.brought() {
            Some(hooks) => hooks.before_tool_call(call),
            None => Box::pin(std::future::ready(CallVerdict::Allowed)),
        }
    }

    fn after_tool_call(&self, call: Arc<ToolCall>, output: ToolOutput) -> HookFuture<ToolOutput> {
        match self.0.brought() {
            Some(hooks) => hooks.after_tool_call(call, output),
            None => Box::pin(std::future::ready(output)),
        }
    }
}

impl Hooks for AttachedQuestion {
    fn commands(&self) -> Vec<CommandInfo> {
        let brought = self.0.brought();
        brought.map(|hooks| hooks.commands()).unwrap_or_default()
    }

    fn command_to_come(&self, name: &str) -> Option<HookFuture<()>> {
        self.0.brought()?.command_to_come(name)
    }

    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>> {
        match self.0.brought() {
            Some(hooks) => hooks.run_command(name, arguments),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        let asked = Arc::clone(&self.0);
        Box::pin(async move {
            if let Some(session) = asked.hooked.session.upgrade() {
                asked.mention(session).await;
            }
            match asked.brought() {
                Some(hooks) => hooks.before_prompt(text).await,
                None => PromptVerdict::Answer {
                    context: Vec::new(),
                },
            }
        })
    }

    fn session_ended(&self) -> HookFuture<()> {
        match self.0.brought() {
            Some(hooks) => hooks.session_ended(),
            None => Box::pin(std::future::ready(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> [TrustRequirement; 1] {
        [TrustRequirement {
            what: "`retry.fallback`".to_owned(),
            file: "/r/.stentor/config.toml".into(),
            line: Some(3),
            why: "it is not listed",
            at_once: false,
        }]
    }

    #[test]
    fn a_terminal_with_nobody_before_it_is_not_waited_for() {
        let (mut silent, _typist) = std::io::pipe().unwrap();
        let mut out = Vec::new();
        let limit = Duration::from_millis(1);
        let said = ask_at_terminal(Path::new("/r"), &wanted(), &mut silent, limit, &mut out);
        assert!(!said.unwrap());
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.ends_with("\nNobody answers, so the folder is not trusted.\n"));
    }

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
            let (mut terminal, mut typist) = std::io::pipe().unwrap();
            typist.write_all(answer.as_bytes()).unwrap();
            drop(typist);
            let root = Path::new("/r");
            let said = ask_at_terminal(root, &wanted(), &mut terminal, AT_TERMINAL, &mut out);
            assert_eq!(said.unwrap(), trusted, "{answer:?}");
            let shown = String::from_utf8(out).unwrap();
            assert_eq!(
                shown,
                "/r is not trusted, so this is not used:\n  `retry.fallback` \
                 (.stentor/config.toml:3): it is not listed\nTrust this folder? [y/N] "
            );
        }
    }
}
