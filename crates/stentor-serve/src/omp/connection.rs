//! What the way in and the way out of a connection share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::value::RawValue;
use stentor_agent::event::{CommandInfo, CommandSource, Queues};
use stentor_agent::session::{OwnCommand, Session};
use stentor_wire::omp::frame::{AvailableCommand, CommandInput};
use tokio_util::sync::CancellationToken;

use super::filter::FrameFilter;
use super::framing::Framing;
use super::place::WayOut;
use super::prompts::OpenPrompts;
use super::subagents::OmpSubagents;
use super::ui::UiKind;

/// Answers of the client that may wait for the end of their question.
const MAX_ANSWERED: usize = 256;

/// What the way in and the way out share.
#[derive(Default)]
pub(super) struct OmpConnection {
    pub framing: Framing,
    pub wants: FrameFilter,
    pub prompts: OpenPrompts,
    pub subagents: OmpSubagents,
    pub bash: BashCommands,
    pub sent_queues: SentQueues,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
    /// It is a client of a server: others use its session, too, and messages are known by their entries
    /// when it was away.
    pub of_server: bool,
    /// Nobody is there to answer: only events go out.
    pub events_only: bool,
    /// The client is known to answer dialogs (section 15): the protocol has no word for that, so it
    /// was started for them or has answered one. Declining does not count: clients without a
    /// person do that by themselves.
    answers_dialogs: AtomicBool,
    /// The questions that the client has answered and whose end was not seen yet.
    answered: Mutex<HashSet<(UiKind, u32, u64)>>,
    shown: AtomicU64,
    way_out: Mutex<Option<WayOut>>,
}

impl OmpConnection {
    /// For a client of a process of its own, or of a server.
    pub fn new(of_server: bool) -> Self {
        Self {
            of_server,
            ..Self::default()
        }
    }

    /// For one who only reads pi's events.
    pub fn printing() -> Self {
        Self {
            wants: FrameFilter::of_pi(),
            events_only: true,
            ..Self::default()
        }
    }

    /// The client has shown that it answers dialogs.
    pub fn answers_dialogs(&self) {
        self.answers_dialogs.store(true, Ordering::Release);
    }

    /// True when the client has shown that it answers dialogs.
    pub fn has_answered_dialogs(&self) -> bool {
        self.answers_dialogs.load(Ordering::Acquire)
    }

    /// The client answers a question.
    pub fn answered(&self, kind: UiKind, generation: u32, number: u64) {
        let mut answered = lock(&self.answered);
        if answered.len() >= MAX_ANSWERED {
            // Only what is answered late, or was never asked, stays.
            answered.clear();
        }
        answered.insert((kind, generation, number));
    }

    /// True when the client answered the question that has ended.
    pub fn take_answered(&self, kind: UiKind, generation: u32, number: u64) -> bool {
        lock(&self.answered).remove(&(kind, generation, number))
    }

    /// Lets a session ask the client.
    pub async fn let_ask(&self, session: &Session) {
        if self.answers_dialogs.load(Ordering::Acquire) {
            session.set_can_ask(true).await.ok();
        } else {
            session.set_answerer_unproven();
        }
    }

    /// A number for the id of something that is only shown.
    pub fn next_shown(&self) -> u64 {
        self.shown.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The frames of the conversation now take this way.
    pub fn goes_out(&self, way_out: WayOut) {
        *self.way_out.lock().unwrap_or_else(PoisonError::into_inner) = Some(way_out);
    }

    /// The way they take, once there is a conversation.
    pub fn way_out(&self) -> Option<WayOut> {
        self.way_out
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The queues as they were sent to the client last, and of which conversation they are.
#[derive(Debug, Default)]
pub(super) struct SentQueues(Mutex<Option<(u32, Arc<Queues>)>>);

impl SentQueues {
    /// They are sent now.
    pub fn set(&self, generation: u32, queues: &Arc<Queues>) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sent = Some((generation, Arc::clone(queues)));
    }

    /// What was sent last, if anything was of this conversation.
    pub fn of(&self, generation: u32) -> Option<Arc<Queues>> {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, queues) = sent.as_ref()?;
        (*of == generation).then(|| Arc::clone(queues))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The slash commands as omp lists them.
pub(super) fn available_commands(commands: &[CommandInfo]) -> Vec<AvailableCommand> {
    let mut own = OwnCommand::infos();
    // What somebody has written by that name counts.
    own.retain(|own| commands.iter().all(|command| command.name != own.name));
    let listed = own.iter().chain(commands).map(|command| AvailableCommand {
        name: command.name.clone(),
        description: command.description.clone(),
        input: command
            .hint
            .clone()
            .map(|hint| CommandInput { hint: Some(hint) }),
        source: omp_source(command.source),
    });
    listed.collect()
}

/// omp's word for where a command comes from (section 19); its Python client knows no other.
fn omp_source(source: CommandSource) -> &'static str {
    match source {
        CommandSource::Prompt => "file",
        CommandSource::Agent => "custom",
        other => other.as_str(),
    }
}

/// The ids of the `bash` commands of a session, by the number the session gives them.
#[derive(Debug, Default)]
pub(super) struct BashCommands {
    state: Mutex<BashIds>,
}

#[derive(Debug, Default)]
struct BashIds {
    /// Which session of the process the numbers are of.
    session: u64,
    ids: HashMap<u64, Arc<RawValue>>,
}

/// A `bash` command that was sent.
#[derive(Debug, Clone)]
pub(super) struct SentBash {
    session: u64,
    id: Option<Arc<RawValue>>,
    /// Known when it has begun: other clients of the session send commands, too.
    number: Arc<OnceLock<u64>>,
}

impl BashCommands {
    /// The next one is sent.
    pub fn sent(&self, id: Option<&RawValue>) -> SentBash {
        SentBash {
            session: self.lock().session,
            id: id.map(|id| Arc::from(id.to_owned())),
            number: Arc::default(),
        }
    }

    /// The session has given it a number.
    pub fn began(&self, command: &SentBash, number: u64) {
        let mut state = self.lock();
        let number = *command.number.get_or_init(|| number);
        if let (Some(id), true) = (&command.id, state.session == command.session) {
            state.ids.insert(number, Arc::clone(id));
        }
    }

    /// All that it wrote has been told.
    pub fn ended(&self, command: &SentBash) {
        let mut state = self.lock();
        if let (Some(number), true) = (command.number.get(), state.session == command.session) {
            state.ids.remove(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BashIds> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of a command.
    pub fn id(&self, number: u64) -> Option<Arc<RawValue>> {
        self.lock().ids.get(&number).cloned()
    }

    /// Another session counts from one again.
    pub fn new_session(&self) {
        let mut state = self.lock();
        *state = BashIds {
            session: state.session + 1,
            ..BashIds::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_that_were_sent_are_those_of_their_conversation_alone() {
        let sent = SentQueues::default();
        assert_eq!(sent.of(1), None);
        let queues = |text: &str| {
            Arc::new(Queues {
                steering: vec![text.to_owned()],
                follow_up: Vec::new(),
            })
        };
        sent.set(1, &queues("first"));
        sent.set(1, &queues("second"));
        assert_eq!(sent.of(1), Some(queues("second")));
        assert_eq!(sent.of(2), None);
    }
}
