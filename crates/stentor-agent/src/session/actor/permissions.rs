//! Permissions: what the policy decides, and what a person is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use stentor_journal::message::ToolCall;
use stentor_journal::store::StoreError;
use stentor_policy::{
    AnswerStore, Decision, PermissionAnswer, PermissionMode, Policy, RememberedAnswer,
};

use super::answer;
use super::log::SessionLog;
use super::unanswered::{CallRecords, UnansweredCalls};
use crate::event::{EventKind, NoticeLevel, NoticeSource, StateChange};
use crate::hub::Hub;
use crate::permission::{PermissionRequest, REJECTED};
use crate::session::command::Reply;
use crate::session::dialogs::Dialogs;
use crate::session::error::SessionError;
use crate::session::options::SessionOptions;
use crate::session::tool_host::SessionToolHost;
use crate::tasks;
use crate::tool::{ToolSpec, Touches};
use crate::turn::{NOT_RUN_ABORTED, Verdict};

/// The note on disk of the permission mode that was chosen.
pub(super) const PERMISSION_MODE: &str = "stentor.permissionMode";

/// Why a call is asked about that would be allowed now.
const ASKED_BEFORE: &str = "It was asked about before the agent ended, and not answered.";

/// Who may run what, and the questions about it that are open.
pub(super) struct Permissions {
    hub: Hub,
    dialogs: Arc<Dialogs>,
    /// Its tools know the mode, too.
    host: Arc<SessionToolHost>,
    cwd: Arc<Path>,
    policy: Policy,
    /// The mode that was chosen in this session, where one was.
    chosen_mode: Option<PermissionMode>,
    /// The mode that was left for plan mode.
    before_plan: Option<PermissionMode>,
    /// A run may be more careful than its session.
    run_mode: Option<PermissionMode>,
    /// Stores "always" answers for later sessions.
    store: Option<Arc<dyn AnswerStore>>,
    open: BTreeMap<u64, OpenPermission>,
    next_id: u64,
    notes: CallRecords,
    /// Calls that somebody was asked about when the process ended.
    pub unanswered: UnansweredCalls,
    /// The same, while the session goes on with them.
    going_on: Option<UnansweredCalls>,
}

/// A question somebody has yet to answer.
struct OpenPermission {
    request: Arc<PermissionRequest>,
    /// What it was decided by, to decide again in another mode.
    tool: String,
    touches: Touches,
    is_own: bool,
    is_background: bool,
    reply: Reply<Verdict>,
}

/// A call that may run or not.
pub(super) struct CallToPermit {
    pub call: Arc<ToolCall>,
    /// It is one that this session runs itself: its file says what becomes of it.
    pub is_own: bool,
    /// What wants it goes on when the run ends.
    pub is_background: bool,
    pub spec: ToolSpec,
    pub touches: Touches,
    /// Somebody was asked about it already.
    pub is_approved: bool,
}

impl Permissions {
    pub fn new(
        hub: Hub,
        dialogs: Arc<Dialogs>,
        host: Arc<SessionToolHost>,
        cwd: Arc<Path>,
        options: &SessionOptions,
    ) -> Self {
        let mode = options.policy.mode();
        host.set_mode(mode, None);
        Self {
            hub,
            dialogs,
            host,
            cwd,
            policy: options.policy.clone(),
            // Whoever goes on with a session that is to plan goes on planning.
            chosen_mode: (mode == PermissionMode::Plan).then_some(mode),
            before_plan: None,
            run_mode: None,
            store: options.answer_store.clone(),
            open: BTreeMap::new(),
            next_id: 1,
            notes: CallRecords::default(),
            unanswered: UnansweredCalls::default(),
            going_on: None,
        }
    }

    /// The session's stance where no permission rule decides.
    pub fn mode(&self) -> PermissionMode {
        self.policy.mode()
    }

    /// The mode that was left for plan mode.
    pub fn mode_before_plan(&self) -> Option<PermissionMode> {
        self.before_plan
    }

    /// The stance of the run, or of the next one.
    pub fn current_mode(&self) -> PermissionMode {
        let asked_in = self.going_on.as_ref().map(|going_on| going_on.mode);
        let modes = [self.run_mode, asked_in].into_iter().flatten();
        modes.fold(self.mode(), PermissionMode::more_careful)
    }

    /// Changes it. A resumed session has it again.
    pub fn set_mode(&mut self, log: &mut SessionLog, mode: PermissionMode) {
        let before = self.mode();
        let before_plan = match (mode, before) {
            (PermissionMode::Plan, PermissionMode::Plan) => self.before_plan,
            (PermissionMode::Plan, before) => Some(before),
            _ => None,
        };
        if let Some(going_on) = &mut self.going_on {
            // Somebody has decided about what is yet to come. What was asked stays asked.
            going_on.mode = mode;
        }
        self.restore_mode(mode, before_plan);
        if let Err(error) = self.note_mode(log) {
            tracing::warn!(%error, "the mode may differ when the session is resumed");
        }
        let change = StateChange::PermissionMode(mode);
        self.hub.publish(EventKind::StateChanged(change));
        self.close_denied_questions();
        if self.current_mode() != PermissionMode::Plan {
            self.dialogs.withdraw_plans();
        }
    }

    /// A person has accepted a plan: the session goes on in this mode, and its run no longer plans.
    /// False where nothing plans any more.
    pub fn leave_plan(&mut self, log: &mut SessionLog, mode: PermissionMode) -> bool {
        let plans = self.current_mode() == PermissionMode::Plan;
        if plans {
            self.run_mode = self.run_mode.filter(|run| *run != PermissionMode::Plan);
            self.set_mode(log, mode);
        }
        plans
    }

    /// Takes over the mode that was chosen in a stored session, and the one before it if that was to
    /// plan.
    pub fn restore_mode(&mut self, mode: PermissionMode, before_plan: Option<PermissionMode>) {
        self.policy.set_mode(mode);
        self.chosen_mode = Some(mode);
        self.before_plan = before_plan;
        self.update_host();
    }

    /// Its tools know the mode, and the one that a plan is accepted with as a rule.
    fn update_host(&self) {
        let before = match self.mode() {
            PermissionMode::Plan => self.before_plan,
            // Only the run plans.
            mode => Some(mode),
        };
        self.host.set_mode(self.current_mode(), before);
    }

    /// Notes the mode on disk, if one was chosen.
    pub fn note_mode(&self, log: &mut SessionLog) -> Result<(), StoreError> {
        match self.mode_note() {
            Some(note) => log.note(PERMISSION_MODE, &note, false),
            None => Ok(()),
        }
    }

    /// What is noted of the mode, if one was chosen.
    pub fn mode_note(&self) -> Option<Value> {
        let mut note = json!({ "mode": self.chosen_mode? });
        if let Some(before) = self.before_plan {
            note["beforePlan"] = json!(before);
        }
        Some(note)
    }

    /// Has the next run be more careful than the session, or no run any more.
    pub fn set_for_run(&mut self, mode: Option<PermissionMode>) {
        self.run_mode = mode;
        self.going_on = None;
        self.update_host();
    }

    /// A model has answered: its calls are others.
    pub fn answered(&mut self) {
        self.notes = CallRecords::default();
        if let Some(going_on) = &mut self.going_on {
            going_on.asked.clear();
        }
    }

    /// These calls of the newest answer are asked about again; about the others the file is kept
    /// from here on.
    pub fn restore_unanswered(&mut self, calls: UnansweredCalls) {
        self.notes = CallRecords::kept();
        self.unanswered = calls;
    }

    /// The session goes on with these calls, and lets no more happen than when they were asked about:
    /// who opens a session may be one who allows everything.
    pub fn go_on_with(&mut self, calls: UnansweredCalls) {
        self.going_on = Some(calls);
        self.update_host();
    }

    /// True when somebody was asked about a call and has not answered.
    fn is_unanswered(&self, wanted: &CallToPermit) -> bool {
        let going_on = self.going_on.as_ref().filter(|_| wanted.is_own);
        going_on.is_some_and(|going_on| going_on.asked.contains(&wanted.call.id))
    }

    /// Decides whether a call may run, or asks somebody who can. Of a call that is approved nobody is
    /// asked.
    pub fn permit(&mut self, log: &mut SessionLog, wanted: CallToPermit, reply: Reply<Verdict>) {
        let (spec, touches) = (&wanted.spec, &wanted.touches);
        let mode = self.current_mode();
        let decision = self
            .policy
            .decide_in(mode, &spec.name, spec.effect, touches, &self.cwd);
        let decision = match decision {
            Decision::Allow if self.is_unanswered(&wanted) => {
                Decision::Ask(ASKED_BEFORE.to_owned())
            }
            decision => decision,
        };
        match decision {
            Decision::Allow => self.allow(log, &wanted.call, wanted.is_own, reply),
            Decision::Deny(why) => answer(reply, Verdict::Denied(why)),
            Decision::Ask(_) if wanted.is_approved => answer(reply, Verdict::Allowed),
            Decision::Ask(why) if !self.dialogs.can_ask() => answer(reply, nobody_to_ask(&why)),
            Decision::Ask(reason) => self.ask(log, wanted, reason, reply),
        }
    }

    /// Lets a call run, when the file says so where it must.
    fn allow(
        &mut self,
        log: &mut SessionLog,
        call: &ToolCall,
        is_own: bool,
        reply: Reply<Verdict>,
    ) {
        if !is_own {
            return answer(reply, Verdict::Allowed);
        }
        let synced = match self.notes.permitted(log, call) {
            Ok(false) => return answer(reply, Verdict::Allowed),
            Ok(true) => log.sync(),
            Err(error) => return answer(reply, not_saved(&error)),
        };
        // The disk takes its time, and meanwhile the session must answer others.
        tasks::spawn(async move {
            let synced = synced.await;
            let verdict = synced.map_or_else(|error| not_saved(&error), |()| Verdict::Allowed);
            answer(reply, verdict);
        });
    }

    fn ask(
        &mut self,
        log: &mut SessionLog,
        wanted: CallToPermit,
        reason: String,
        reply: Reply<Verdict>,
    ) {
        let CallToPermit {
            call,
            is_own,
            is_background,
            spec,
            touches,
            is_approved: _,
        } = wanted;
        if is_own {
            let mode = self.current_mode();
            self.notes.asked(log, &call, mode);
        }
        let decided_by = touches.clone();
        let touches = Touches {
            paths: self.really_touched(&touches),
            ..touches
        };
        let ToolSpec { name, effect, .. } = spec;
        let always = self.policy.always(&name, effect, &touches, &self.cwd);
        let request = Arc::new(PermissionRequest {
            call,
            effect,
            paths: touches.paths,
            command: touches.command,
            url: touches.web.into_iter().next().map(|address| address.url),
            reason,
            always,
        });
        let id = self.next_id;
        self.next_id += 1;
        let asked = Arc::clone(&request);
        let question = OpenPermission {
            request,
            tool: name,
            touches: decided_by,
            is_own,
            is_background,
            reply,
        };
        self.open.insert(id, question);
        self.hub
            .publish(EventKind::PermissionAsked { id, request: asked });
    }

    /// Where the paths of a call really are. One whose links go in circles is shown as it is given.
    fn really_touched(&self, touches: &Touches) -> Vec<PathBuf> {
        let settled = touches.settled.as_deref().unwrap_or_default();
        let really = |(index, path): (usize, &PathBuf)| {
            let path = self.cwd.join(path);
            match settled.get(index) {
                Some(settled) => settled.clone().unwrap_or(path),
                None => stentor_policy::resolve(&path).unwrap_or(path),
            }
        };
        touches.paths.iter().enumerate().map(really).collect()
    }

    /// Somebody answered. The actor waits until an "always" is stored: the next call of the tool
    /// must find it.
    pub async fn answer(
        &mut self,
        log: &mut SessionLog,
        id: u64,
        given: PermissionAnswer,
    ) -> Result<(), SessionError> {
        let question = self
            .open
            .remove(&id)
            .ok_or(SessionError::NoSuchQuestion(id))?;
        let remembered = self.policy.remember(&question.request.always, given);
        if let Some(always) = remembered {
            self.store(always).await;
        }
        self.hub
            .publish(EventKind::PermissionAnswered { id, answer: given });
        let call = &question.request.call;
        match why_not(given, &call.name) {
            None => self.allow(log, call, question.is_own, question.reply),
            Some(why) => answer(question.reply, Verdict::Denied(why)),
        }
        Ok(())
    }

    /// Stores an "always" for later sessions. In this one it holds whether that succeeds or not.
    async fn store(&mut self, always: RememberedAnswer) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let stored = tasks::spawn_blocking(move || store.store(&always)).await;
        let problem = match stored {
            Ok(Ok(())) => return,
            Ok(Err(problem)) => problem,
            Err(panicked) => panicked.into(),
        };
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message: format!("the answer applies to this session only: {problem}"),
            from: NoticeSource::Agent,
        });
    }

    /// Cancels the open questions of the run because it is stopped. Before the run learns of that,
    /// so that the end of each question is published before the end of its call.
    pub fn cancel_questions(&mut self) {
        let questions = std::mem::take(&mut self.open);
        let (stay, go) = questions
            .into_iter()
            .partition(|(_, question)| question.is_background);
        self.open = go;
        self.cancel_all_questions();
        self.open = stay;
    }

    /// Cancels all open questions because the session ends.
    pub fn cancel_all_questions(&mut self) {
        self.close_questions(|_| Verdict::Denied(NOT_RUN_ABORTED.to_owned()));
    }

    /// Closes all open questions because the process ends. Whether a call of this session may run
    /// is asked again when it is opened; the run ends where it is.
    pub fn suspend_questions(&mut self) {
        self.close_questions(|question| match question.is_own {
            true => Verdict::Suspended,
            false => Verdict::Denied(NOT_RUN_ABORTED.to_owned()),
        });
    }

    /// Closes all open questions because nobody is left who could answer them.
    pub fn close_unanswerable_questions(&mut self) {
        if !self.dialogs.can_ask() {
            self.close_questions(|question| nobody_to_ask(&question.request.reason));
        }
    }

    /// Closes the questions about calls that are denied in the mode of now: no answer may have one
    /// run.
    fn close_denied_questions(&mut self) {
        let mode = self.current_mode();
        for (id, question) in std::mem::take(&mut self.open) {
            let (tool, effect) = (&question.tool, question.request.effect);
            let decision = self
                .policy
                .decide_in(mode, tool, effect, &question.touches, &self.cwd);
            match decision {
                Decision::Deny(why) => self.close_question(id, question, Verdict::Denied(why)),
                Decision::Allow | Decision::Ask(_) => {
                    self.open.insert(id, question);
                }
            }
        }
    }

    fn close_questions(&mut self, verdict: impl Fn(&OpenPermission) -> Verdict) {
        for (id, question) in std::mem::take(&mut self.open) {
            let verdict = verdict(&question);
            self.close_question(id, question, verdict);
        }
    }

    fn close_question(&self, id: u64, question: OpenPermission, verdict: Verdict) {
        self.hub.publish(EventKind::PermissionAnswered {
            id,
            answer: PermissionAnswer::Cancelled,
        });
        answer(question.reply, verdict);
    }
}

/// A call that somebody would have to agree to, where nobody can.
fn nobody_to_ask(why: &str) -> Verdict {
    Verdict::Denied(format!(
        "Not permitted: {why} Nobody can be asked; do without it, or finish with a note of what \
         you need and why."
    ))
}

/// A call that could run twice if the process ended now.
fn not_saved(error: &StoreError) -> Verdict {
    Verdict::Denied(format!("Not run: the session could not be saved: {error}"))
}

/// Why a call is not run after this answer, for the model; `None` when it is.
fn why_not(given: PermissionAnswer, name: &str) -> Option<String> {
    match given {
        PermissionAnswer::AllowOnce | PermissionAnswer::AllowAlways => None,
        PermissionAnswer::RejectOnce | PermissionAnswer::RejectAlways => Some(format!(
            "{REJECTED} of {name}. Do not repeat it; ask or continue without it."
        )),
        PermissionAnswer::Cancelled => Some(format!(
            "The question whether {name} may run was cancelled."
        )),
    }
}
