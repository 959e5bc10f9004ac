//! Turns that an ACP agent begins by itself. The protocol knows only those of a prompt: such a turn
//! begins with the first thing that is said outside of one, and is over when nothing more comes or the
//! agent is given a prompt.

use std::time::Duration;

use super::Effects;
use super::acp::Acp;
use crate::event::{TurnEndReason, TurnOrigin};

/// How long nothing may come before such a turn is over.
const QUIET: Duration = Duration::from_secs(2);

/// The same while a call is open: its end may never be reported.
const QUIET_CALL: Duration = Duration::from_secs(600);

impl Acp {
    /// The agent says or does something that belongs to a turn.
    pub fn works(&mut self, fx: &mut Effects) {
        self.has_said = true;
        if !self.turn.is_active() && self.is_open && !self.is_opening {
            self.message_id.clear();
            self.silence = Duration::ZERO;
            self.turn.begin(TurnOrigin::Own, fx);
            fx.wake_in = Some(QUIET);
        }
    }

    /// Ends the turn if the agent began it by itself.
    pub fn end_own(&mut self, reason: TurnEndReason, fx: &mut Effects) {
        if self.turn.is_own() {
            self.end_turn(reason, None, fx);
        }
    }

    /// Ends a turn of its own in which nothing happens any more.
    pub fn look_whether_over(&mut self, fx: &mut Effects) {
        self.unreported.leave_overdue(&mut self.turn, fx);
        if !self.turn.is_own() {
            return;
        }
        self.silence = match std::mem::take(&mut self.has_said) || !self.asked.is_empty() {
            true => Duration::ZERO,
            false => self.silence + QUIET,
        };
        let limit = match self.turn.open().next() {
            Some(_) => QUIET_CALL,
            None => QUIET,
        };
        if self.silence >= limit {
            self.end_own(TurnEndReason::Completed, fx);
        } else {
            fx.wake_in = Some(QUIET);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec::Codec;
    use crate::connection::LostCounter;
    use crate::dialect::AgentDialect;
    use crate::event::AgentEvent;
    use crate::host::HostOffers;
    use crate::options::StartOptions;

    fn says(acp: &mut Acp, update: serde_json::Value) {
        let params = json!({ "sessionId": "s", "update": update });
        let frame = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        acp.line(&frame.to_string(), &mut Effects::default())
            .unwrap_or_else(|_| panic!("{frame}"));
    }

    /// How long it must say nothing.
    fn ends_after(acp: &mut Acp) -> Duration {
        let mut silence = Duration::ZERO;
        loop {
            let mut fx = Effects::default();
            acp.wake(&mut fx);
            if let Some(AgentEvent::TurnEnded(_)) = fx.events.back() {
                return silence;
            }
            silence += fx.wake_in.expect("it is not looked at any more");
        }
    }

    #[test]
    fn a_turn_of_its_own_ends_though_the_end_of_a_call_is_never_reported() {
        let options = StartOptions::new(AgentDialect::Acp, ["agent".to_owned()]);
        let mut acp = Acp::new(&options, HostOffers::default(), LostCounter::default());
        acp.session = Some("s".to_owned());
        acp.is_open = true;
        let said = json!({
            "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" },
        });
        says(&mut acp, said.clone());
        assert_eq!(ends_after(&mut acp), QUIET);
        let call =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "status": "in_progress" });
        says(&mut acp, call);
        assert_eq!(ends_after(&mut acp), QUIET_CALL);
        // That of the next has nothing to do with it.
        says(&mut acp, said);
        assert_eq!(ends_after(&mut acp), QUIET);
    }
}
