//! The turn of a child: that its events come in order and completely, whatever the child writes.

use super::Effects;
use crate::connection::LostCounter;
use crate::event::{
    AgentCall, AgentEvent, CallOutput, TurnEnd, TurnEndReason, TurnOrigin, TurnUsage,
};
use crate::host::OpenCall;

/// Calls of one turn that may be open at once. Further ones are lost, and counted.
const OPEN_CALLS: usize = 1024;

/// What becomes of calls whose end was never reported.
const UNFINISHED: &str = "The agent did not report how this call ended.";

/// Keeps the grammar of a turn: one end for each beginning, calls are announced before they start
/// and end once, and before the turn does.
pub(crate) struct TurnGrammar {
    /// Why the turn began that is going on.
    active: Option<TurnOrigin>,
    /// Calls that have been announced and have not ended; true once they have started.
    calls: Vec<(AgentCall, bool)>,
    usage: TurnUsage,
    has_usage: bool,
    lost: LostCounter,
}

impl TurnGrammar {
    pub fn new(lost: LostCounter) -> Self {
        Self {
            active: None,
            calls: Vec::new(),
            usage: TurnUsage::default(),
            has_usage: false,
            lost,
        }
    }

    pub fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// True while it works though nobody asked it.
    pub fn is_own(&self) -> bool {
        self.active == Some(TurnOrigin::Own)
    }

    pub fn begin(&mut self, origin: TurnOrigin, fx: &mut Effects) {
        if self.active.is_none() {
            self.active = Some(origin);
            self.usage = TurnUsage::default();
            self.has_usage = false;
            fx.events.push_back(AgentEvent::TurnStarted(origin));
        }
    }

    /// The newest call that runs, else the newest that was announced: what a question without a
    /// call is about.
    pub fn newest(&self) -> Option<&AgentCall> {
        let running = self.calls.iter().rev().find(|(_, started)| *started);
        running.or_else(|| self.calls.last()).map(|(call, _)| call)
    }

    /// The calls that are open, the oldest first.
    pub fn open(&self) -> impl Iterator<Item = &AgentCall> {
        self.calls.iter().map(|(call, _)| call)
    }

    pub fn called(&mut self, call: AgentCall, fx: &mut Effects) {
        if self.calls.iter().any(|(known, _)| known.id == call.id) {
            return;
        }
        if self.calls.len() >= OPEN_CALLS {
            return self.lost.unexpected();
        }
        self.calls.push((call.clone(), false));
        fx.events.push_back(AgentEvent::ToolCalled(call));
    }

    /// The call, with whether another one runs.
    pub fn open_call(&self, id: &str) -> OpenCall {
        let mut others = self.calls.iter().filter(|(call, _)| call.id != id);
        OpenCall {
            id: id.to_owned(),
            is_alone: !others.any(|(_, started)| *started),
        }
    }

    pub fn has_started(&self, id: &str) -> bool {
        self.calls
            .iter()
            .any(|(call, started)| *started && call.id == id)
    }

    pub fn started(&mut self, id: &str, fx: &mut Effects) {
        let known = self.calls.iter_mut().find(|(call, _)| call.id == id);
        if let Some((_, started @ false)) = known {
            *started = true;
            let id = id.to_owned();
            fx.events.push_back(AgentEvent::ToolStarted { id });
        }
    }

    pub fn progress(&mut self, id: &str, output: CallOutput, fx: &mut Effects) {
        self.started(id, fx);
        if self.calls.iter().any(|(call, _)| call.id == id) {
            let id = id.to_owned();
            fx.events.push_back(AgentEvent::ToolProgress { id, output });
        }
    }

    /// Ends a call. The end of one that is not open, above all a second end, is lost and counted.
    pub fn ended(&mut self, id: &str, output: CallOutput, is_error: bool, fx: &mut Effects) {
        self.started(id, fx);
        let Some(place) = self.calls.iter().position(|(call, _)| call.id == id) else {
            return self.lost.unexpected();
        };
        self.calls.remove(place);
        let id = id.to_owned();
        fx.events.push_back(AgentEvent::ToolEnded {
            id,
            output,
            is_error,
        });
    }

    /// Counts what one answer of the turn consumed.
    pub fn consumed(&mut self, usage: TurnUsage, fx: &mut Effects) {
        self.usage.add(&usage);
        self.has_usage = true;
        fx.events.push_back(AgentEvent::Usage(usage));
    }

    /// Ends the turn. `usage` is what all of it consumed, where the child tells that instead of
    /// telling it answer by answer.
    pub fn end(&mut self, reason: TurnEndReason, usage: Option<TurnUsage>, fx: &mut Effects) {
        if self.active.take().is_none() {
            return;
        }
        for (call, _) in std::mem::take(&mut self.calls) {
            fx.events.push_back(AgentEvent::ToolEnded {
                id: call.id,
                output: CallOutput::text(UNFINISHED),
                is_error: true,
            });
        }
        let counted = self.has_usage.then_some(self.usage);
        let usage = usage.or(counted);
        fx.events
            .push_back(AgentEvent::TurnEnded(TurnEnd { reason, usage }));
    }
}
