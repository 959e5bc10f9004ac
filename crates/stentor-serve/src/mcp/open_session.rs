//! A session that is open: what it does, how its last task ended, and who is asked on its behalf.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use stentor_agent::event::{EventKind, RunEnd, RunOutcome};
use stentor_agent::hub::Subscription;
use stentor_agent::session::{Session, SessionError};
use stentor_journal::message::{ContentBlock, ToolCall};
use stentor_journal::usage::Usage;
use stentor_text::visible::visible;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::call::CallError;
use super::client::McpClient;
use super::limits::PROGRESS_CHARS;
use super::questions::McpQuestions;

/// An open session, which is followed by a task of its own until it is closed.
pub(super) struct McpSession {
    pub session: Session,
    activity: watch::Sender<TaskActivity>,
    progress: Arc<TaskProgress>,
    following: Mutex<Option<JoinHandle<()>>>,
    /// Held while a task begins: what has not begun yet cannot be stopped.
    beginning: tokio::sync::Mutex<()>,
}

/// What a session does.
#[derive(Debug, Default, Clone)]
struct TaskActivity {
    is_running: bool,
    /// Tasks that have ended.
    finished: u64,
    last: Option<Arc<TaskResult>>,
}

/// How a task ended.
#[derive(Debug, Default, Clone)]
pub(super) struct TaskResult {
    /// `done`, `aborted` or `failed`.
    pub status: &'static str,
    pub text: String,
    pub error: Option<String>,
    pub usage: Usage,
}

/// Where the client learns how far a task is.
struct TaskProgress {
    client: Arc<McpClient>,
    state: Mutex<ProgressState>,
}

#[derive(Default)]
struct ProgressState {
    token: Option<Value>,
    reported: u64,
    doing: Option<String>,
}

impl McpSession {
    /// Follows a session.
    pub fn follow(session: Session, client: Arc<McpClient>) -> Arc<Self> {
        let events = session.subscribe();
        let open = Arc::new(Self {
            activity: watch::Sender::new(TaskActivity::default()),
            progress: Arc::new(TaskProgress {
                client: Arc::clone(&client),
                state: Mutex::default(),
            }),
            session: session.clone(),
            following: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        });
        let follower = Follower {
            session,
            activity: open.activity.clone(),
            progress: Arc::clone(&open.progress),
            questions: McpQuestions::new(client),
            outcome: None,
            usage: Usage::default(),
        };
        let following = stentor_agent::tasks::spawn(follower.run(events));
        *lock(&open.following) = Some(following);
        open
    }

    pub fn id(&self) -> &str {
        self.session.id()
    }

    pub fn is_running(&self) -> bool {
        self.activity.borrow().is_running
    }

    /// How the last task ended.
    pub fn last(&self) -> Option<Arc<TaskResult>> {
        self.activity.borrow().last.clone()
    }

    /// What it does at the moment, for a person.
    pub fn doing(&self) -> Option<String> {
        lock(&self.progress.state).doing.clone()
    }

    /// Begins a task. Returns how many had ended before.
    pub async fn prompt(&self, text: String, token: Option<Value>) -> Result<u64, CallError> {
        let beginning = self.beginning.lock().await;
        let mut before = 0;
        let begins = self.activity.send_if_modified(|activity| {
            before = activity.finished;
            !std::mem::replace(&mut activity.is_running, true)
        });
        if !begins {
            return Err(CallError::Busy(self.id().to_owned()));
        }
        self.progress.begin(token);
        let began = async {
            let content = self.session.expand(vec![ContentBlock::text(text)]).await?;
            self.session.prompt(content).await
        };
        match began.await {
            Ok(accepted) => drop(accepted),
            Err(error) => {
                self.activity
                    .send_modify(|activity| activity.is_running = false);
                return Err(error.into());
            }
        }
        drop(beginning);
        Ok(before)
    }

    /// Waits until more tasks have ended than had before.
    pub async fn finished_after(&self, before: u64) -> Arc<TaskResult> {
        let mut activity = self.activity.subscribe();
        let ended = activity.wait_for(|now| now.finished > before).await;
        ended.map_or_else(
            |_| Arc::new(TaskResult::closed()),
            |now| now.last.clone().unwrap_or_default(),
        )
    }

    pub async fn steer(&self, message: String) -> Result<(), SessionError> {
        self.session.steer(vec![ContentBlock::text(message)]).await
    }

    /// Stops the task that runs, and returns when another one can begin.
    pub async fn abort(&self) -> Result<(), SessionError> {
        let beginning = self.beginning.lock().await;
        let before = self.activity.borrow().finished;
        self.session.abort().await?;
        drop(beginning);
        let mut activity = self.activity.subscribe();
        let is_over = |now: &TaskActivity| !now.is_running || now.finished > before;
        // It is closed with the session, in which nothing runs then.
        let _ = activity.wait_for(is_over).await;
        Ok(())
    }

    /// Stops it and saves it.
    pub async fn close(&self) {
        self.session.close().await;
        let following = lock(&self.following).take();
        if let Some(following) = following {
            // It ends with the session's events.
            let _ = following.await;
        }
    }
}

impl TaskResult {
    fn closed() -> Self {
        Self {
            status: "failed",
            error: Some("the session was closed".to_owned()),
            ..Self::default()
        }
    }
}

/// Takes the events of a session.
struct Follower {
    session: Session,
    activity: watch::Sender<TaskActivity>,
    progress: Arc<TaskProgress>,
    questions: McpQuestions,
    outcome: Option<RunOutcome>,
    usage: Usage,
}

impl Follower {
    async fn run(mut self, mut events: Subscription) {
        while let Some(event) = events.next().await {
            self.take(event.kind).await;
        }
        self.finish(TaskResult::closed());
    }

    async fn take(&mut self, event: EventKind) {
        match event {
            EventKind::RunStarted => self
                .activity
                .send_modify(|activity| activity.is_running = true),
            EventKind::RunEnded(end) => self.run_ended(&end),
            EventKind::ToolStarted { call } => self.progress.report(&shown(&call)),
            EventKind::RetryStarted { error, .. } => {
                self.progress
                    .report(&format!("waiting to try again: {error}"));
            }
            EventKind::PermissionAsked { id, request } => {
                self.questions.permission(&self.session, id, &request);
            }
            EventKind::PermissionAnswered { id, .. } => self.questions.permission_answered(id),
            EventKind::DialogAsked { id, dialog } => {
                self.questions.dialog(&self.session, id, &dialog);
            }
            EventKind::DialogClosed { id, .. } => self.questions.dialog_closed(id),
            EventKind::Settled { aborted } => {
                let finished = self.finished(aborted).await;
                self.finish(finished);
            }
            // The rest is for those who look on; the client is told what came of it.
            EventKind::TurnStarted
            | EventKind::TurnEnded { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::AnswerStarted(_)
            | EventKind::BlockStarted { .. }
            | EventKind::BlockDelta { .. }
            | EventKind::BlockEnded { .. }
            | EventKind::MessageEnded { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::ToolEnded { .. }
            | EventKind::QueueChanged(_)
            | EventKind::StateChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::CompactionStarted { .. }
            | EventKind::CompactionEnded(_)
            | EventKind::SummaryRetry(_)
            | EventKind::RetryEnded { .. }
            | EventKind::FallbackApplied(_)
            | EventKind::FallbackSucceeded { .. }
            | EventKind::PlanChanged(_)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. }
            | EventKind::Notice { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentStarted(_)
            | EventKind::SubagentProgress { .. }
            | EventKind::SubagentEvent { .. }
            | EventKind::SubagentEnded { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. }
            | EventKind::ShutdownAsked
            | EventKind::ExtensionFailed { .. } => {}
        }
    }

    fn run_ended(&mut self, end: &RunEnd) {
        self.usage.add(&end.usage);
        self.outcome = Some(end.outcome.clone());
    }

    async fn finished(&mut self, aborted: bool) -> TaskResult {
        let outcome = self.outcome.take();
        let usage = std::mem::take(&mut self.usage);
        // Its answer is missing only if the session is gone.
        let text = self.session.last_assistant_text().await;
        let text = text.ok().flatten().unwrap_or_default();
        let error = match outcome {
            None | Some(RunOutcome::Completed | RunOutcome::Aborted) => None,
            Some(RunOutcome::Refused) => Some("the model declined to answer".to_owned()),
            Some(RunOutcome::OutputLimit) => Some("the answer reached the output limit".to_owned()),
            Some(
                RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. },
            ) => Some(message),
        };
        TaskResult {
            status: match (aborted, &error) {
                (true, _) => "aborted",
                (false, Some(_)) => "failed",
                (false, None) => "done",
            },
            text,
            error,
            usage,
        }
    }

    fn finish(&self, finished: TaskResult) {
        self.progress.end();
        self.activity.send_modify(|activity| {
            activity.is_running = false;
            activity.finished += 1;
            activity.last = Some(Arc::new(finished));
        });
    }
}

impl TaskProgress {
    fn begin(&self, token: Option<Value>) {
        *lock(&self.state) = ProgressState {
            token,
            ..ProgressState::default()
        };
    }

    fn end(&self) {
        *lock(&self.state) = ProgressState::default();
    }

    fn report(&self, doing: &str) {
        let doing: String = doing.chars().take(PROGRESS_CHARS).collect();
        let doing = visible(&doing).into_owned();
        let mut state = lock(&self.state);
        state.reported += 1;
        if let Some(token) = &state.token {
            let params = json!({
                "progressToken": token,
                "progress": state.reported,
                "message": doing,
            });
            self.client.notify("notifications/progress", &params);
        }
        state.doing = Some(doing);
    }
}

/// A call in one line: its name, and the first of its arguments that is a text.
fn shown(call: &ToolCall) -> String {
    let mut texts = call.arguments.values().filter_map(Value::as_str);
    match texts.next().and_then(|text| text.lines().next()) {
        Some(first) => format!("{}: {first}", call.name),
        None => call.name.clone(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
