//! The state of the session: its queues, settings, slash commands and entries.

use std::sync::Arc;

use stentor_agent::event::{CommandInfo, NoticeLevel, NoticeSource, Queues, StateChange};
use stentor_journal::store::{Entry, EntryKind};
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;
use crate::omp::connection::available_commands;

/// What the clients of a server are told when one of them went back in a session.
const REWOUND: &str =
    "The conversation went back to an earlier message. `get_messages` has what is left of it.";

impl OmpEncoder {
    pub(super) fn queue_changed(&mut self, frames: &mut Vec<u8>, queues: &Arc<Queues>) {
        self.queues = Arc::clone(queues);
        self.connection.sent_queues.set(self.generation, queues);
        let frame = Frame::QueueUpdate {
            steering: &queues.steering,
            follow_up: &queues.follow_up,
        };
        self.event(frames, "queue_update", &frame);
    }

    pub(super) fn state_changed(&self, frames: &mut Vec<u8>, session: &str, change: &StateChange) {
        match change {
            StateChange::ThinkingLevel(level) => {
                let level = level.as_str();
                let frame = Frame::ThinkingLevelChanged {
                    level,
                    thinking_level: level,
                };
                self.event(frames, "thinking_level_changed", &frame);
            }
            StateChange::Name(name) => {
                let name = name.as_deref();
                let frame = Frame::SessionInfoChanged { name };
                self.event(frames, "session_info_changed", &frame);
                let frame = Frame::SessionInfoUpdate {
                    title: name,
                    session_id: session,
                };
                self.event(frames, "session_info_update", &frame);
            }
            StateChange::Model(_) => self.event(frames, "model_changed", &Frame::ModelChanged),
            StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_)
            | StateChange::PermissionMode(_) => {}
            StateChange::Leaf(_) => {
                // Only who did it knows otherwise.
                if self.connection.of_server {
                    self.notice(frames, NoticeLevel::Info, REWOUND, NoticeSource::Agent);
                }
            }
        }
    }

    pub(super) fn commands_changed(&self, frames: &mut Vec<u8>, commands: &[CommandInfo]) {
        let commands = &available_commands(commands);
        let frame = Frame::AvailableCommandsUpdate { commands };
        self.event(frames, "available_commands_update", &frame);
    }

    /// Clients of this dialect read an entry that does not come with its event when they want it.
    pub(super) fn entry_appended(&self, frames: &mut Vec<u8>, entry: Option<&Entry>) {
        // A message is none of the entries that the originals publish.
        let Some(entry) = entry.filter(|entry| !matches!(entry.kind, EntryKind::Message { .. }))
        else {
            return;
        };
        match serde_json::value::to_raw_value(entry) {
            Ok(entry) => {
                let frame = Frame::EntryAppended { entry: &entry };
                self.event(frames, "entry_appended", &frame);
            }
            Err(error) => tracing::error!(%error, "an entry could not be written"),
        }
    }
}
