//! What a running tool may ask of its session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_journal::message::ToolCall;
use stentor_journal::usage::Usage;
use stentor_policy::{PathRules, PermissionMode};
use tokio::sync::{mpsc, oneshot};

use super::Budget;
use super::cost::CostCounter;
use super::dialogs::Dialogs;
use super::options::PlanClearing;
use super::plan_store::PlanStore;
use crate::dialog::Dialog;
use crate::event::EventKind;
use crate::folder_texts::FolderTexts;
use crate::hooks::Hooks;
use crate::hub::Hub;
use crate::jobs::{JobReport, Jobs};
use crate::left_running::LeftRunning;
use crate::model::ModelInfo;
use crate::permission::{CallRefused, PermitFuture};
use crate::subagents::Subagents;
use crate::tool::{
    CallHooks, CapacityFuture, DialogFuture, ModeFuture, Plan, ToolHost, ToolSpec, Touches,
};
use crate::turn::{RunRequest, Verdict};
use crate::undo::Undo;

/// What the tools of a session see of it.
///
/// The plan needs no entry of its own: the tool that sets it puts it into the details of its
/// result, and a resumed session takes it from there.
#[derive(Clone)]
pub(super) struct SessionToolHost {
    hub: Hub,
    dialogs: Arc<Dialogs>,
    jobs: Arc<Jobs>,
    left_running: Arc<LeftRunning>,
    subagents: Arc<Subagents>,
    requests: mpsc::Sender<RunRequest>,
    permits: Option<Arc<dyn ToolHost>>,
    path_rules: PathRules,
    undo: Option<Arc<Undo>>,
    plan: PlanStore,
    state: Arc<Mutex<HostState>>,
    cost: CostCounter,
    /// It is that of something that goes on when the run has ended.
    is_background: bool,
}

#[derive(Default)]
struct HostState {
    model: Option<Arc<ModelInfo>>,
    /// What tools consumed since it was last taken, by model.
    consumed: BTreeMap<String, Usage>,
    /// What was left before that.
    budget_left: Budget,
    hooks: Option<Arc<dyn Hooks>>,
    file: Option<PathBuf>,
    folder_texts: Option<FolderTexts>,
    mode: PermissionMode,
    mode_before_plan: Option<PermissionMode>,
}

impl HostState {
    fn consumed_by_all(&self) -> Usage {
        let mut sum = Usage::default();
        self.consumed.values().for_each(|usage| sum.add(usage));
        sum
    }
}

impl SessionToolHost {
    pub fn new(
        hub: Hub,
        dialogs: Arc<Dialogs>,
        (jobs, left_running): (Arc<Jobs>, Arc<LeftRunning>),
        (requests, permits): (mpsc::Sender<RunRequest>, Option<Arc<dyn ToolHost>>),
        path_rules: PathRules,
        undo: Option<Arc<Undo>>,
        clearing: PlanClearing,
    ) -> Self {
        Self {
            plan: PlanStore::new(hub.clone(), clearing),
            hub,
            dialogs,
            jobs,
            left_running,
            subagents: Arc::default(),
            requests,
            permits,
            path_rules,
            undo,
            state: Arc::default(),
            cost: CostCounter::default(),
            is_background: false,
        }
    }

    /// What the session has cost since it was opened, its tools included.
    pub fn cost(&self) -> CostCounter {
        self.cost.clone()
    }

    /// The subagents its tools run.
    pub fn running_subagents(&self) -> Arc<Subagents> {
        Arc::clone(&self.subagents)
    }

    pub fn set_file(&self, file: Option<PathBuf>) {
        self.lock().file = file;
    }

    /// Takes over a plan without publishing it.
    pub fn restore_plan(&self, plan: Plan) {
        self.plan.restore(plan);
    }

    /// What may run from now on, and in which mode the session was before it was to plan.
    pub fn set_mode(&self, mode: PermissionMode, before_plan: Option<PermissionMode>) {
        let mut state = self.lock();
        state.mode = mode;
        state.mode_before_plan = before_plan;
    }

    pub fn set_hooks(&self, hooks: Arc<dyn Hooks>) {
        self.lock().hooks = Some(hooks);
    }

    pub fn set_folder_texts(&self, texts: FolderTexts) {
        self.lock().folder_texts = Some(texts);
    }

    pub fn set_model(&self, model: Option<Arc<ModelInfo>>) {
        self.lock().model = model;
    }

    pub fn set_budget_left(&self, left: Budget) {
        self.lock().budget_left = left;
    }

    /// What tools consumed since this was last taken.
    pub fn consumed_now(&self) -> Usage {
        self.lock().consumed_by_all()
    }

    /// The same by model, which begins at nothing then.
    pub fn take_consumed(&self) -> BTreeMap<String, Usage> {
        let mut state = self.lock();
        let by_all = state.consumed_by_all();
        // Who asks meanwhile what is left must not find more than before.
        state.budget_left = state.budget_left.left_after(&by_all, 0);
        std::mem::take(&mut state.consumed)
    }

    /// A model was called in this session: for one whose calls another one judges, that one pays.
    pub fn called_model(&self, model: &str, usage: Usage) {
        self.cost.add(&usage);
        if let Some(parent) = &self.permits {
            parent.consumed(model, usage);
        }
    }

    /// What is left of the budget of the session that pays, if that is another one.
    pub fn parents_budget_left(&self) -> Option<Budget> {
        self.permits.as_ref().map(|parent| parent.budget_left())
    }

    fn ask_actor(
        &self,
        call: Arc<ToolCall>,
        spec: ToolSpec,
        touches: Touches,
        is_approved: bool,
    ) -> PermitFuture {
        let (requests, is_background) = (self.requests.clone(), self.is_background);
        Box::pin(async move {
            let (reply, verdict) = oneshot::channel();
            let asked = requests
                .send(RunRequest::Permit {
                    call,
                    is_own: false,
                    is_background,
                    spec,
                    touches,
                    is_approved,
                    reply,
                })
                .await;
            match (asked, verdict.await) {
                (Ok(()), Ok(Verdict::Allowed)) => Ok(()),
                (Ok(()), Ok(Verdict::Denied(why))) => Err(CallRefused::Denied(why)),
                _ => Err(CallRefused::SessionClosed),
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolHost for SessionToolHost {
    fn plan(&self) -> Plan {
        self.plan.plan()
    }

    fn set_plan(&self, plan: Plan) {
        self.plan.set(plan);
    }

    fn jobs(&self) -> Option<Arc<Jobs>> {
        Some(Arc::clone(&self.jobs))
    }

    fn report_job(&self, report: JobReport) -> CapacityFuture {
        let requests = self.requests.clone();
        Box::pin(async move {
            // When the session is gone there is nobody left to report to.
            requests.send(RunRequest::Job(Box::new(report))).await.ok();
        })
    }

    fn in_background(&self, undo: Option<Arc<Undo>>) -> Option<Arc<dyn ToolHost>> {
        Some(Arc::new(Self {
            is_background: true,
            undo,
            ..self.clone()
        }))
    }

    fn left_running(&self) -> Option<Arc<LeftRunning>> {
        Some(Arc::clone(&self.left_running))
    }

    fn subagents(&self) -> Option<Arc<Subagents>> {
        Some(self.running_subagents())
    }

    fn path_rules(&self) -> PathRules {
        self.path_rules.clone()
    }

    fn undo(&self) -> Option<Arc<Undo>> {
        self.undo.clone()
    }

    fn session_file(&self) -> Option<PathBuf> {
        self.lock().file.clone()
    }

    fn ask(&self, dialog: Dialog) -> DialogFuture {
        Box::pin(Arc::clone(&self.dialogs).ask(dialog))
    }

    /// For a session whose calls another one judges, that one's.
    fn permission_mode(&self) -> PermissionMode {
        match &self.permits {
            Some(permits) => permits.permission_mode(),
            None => self.lock().mode,
        }
    }

    fn mode_before_plan(&self) -> Option<PermissionMode> {
        self.lock().mode_before_plan
    }

    fn leave_plan_mode(&self, mode: PermissionMode) -> ModeFuture {
        let requests = self.requests.clone();
        Box::pin(async move {
            let (reply, left) = oneshot::channel();
            let asked = requests
                .send(RunRequest::LeavePlanMode { mode, reply })
                .await;
            asked.is_ok() && left.await.unwrap_or(false)
        })
    }

    fn publish(&self, event: EventKind) {
        self.hub.publish(event);
    }

    fn wait_for_capacity(&self) -> CapacityFuture {
        let hub = self.hub.clone();
        Box::pin(async move { hub.wait_for_capacity().await })
    }

    fn model(&self) -> Option<Arc<ModelInfo>> {
        self.lock().model.clone()
    }

    fn permit(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        match &self.permits {
            Some(permits) => permits.permit(call, spec, touches),
            None => self.ask_actor(call, spec, touches, false),
        }
    }

    fn permit_again(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        match &self.permits {
            Some(permits) => permits.permit_again(call, spec, touches),
            None => self.ask_actor(call, spec, touches, true),
        }
    }

    fn hooks(&self) -> Option<Arc<dyn CallHooks>> {
        let hooks: Arc<dyn CallHooks> = self.lock().hooks.clone()?;
        Some(hooks)
    }

    fn folder_texts(&self) -> Option<FolderTexts> {
        self.lock().folder_texts.clone()
    }

    fn consumed(&self, model: &str, usage: Usage) {
        if usage.is_zero() {
            return;
        }
        let mut state = self.lock();
        state
            .consumed
            .entry(model.to_owned())
            .or_default()
            .add(&usage);
        drop(state);
        // When the queue is full, it is recorded with what is consumed next, or when the round ends.
        self.requests.try_send(RunRequest::RecordTools).ok();
        self.called_model(model, usage);
    }

    fn budget_left(&self) -> Budget {
        let state = self.lock();
        let own = state.budget_left.left_after(&state.consumed_by_all(), 0);
        drop(state);
        match self.parents_budget_left() {
            Some(parents) => own.at_most(parents),
            None => own,
        }
    }
}
