//! How a handle has its actor do something.

use futures_util::future::BoxFuture;

use super::actor::Actor;
pub(super) use crate::turn::Reply;

/// Commands a session may have waiting. A caller waits when it is full.
pub(super) const COMMANDS: usize = 64;

/// What an actor does while everything else waits.
type AsyncAct = dyn for<'a> FnOnce(&'a mut Actor) -> BoxFuture<'a, ()> + Send;

/// What a handle asks of the actor. What that is stands with the handle's methods, in
/// `actor/commands.rs`.
pub(super) enum ActorCommand {
    Act(Box<dyn FnOnce(&mut Actor) + Send>),
    ActAsync(Box<AsyncAct>),
    Close {
        /// Who was asked something is asked again when the session is opened.
        keeps_questions: bool,
        reply: Reply<()>,
    },
}
