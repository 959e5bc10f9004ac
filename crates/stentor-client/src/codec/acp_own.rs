//! Turns that an ACP agent begins by itself. The protocol knows only those of a prompt: such a turn
//! begins with the first thing that is said outside of one, and is over when nothing more comes.

use std::time::Duration;

use super::Effects;
use super::acp::Acp;
use crate::event::{TurnEndReason, TurnOrigin};

/// How long nothing may come before such a turn is over.
const QUIET: Duration = Duration::from_secs(2);

impl Acp {
    /// The agent says or does something that belongs to a turn.
    pub fn works(&mut self, fx: &mut Effects) {
        self.has_said = true;
        if !self.turn.is_active() && self.is_open && !self.is_opening {
            self.message_id.clear();
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
        let is_quiet = !std::mem::take(&mut self.has_said);
        if is_quiet && self.asked.is_empty() && self.turn.open().next().is_none() {
            self.end_own(TurnEndReason::Completed, fx);
        } else {
            fx.wake_in = Some(QUIET);
        }
    }
}
