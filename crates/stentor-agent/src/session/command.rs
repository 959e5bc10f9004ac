//! How a handle has its actor do something.

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::actor::Actor;

/// Commands a session may have waiting. A caller waits when it is full.
pub(super) const COMMANDS: usize = 64;

/// Where the answer to a command goes.
pub(super) type Reply<T> = oneshot::Sender<T>;

/// What a handle asks of the actor. What that is stands with the handle's methods, in
/// `actor/commands.rs`.
pub(super) enum Command {
    Act(Box<dyn FnOnce(&mut Actor) + Send>),
    /// The actor waits with everything else until it is done.
    ActAsync(Box<dyn for<'a> FnOnce(&'a mut Actor) -> BoxFuture<'a, ()> + Send>),
    Close {
        reply: Reply<()>,
    },
}
