//! A session as a subagent of another.

use stentor_journal::message::ContentBlock;

use super::error::SessionError;
use super::handle::Session;
use crate::subagents::{SteerError, SteerFuture, SteeredSession};

impl SteeredSession for Session {
    fn steer(&self, content: Vec<ContentBlock>) -> SteerFuture<'_> {
        Box::pin(async {
            match self.steer(content).await {
                Ok(()) => Ok(()),
                Err(SessionError::Closed) => Err(SteerError::NotRunning),
                Err(error) => Err(SteerError::Refused(error.into())),
            }
        })
    }
}
