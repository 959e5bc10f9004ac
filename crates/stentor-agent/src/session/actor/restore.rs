//! Going on with a stored session.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use stentor_journal::message::{
    ContentBlock, KnownMessage, Message, StopReason, ToolCall, ToolResultMessage, UserContent,
};
use stentor_journal::store::{Entry, EntryKind, Journal, OpenedSession, StoreError};
use stentor_policy::PermissionMode;

use super::Actor;
use super::permissions::PERMISSION_MODE;
use super::queues::{QUEUED, UNQUEUED};
use super::shells::{DEFERRED, DeferredMessage};
use crate::model::NamedBy;
use crate::session::error::SessionError;
use crate::session::options::SessionOptions;
use crate::session::queues::QueuedMessage;
use crate::session::state::ReplacedModel;
use crate::tool::Plan;
use crate::turn::{INTERRUPTED, NOT_RUN_ABORTED, NOT_RUN_FAILED};

/// How earlier versions noted that an answer, and the results of its calls, left the context.
const FORGOTTEN: &str = "stentor.forgotten";

/// The note on disk of a plan that no tool's result has.
pub(super) const PLAN: &str = "stentor.plan";

/// What a stored session says, its journal aside.
pub(super) struct StoredSession {
    pub context: Vec<Entry>,
    pub name: Option<String>,
    pub model: Option<(String, String)>,
    pub thinking_level: Option<String>,
    pub warnings: Vec<String>,
}

impl StoredSession {
    /// Takes an opened session apart: its journal, its last entry, and the rest.
    pub fn of(opened: OpenedSession) -> (Box<dyn Journal>, Option<String>, Self) {
        let OpenedSession {
            journal,
            context,
            leaf,
            name,
            model,
            thinking_level,
            warnings,
        } = opened;
        let stored = Self {
            context,
            name,
            model,
            thinking_level,
            warnings,
        };
        (journal, leaf, stored)
    }
}

impl Actor {
    pub(super) fn restore(
        &mut self,
        stored: StoredSession,
        options: &SessionOptions,
    ) -> Result<(), SessionError> {
        self.spending.restore(&self.log)?;
        for message in stored.warnings {
            // The store has logged them.
            self.publish_warning(message);
        }
        self.restore_model(stored.model.clone(), stored.thinking_level.clone(), options);
        self.restore_messages(&stored.context);
        if options.counts_messages_on {
            self.signals.count_from(self.most_messages());
        }
        self.restore_waiting(&stored.context);
        self.restore_plan(&stored.context);
        let by = named_by(self.log.path(), &options.trusted_session_folders);
        let is_own = by != NamedBy::Untrusted;
        self.restore_permission_mode(&stored.context, options, is_own);
        self.close_interrupted_calls(&stored.context, is_own)?;
        if self.permissions.unanswered.calls.is_empty() {
            self.shells.deliver(&mut self.log)?;
        }
        self.report_lost_jobs(&stored.context)?;
        self.note_what_is_new(stored.name, stored.model, stored.thinking_level, options)?;
        Ok(())
    }

    /// So many messages at most are in the file, wherever in its tree. Counting them would be reading
    /// them all.
    fn most_messages(&self) -> u64 {
        /// The fields of an entry around its message are longer.
        const SHORTEST_ENTRY_BYTES: u64 = 100;
        let metadata = self.log.path().and_then(|file| file.metadata().ok());
        metadata.map_or(0, |metadata| metadata.len() / SHORTEST_ENTRY_BYTES)
    }

    /// What the options say otherwise than the file goes into the file.
    fn note_what_is_new(
        &mut self,
        name: Option<String>,
        model: Option<(String, String)>,
        level: Option<String>,
        options: &SessionOptions,
    ) -> Result<(), SessionError> {
        if let Some(info) = self.models.info()
            && (options.model.is_some() || model.is_none())
            && model != Some((info.provider.clone(), info.id.clone()))
        {
            self.log.note_model(info, false)?;
        }
        let thinking = self.models.thinking();
        let is_other = level != Some(thinking.to_string());
        if (options.thinking.is_some() || level.is_none()) && is_other {
            self.log.note_thinking(thinking, false)?;
        }
        match self.log.name() {
            None => self.log.set_name(name),
            Some(new) if name.as_ref() != Some(new) => self.log.note_name(false)?,
            Some(_) => {}
        }
        Ok(())
    }

    fn restore_model(
        &mut self,
        model: Option<(String, String)>,
        level: Option<String>,
        options: &SessionOptions,
    ) {
        if options.model.is_none() {
            let known = model.as_ref();
            let models = &self.environment.models;
            let by = named_by(self.log.path(), &options.trusted_session_folders);
            let known = known.and_then(|(provider, id)| models.find(provider, id, by));
            let is_usual = |provider: &str, id: &str| {
                let usual = options.usual_model.as_ref();
                usual.is_some_and(|usual| usual.provider == provider && usual.id == id)
            };
            if let (Some((provider, id)), None) = (&model, &known)
                && !is_usual(provider, id)
            {
                let instead = match &options.usual_model {
                    Some(usual) => format!(
                        "using {}/{}; choose another with --model or in your client",
                        usual.provider, usual.id
                    ),
                    None => "choose another".to_owned(),
                };
                let why = match (models.why_not(provider, id, by), by) {
                    (Some(why), _) => format!("is not used: {why}"),
                    (None, NamedBy::User | NamedBy::OwnFile | NamedBy::Others) => {
                        "is unknown".to_owned()
                    }
                    (None, NamedBy::Untrusted) => "is unknown, or not hosted, which is allowed \
                        only in your own session files"
                        .to_owned(),
                };
                let message = format!("the session's model {provider}/{id} {why}; {instead}");
                match options.reports_replaced_model {
                    true => self.publish_warning(message),
                    false => self.warn(message),
                }
                self.models.replaced = Some(Arc::new(ReplacedModel {
                    provider: provider.clone(),
                    id: id.clone(),
                    why,
                }));
            }
            let info = known.or_else(|| options.usual_model.clone());
            if let Some(info) = info {
                self.models.begin_with(info);
            }
        }
        let level = options.thinking.or_else(|| level?.parse().ok());
        self.models
            .begin_at(level.unwrap_or(self.models.thinking()));
    }

    pub(super) fn restore_messages(&mut self, context: &[Entry]) {
        let is_compaction = |entry: &&Entry| matches!(entry.kind, EntryKind::Compaction(_));
        let summary = context.iter().rev().find(is_compaction);
        if let Some((entry, summary)) = summary.and_then(|entry| Some((entry, entry.to_message()?)))
        {
            self.log.push(entry.id.clone(), summary);
        }
        let edits = edits_of(context);
        for entry in context.iter().filter(|entry| !is_compaction(entry)) {
            let Some(message) = entry.to_message() else {
                continue;
            };
            let message = match edits.get(entry.id.as_str()) {
                None => message,
                Some(None) => continue,
                Some(Some(content)) => match message.with_content(content) {
                    Some(edited) => Arc::new(edited),
                    None => message,
                },
            };
            self.log.push(entry.id.clone(), message);
        }
        for data in notes(context, FORGOTTEN) {
            if let Some(id) = data.get("entryId").and_then(|id| id.as_str()) {
                self.log.forget_restored(id);
            }
        }
    }

    /// Messages that were accepted but not delivered wait again.
    fn restore_waiting(&mut self, context: &[Entry]) {
        let mut gone: HashSet<&str> = context.iter().map(|entry| entry.id.as_str()).collect();
        for data in notes(context, UNQUEUED) {
            if let Some(ids) = data.get("deliverAs").and_then(|ids| ids.as_array()) {
                gone.extend(ids.iter().filter_map(|id| id.as_str()));
            }
        }
        // A compaction repeats the notes; a fork copies those of another session.
        let mut seen = HashSet::new();
        let mut is_mine = |session: &str, deliver_as: &str| {
            *session == *self.id && !gone.contains(deliver_as) && seen.insert(deliver_as.to_owned())
        };
        for data in notes(context, QUEUED) {
            if let Ok(queued) = QueuedMessage::deserialize(data)
                && is_mine(&queued.session, &queued.deliver_as)
            {
                self.queues.restore(&mut self.log, queued);
            }
        }
        for data in notes(context, DEFERRED) {
            if let Ok(deferred) = DeferredMessage::deserialize(data)
                && is_mine(&deferred.session, &deferred.deliver_as)
            {
                self.shells.restore(&mut self.log, deferred);
            }
        }
    }

    fn restore_plan(&mut self, context: &[Entry]) {
        if let Some(plan) = plan_in(context) {
            self.tools.host.restore_plan(plan);
        }
    }

    /// The mode that was chosen last, if the options want that. One that allows less than theirs counts
    /// in any case, unless a mode was named for this session now: whoever had the session ask or plan
    /// did not mean one client, and not every frontend asks by itself. A file that others may have
    /// written never allows more.
    fn restore_permission_mode(
        &mut self,
        context: &[Entry],
        options: &SessionOptions,
        is_own: bool,
    ) {
        let chosen = notes(context, PERMISSION_MODE)
            .filter_map(|data| Some((mode_in(data, "mode")?, mode_in(data, "beforePlan"))))
            .last();
        let Some((mode, before_plan)) = chosen else {
            return;
        };
        let usual = self.permissions.mode();
        let before_plan = before_plan.map(|before| match is_own {
            true => before,
            false => before.more_careful(usual),
        });
        let careful = mode.more_careful(usual);
        let counts = mode == PermissionMode::Plan || mode == careful;
        if (options.keeps_permission_mode && is_own) || (counts && !options.names_permission_mode) {
            self.permissions.restore_mode(mode, before_plan);
        }
    }

    /// A call of the last answer without a result was running when its process died. It is never
    /// run again: its result says that what it did is unknown. One that somebody was asked about is
    /// asked about again; in a file that others may have written, so is every other that is said not
    /// to have begun.
    ///
    /// Open calls further back stay as they are: a result must follow its call, and there is no
    /// place for it any more. Models do not see such calls.
    fn close_interrupted_calls(
        &mut self,
        context: &[Entry],
        is_own: bool,
    ) -> Result<(), SessionError> {
        let Some((answer, open)) = self.open_calls() else {
            return Ok(());
        };
        let reason = answer.message.as_assistant();
        let reason = reason.map_or(StopReason::Unknown, |answer| answer.stop_reason);
        let text = match reason {
            StopReason::Error => NOT_RUN_FAILED,
            StopReason::Aborted => NOT_RUN_ABORTED,
            StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Unknown => {
                INTERRUPTED
            }
        };
        self.keep_unanswered(context, &answer, is_own);
        for call in open {
            if !self.permissions.unanswered.calls.contains(&call.id) {
                self.log_unrun(&call, text)?;
            }
        }
        Ok(())
    }

    /// Records a result for a call that no run gives one.
    pub(super) fn log_unrun(&mut self, call: &ToolCall, text: &str) -> Result<(), StoreError> {
        let message: Message = KnownMessage::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![ContentBlock::text(text)],
            details: Some(serde_json::json!({ "interrupted": true })),
            is_error: true,
            timestamp: self.log.now_ms(),
            rest: Default::default(),
        })
        .into();
        let id = self.log.new_entry_id();
        self.log.append_message(id, Arc::new(message))
    }
}

/// Who names the model that a session file names. One that came with a folder, say, was written by
/// whoever wrote the folder. A session in memory is a copy of one that runs in this process.
fn named_by(file: Option<&Path>, trusted: &[PathBuf]) -> NamedBy {
    let Some(file) = file else {
        return NamedBy::Others;
    };
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = resolved(file);
    let is_inside = |folder: &PathBuf| file.starts_with(resolved(folder));
    match trusted.iter().any(is_inside) {
        true => NamedBy::Others,
        false => NamedBy::Untrusted,
    }
}

/// The data of the notes of one type, oldest first.
pub(super) fn notes<'a>(context: &'a [Entry], wanted: &'a str) -> impl Iterator<Item = &'a Value> {
    context.iter().filter_map(move |entry| match &entry.kind {
        EntryKind::Custom {
            custom_type,
            data: Some(data),
        } if custom_type == wanted => Some(data),
        _ => None,
    })
}

fn mode_in(data: &Value, key: &str) -> Option<PermissionMode> {
    PermissionMode::deserialize(data.get(key)?).ok()
}

/// The plan is in the newest note of one, or in the details of the newest result that set it.
pub(super) fn plan_in(context: &[Entry]) -> Option<Plan> {
    context.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Custom {
            custom_type,
            data: Some(data),
        } if custom_type == PLAN => Plan::deserialize(data).ok(),
        EntryKind::Message { message } => {
            let details = message.as_tool_result()?.details.as_ref()?;
            Plan::deserialize(details).ok()
        }
        _ => None,
    })
}

/// What stands for each message that was edited: the newest edit of it.
fn edits_of(context: &[Entry]) -> HashMap<&str, Option<&UserContent>> {
    let edits = context.iter().filter_map(|entry| match &entry.kind {
        EntryKind::ContextEdit {
            target_id,
            replacement,
        } => Some((target_id.as_str(), replacement.as_ref())),
        _ => None,
    });
    edits.collect()
}
