//! The child of a session, and what it has said that nobody has taken yet.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stentor_agent::model::ThinkingLevel;
use stentor_agent::model_host::{ModelHost, SessionWaker};
use stentor_client::{AgentEvent, AgentPrompt, ChildAgent, Events, OpenCall, TurnOrigin};
use stentor_journal::message::{Message, UserContent};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use crate::session_cost::SessionCost;
use crate::terminals::Terminals;

/// Events that wait for the end of a call, or for the next prompt. Of what comes then only ends are kept.
const BACKLOG: usize = 4096;

/// Text that waits as one event. What comes then is another.
const JOINED_BYTES: usize = 16 * 1024;

/// What the model, its answers and its calls share.
#[derive(Default)]
pub(crate) struct ChildShared {
    pub inbox: Arc<tokio::sync::Mutex<Inbox>>,
    /// True while the child works on a turn.
    pub busy: AtomicBool,
    /// True when it has begun to work though nobody asked it, which no request has taken up.
    pub works_by_itself: AtomicBool,
    /// True when the turn is nobody's any more and must be aborted before anything else.
    pub abandoned: AtomicBool,
    pub can_steer: AtomicBool,
    /// True while it works by itself in a turn that a prompt ends: it takes messages as prompts.
    pub takes_prompts: AtomicBool,
    /// Questions of the child that somebody may be thinking about.
    asking: AtomicUsize,
    /// How many children there have been.
    pub children: AtomicU64,
    /// The commands the session runs for the child.
    pub terminals: Arc<Terminals>,
    state: Mutex<ChildState>,
    announced: Notify,
    /// Told when messages wait for the child.
    pub offered: Notify,
}

#[derive(Default)]
struct ChildState {
    /// The session, while a run of it goes on. It owns the model, so it is not held any longer.
    host: Option<Arc<dyn ModelHost>>,
    /// The calls of the last answer.
    calls: HashSet<String>,
    /// Those whose start has been published.
    announced: HashSet<String>,
    /// Those that are being followed: nothing else of the child is published until they have ended.
    followed: HashSet<String>,
    /// What permitted calls of this turn are about.
    granted: HashSet<GrantedAccess>,
    /// What may explain a failure of the child, for people.
    hint: String,
    /// How the session is woken. Kept from run to run.
    waker: Option<SessionWaker>,
    /// Reads what the child says while nobody asks it anything; ends with this.
    idle_watch: Option<DropGuard>,
    /// Messages that wait in the session until the calls have ended that are followed.
    offers: Vec<UserContent>,
}

/// Something that a permitted call is about: the child may ask for it once more in other words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum GrantedAccess {
    Read(PathBuf),
    Write(PathBuf),
    Command(String),
}

impl ChildShared {
    pub fn set_host(&self, host: Option<Arc<dyn ModelHost>>) {
        let mut state = self.lock();
        if let Some(host) = &host {
            state.waker = Some(host.waker());
        }
        state.host = host;
        drop(state);
        self.announced.notify_waiters();
    }

    /// Waits until a run of the session goes on.
    pub async fn when_hosted(&self) -> Arc<dyn ModelHost> {
        loop {
            let mut notified = std::pin::pin!(self.announced.notified());
            notified.as_mut().enable();
            if let Some(host) = self.host() {
                return host;
            }
            notified.await;
        }
    }

    pub fn waker(&self) -> Option<SessionWaker> {
        self.lock().waker.clone()
    }

    /// Has the inbox read by this until a run begins; the one before ends. False when one has begun.
    pub fn set_idle_watch(&self, watch: DropGuard) -> bool {
        let mut state = self.lock();
        if state.host.is_some() {
            return false;
        }
        let before = state.idle_watch.replace(watch);
        drop(state);
        drop(before);
        true
    }

    /// A run has begun, which reads the inbox itself.
    pub fn end_idle_watch(&self) {
        let before = self.lock().idle_watch.take();
        drop(before);
    }

    /// Messages wait in the session that the child may have now.
    pub fn offer(&self, messages: Vec<UserContent>) {
        self.lock().offers = messages;
        self.offered.notify_one();
    }

    pub fn take_offers(&self) -> Vec<UserContent> {
        std::mem::take(&mut self.lock().offers)
    }

    pub fn host(&self) -> Option<Arc<dyn ModelHost>> {
        self.lock().host.clone()
    }

    pub fn set_hint(&self, hint: String) {
        self.lock().hint = hint;
    }

    pub fn hint(&self) -> String {
        self.lock().hint.clone()
    }

    /// A new answer begins: the calls of the last one are over, and what waited for their end is part
    /// of the request.
    pub fn forget_calls(&self) {
        let mut state = self.lock();
        state.calls.clear();
        state.announced.clear();
        state.offers.clear();
    }

    /// What a call was permitted that the child asks about in this turn is part of the call.
    pub fn grant(&self, granted: impl IntoIterator<Item = GrantedAccess>) {
        self.lock().granted.extend(granted);
    }

    pub fn is_granted(&self, wanted: &GrantedAccess) -> bool {
        self.lock().granted.contains(wanted)
    }

    /// A new turn begins.
    pub fn forget_granted(&self) {
        self.lock().granted.clear();
    }

    pub fn add_call(&self, id: &str) {
        self.lock().calls.insert(id.to_owned());
    }

    pub fn has_call(&self, id: &str) -> bool {
        self.lock().calls.contains(id)
    }

    /// The start of a call has been published.
    pub fn announce(&self, id: &str) {
        self.lock().announced.insert(id.to_owned());
        self.announced.notify_waiters();
    }

    /// A call of the answer is followed from now on, until it is left.
    pub fn follow(&self, id: &str) {
        self.lock().followed.insert(id.to_owned());
        self.announced.notify_waiters();
    }

    pub fn leave(&self, id: &str) {
        self.lock().followed.remove(id);
    }

    /// Waits until the start of a call has been published: what is asked about it comes after. One
    /// that the child made while others run is published when those have ended, so that is not waited
    /// for: they may wait for the answer.
    pub async fn when_announced(&self, call: &OpenCall) {
        loop {
            let mut notified = std::pin::pin!(self.announced.notified());
            notified.as_mut().enable();
            {
                let state = self.lock();
                let comes_later =
                    !call.is_alone && !state.followed.is_empty() && !state.calls.contains(&call.id);
                if comes_later || state.announced.contains(&call.id) {
                    return;
                }
            }
            notified.await;
        }
    }

    /// A question is open as long as what is returned.
    pub fn ask(self: &Arc<Self>) -> ChildQuestion {
        self.asking.fetch_add(1, Ordering::AcqRel);
        ChildQuestion(Arc::clone(self))
    }

    /// Whether the child waits for an answer.
    pub fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    /// Warns whoever watches the session.
    pub fn warn(&self, text: String) {
        match self.host() {
            Some(host) => host.warn(text),
            None => tracing::warn!("{text}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ChildState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question of the child that is open.
pub(crate) struct ChildQuestion(Arc<ChildShared>);

impl Drop for ChildQuestion {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The child and what it said. Whoever has it locked reads from the child.
#[derive(Default)]
pub(crate) struct Inbox {
    child: Option<RunningChild>,
    backlog: VecDeque<AgentEvent>,
    /// The calls of the last answer, whose ends are waited for.
    pub open_calls: HashSet<String>,
    /// The last message the child was given.
    pub told: Option<Arc<Message>>,
    /// Messages that steer and have not reached its model yet, as far as one knows.
    pub owed: usize,
    /// Messages that it was given while they still waited in the session.
    pub given: Vec<UserContent>,
    /// It has a prompt, and has not begun to work on it: what ends before is a turn of its own.
    pub awaits_start: bool,
    /// What it refused to be steered with: its next prompt.
    pub unsteered: Option<AgentPrompt>,
    /// What its session was last resumed by, as far as is known.
    pub session: Option<String>,
    pub cost: SessionCost,
    /// The model that the child had before anybody chose one.
    pub begun_with: Option<String>,
    /// The model that the child was last given, or said it uses.
    pub model: Option<String>,
    /// The mode that the child was last put in, or says it is in.
    pub mode: Option<String>,
    /// The thinking level that it was last given.
    pub thinking: Option<ThinkingLevel>,
}

/// What there is for a call.
pub(crate) enum CallEvent {
    /// Something about it.
    Own(Box<AgentEvent>),
    /// Something that is shown at once, whatever runs.
    Aside(Box<AgentEvent>),
    /// Something for others, who may wait for it.
    Other,
    /// Nothing, for good: the turn is over.
    Nothing,
}

struct RunningChild {
    agent: ChildAgent,
    events: Events,
}

impl Inbox {
    pub fn agent(&self) -> Option<&ChildAgent> {
        self.child.as_ref().map(|child| &child.agent)
    }

    pub fn set_child(&mut self, agent: ChildAgent, events: Events) {
        self.backlog.clear();
        self.owed = 0;
        self.given.clear();
        self.awaits_start = false;
        self.unsteered = None;
        self.session = None;
        self.cost = SessionCost::default();
        self.begun_with = None;
        self.model = None;
        self.mode = None;
        self.thinking = None;
        self.child = Some(RunningChild { agent, events });
    }

    pub fn drop_child(&mut self) {
        self.child = None;
        self.told = None;
        self.backlog.clear();
    }

    /// What comes next: what somebody else has read, or what the child writes.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        match self.backlog.pop_front() {
            Some(event) => Some(event),
            None => self.read().await,
        }
    }

    /// Takes an event back, to be the next.
    pub fn put_back(&mut self, event: AgentEvent) {
        self.backlog.push_front(event);
    }

    /// What comes next for a call. Everything else waits for whoever it is for.
    pub async fn next_of(&mut self, id: &str) -> CallEvent {
        let place = self.backlog.iter().position(|event| is_of(event, id));
        if let Some(event) = place.and_then(|place| self.backlog.remove(place)) {
            return CallEvent::Own(Box::new(event));
        }
        let is_over =
            |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_) | AgentEvent::Exited(_));
        if self.backlog.iter().any(is_over) {
            return CallEvent::Nothing;
        }
        match self.read().await {
            Some(event) if is_of(&event, id) => CallEvent::Own(Box::new(event)),
            Some(
                event @ (AgentEvent::Plan(_) | AgentEvent::Notice { .. } | AgentEvent::Lost { .. }),
            ) => CallEvent::Aside(Box::new(event)),
            Some(event) => {
                self.wait_in_line(event);
                CallEvent::Other
            }
            None => CallEvent::Nothing,
        }
    }

    /// True when the child has begun to work by itself and nobody has taken that up.
    pub fn has_own_turn(&mut self) -> bool {
        while self.backlog.len() < BACKLOG
            && let Some(event) = self
                .child
                .as_mut()
                .and_then(|child| child.events.try_next())
        {
            self.wait_in_line(event);
        }
        self.backlog.iter().any(is_own_start)
    }

    /// Reads one thing that the child says while nobody asks it anything: true when it begins to work
    /// by itself, none when it is gone. What it says waits for the next answer.
    pub async fn read_ahead(&mut self) -> Option<bool> {
        if self.backlog.len() >= BACKLOG {
            // It waits until somebody wants to know.
            std::future::pending::<()>().await;
        }
        match self.read().await {
            None | Some(AgentEvent::Exited(_)) => {
                self.drop_child();
                None
            }
            Some(event) => {
                let begins = is_own_start(&event);
                self.wait_in_line(event);
                Some(begins)
            }
        }
    }

    /// Reads to the end of a turn that the child began by itself, which the next answer shows. False
    /// when it says nothing for so long.
    pub async fn read_own_turn(&mut self, patience: Duration) -> bool {
        loop {
            match timeout(patience, self.read()).await {
                Err(_) => return false,
                Ok(None) => return true,
                Ok(Some(event)) => {
                    let is_over = matches!(event, AgentEvent::TurnEnded(_) | AgentEvent::Exited(_));
                    self.wait_in_line(event);
                    if is_over {
                        return true;
                    }
                }
            }
        }
    }

    /// Waits for something the child does at once, and reads what it says meanwhile: one that is not
    /// read does not answer either.
    pub async fn while_reading<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let Some(child) = &mut self.child else {
                return work.await;
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                event = child.events.next() => match event {
                    Some(event) => self.wait_in_line(event),
                    None => return work.await,
                },
            }
        }
    }

    /// Reads to the end of the turn that nobody wants any more.
    pub async fn abort(&mut self, shared: &ChildShared) {
        if let Some(agent) = self.agent().cloned() {
            // One that is gone needs no abort; one that does not stop is given up by its library.
            let _ = self.while_reading(agent.abort()).await;
            while let Some(event) = self.next().await {
                match event {
                    AgentEvent::TurnStarted(TurnOrigin::Prompt) => self.awaits_start = false,
                    // A turn of its own was over before it began with what is aborted.
                    AgentEvent::TurnEnded(_) if self.awaits_start => {}
                    AgentEvent::TurnEnded(_) => break,
                    AgentEvent::Exited(_) => {
                        self.drop_child();
                        break;
                    }
                    _ => {}
                }
            }
            // One that was given up ends its turn before it reports that it is gone.
            if agent.has_ended() {
                self.drop_child();
            }
        }
        self.awaits_start = false;
        self.owed = 0;
        self.given.clear();
        self.unsteered = None;
        shared.takes_prompts.store(false, Ordering::Release);
        shared.busy.store(false, Ordering::Release);
        shared.abandoned.store(false, Ordering::Release);
    }

    async fn read(&mut self) -> Option<AgentEvent> {
        self.child.as_mut()?.events.next().await
    }

    /// The state of a running call replaces the one before, and text goes on with what came before.
    /// When too much waits, only what has an end to tell is kept.
    fn wait_in_line(&mut self, event: AgentEvent) {
        match (self.backlog.back_mut(), &event) {
            (
                Some(AgentEvent::ToolProgress { id: before, .. }),
                AgentEvent::ToolProgress { id, .. },
            ) if before == id => {
                self.backlog.pop_back();
            }
            (Some(AgentEvent::Text(before)), AgentEvent::Text(more))
            | (Some(AgentEvent::Thinking(before)), AgentEvent::Thinking(more))
                if before.len() < JOINED_BYTES =>
            {
                before.push_str(more);
                return;
            }
            _ => {}
        }
        if self.backlog.len() < BACKLOG || self.must_wait(&event) {
            self.backlog.push_back(event);
        }
    }

    /// Whether somebody would wait for ever without it.
    fn must_wait(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::TurnStarted(_) | AgentEvent::TurnEnded(_) | AgentEvent::Exited(_) => true,
            // Of a call that is followed, or will be.
            AgentEvent::ToolEnded { id, .. } => {
                let is_called = |event: &AgentEvent| matches!(event, AgentEvent::ToolCalled(call) if call.id == *id);
                self.open_calls.contains(id) || self.backlog.iter().any(is_called)
            }
            _ => false,
        }
    }
}

fn is_own_start(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::TurnStarted(TurnOrigin::Own))
}

fn is_of(event: &AgentEvent, call: &str) -> bool {
    match event {
        AgentEvent::ToolStarted { id }
        | AgentEvent::ToolProgress { id, .. }
        | AgentEvent::ToolEnded { id, .. } => id == call,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_call_within_another_that_runs_is_not_waited_for() {
        let shared = ChildShared::default();
        let inner = |is_alone| OpenCall {
            id: "inner".to_owned(),
            is_alone,
        };
        let waits = |is_alone| {
            let announced = shared.when_announced(&inner(is_alone)).now_or_never();
            announced.is_none()
        };
        shared.add_call("outer");
        // The answer that calls it may still come.
        assert!(waits(false));
        shared.follow("outer");
        assert!(!waits(false));
        // The other one has ended by now, and it is the next to be published.
        assert!(waits(true));
        // It is of the same answer.
        shared.add_call("inner");
        assert!(waits(false));
        shared.announce("inner");
        assert!(!waits(false) && !waits(true));
    }
}
