//! What a session consumed, and the limits of it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use stentor_journal::store::{
    CONSUMED_BY_SUMMARY, CONSUMED_BY_TOOLS, JournalReader, StoreError, Totals,
};
use stentor_journal::usage::Usage;
use tokio::sync::OnceCell;

use super::log::SessionLog;
use crate::budget::Budget;
use crate::event::BudgetLimit;
use crate::model::{ModelError, ModelErrorKind};
use crate::session::tool_host::SessionToolHost;
use crate::tasks;
use crate::turn::RefusalReason;

/// Tokens, cost and model calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub usage: Usage,
    pub turns: u64,
    /// The turns among them that gave an error and no answer.
    pub failed_turns: u64,
}

impl Spent {
    /// The turns that a limit of them counts: what is asked again is one turn.
    fn limited_turns(self) -> u64 {
        self.turns.saturating_sub(self.failed_turns)
    }
}

/// What the session consumed so far.
pub(super) struct Spending {
    host: Arc<SessionToolHost>,
    budget: Budget,
    earlier: EarlierSpending,
    /// Since the session was opened, what is not recorded yet of tools aside.
    now: Spent,
    /// What tools consumed that is recorded, and that no run has counted yet.
    by_tools: Usage,
}

/// What a stored session had consumed when it was opened. Its file is read for it once, when
/// somebody first wants to know.
#[derive(Clone, Default)]
pub(super) struct EarlierSpending {
    file: PathBuf,
    reader: Option<Arc<dyn JournalReader>>,
    read: Arc<OnceCell<Spent>>,
}

impl EarlierSpending {
    pub async fn get(&self) -> Result<Spent, StoreError> {
        let read = self
            .read
            .get_or_try_init(async || match self.reader.clone() {
                None => Ok(Spent::default()),
                Some(reader) => {
                    let totals = tasks::spawn_blocking(move || reader.totals()).await;
                    let totals = totals.map_err(|stopped| StoreError::Io {
                        doing: "read",
                        path: self.file.clone(),
                        source: io::Error::other(stopped),
                    })?;
                    totals.map(|totals: Totals| Spent {
                        usage: totals.usage,
                        turns: totals.assistant_messages + totals.summaries,
                        failed_turns: totals.failed_answers,
                    })
                }
            });
        read.await.copied()
    }
}

impl Spending {
    pub fn new(host: Arc<SessionToolHost>, budget: Budget) -> Self {
        host.set_budget_left(budget);
        Self {
            host,
            budget,
            earlier: EarlierSpending::default(),
            now: Spent::default(),
            by_tools: Usage::default(),
        }
    }

    /// The session was opened: what is in its log so far was consumed earlier.
    pub fn restore(&mut self, log: &SessionLog) -> Result<(), StoreError> {
        self.earlier = EarlierSpending {
            file: log.path().map(Into::into).unwrap_or_default(),
            reader: Some(log.reader()?),
            read: Arc::default(),
        };
        Ok(())
    }

    pub fn earlier(&self) -> EarlierSpending {
        self.earlier.clone()
    }

    /// Since the session was opened.
    pub fn now(&self) -> Spent {
        let mut now = self.now;
        now.usage.add(&self.host.consumed_now());
        now
    }

    /// Counts a model call that gave an error and no answer.
    pub fn count_failed(&mut self, model: &str, usage: &Usage) {
        self.now.failed_turns += 1;
        self.count(model, usage);
    }

    /// Counts a model call.
    pub fn count(&mut self, model: &str, usage: &Usage) {
        self.host.called_model(model, *usage);
        self.now.usage.add(usage);
        self.now.turns += 1;
        // The tools of the answer that is counted may only use what it leaves. Where there is a
        // budget, what was spent earlier has been read before the first call.
        let earlier = self.earlier.read.get().copied().unwrap_or_default();
        let mut used = self.now.usage;
        used.add(&earlier.usage);
        let turns = self.now.limited_turns() + earlier.limited_turns();
        self.host
            .set_budget_left(self.budget.left_after(&used, turns));
    }

    /// Counts a model call that leaves no message.
    pub fn count_summary(&mut self, log: &mut SessionLog, model: &str, usage: &Usage) {
        self.count(model, usage);
        note(log, CONSUMED_BY_SUMMARY, usage);
    }

    /// Records what tools consumed: it is in no message.
    pub fn record_tools(&mut self, log: &mut SessionLog) {
        for (model, usage) in self.host.take_consumed() {
            self.by_tools.add(&usage);
            self.now.usage.add(&usage);
            note(log, CONSUMED_BY_TOOLS, &ByModel { model, usage });
        }
    }

    /// What tools consumed since this was last asked, all of it recorded.
    pub fn count_tools(&mut self, log: &mut SessionLog) -> Usage {
        self.record_tools(log);
        std::mem::take(&mut self.by_tools)
    }

    /// Why no model may be called any more. In a resumed session with a budget the actor waits for
    /// its file to be read, once.
    pub async fn limit_reached(&self) -> Option<RefusalReason> {
        if self.budget == Budget::default() {
            return None;
        }
        let earlier = match self.earlier.get().await {
            Ok(earlier) => earlier,
            // A limit that cannot be checked must not be passed.
            Err(error) => {
                let text = format!("cannot tell how much of the budget is left: {error}");
                return Some(RefusalReason::Model(ModelError::new(
                    ModelErrorKind::Other,
                    text,
                )));
            }
        };
        let now = self.now();
        let mut usage = earlier.usage;
        usage.add(&now.usage);
        let turns = earlier.limited_turns() + now.limited_turns();
        let Budget {
            tokens,
            cost,
            turns: calls,
        } = self.budget;
        let (limit, message) = if let Some(most) = calls.filter(|most| turns >= *most) {
            (
                BudgetLimit::Turns,
                format!("Budget reached: {turns} of {most} model calls are used."),
            )
        } else if let Some(most) = tokens.filter(|most| usage.total_tokens >= *most) {
            let used = usage.total_tokens;
            (
                BudgetLimit::Tokens,
                format!("Budget reached: {used} of {most} tokens are used."),
            )
        } else if let Some(most) = cost.filter(|most| usage.cost.total >= *most) {
            let used = usage.cost.total;
            (
                BudgetLimit::Cost,
                format!("Budget reached: ${used:.4} of ${most:.4} are spent."),
            )
        } else {
            return self.parents_limit_reached();
        };
        Some(RefusalReason::Budget { limit, message })
    }

    /// The same for the session that pays for this one and perhaps for others beside it.
    fn parents_limit_reached(&self) -> Option<RefusalReason> {
        let left = self.host.parents_budget_left()?;
        left.is_spent().then(|| RefusalReason::Budget {
            limit: match left.tokens {
                Some(0) => BudgetLimit::Tokens,
                _ => BudgetLimit::Cost,
            },
            message: "Budget reached: nothing is left of the budget of the session this one \
                      works for."
                .to_owned(),
        })
    }
}

/// What tools consumed of one model, as it stands in the file.
#[derive(Serialize)]
struct ByModel {
    model: String,
    #[serde(flatten)]
    usage: Usage,
}

/// Notes what is in no message, so that a resumed session counts it too.
fn note(log: &mut SessionLog, custom_type: &str, usage: &impl Serialize) {
    if let Err(error) = log.note(custom_type, usage, false) {
        tracing::warn!(%error, "usage could not be recorded");
    }
}
