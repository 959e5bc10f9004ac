//! Tasks of the runtime.
//!
//! The runtime's code for a task is compiled for every type of future and of closure, several
//! kilobytes each. Behind a pointer all that yield the same are of one type, so the program is
//! smaller; what that costs is one allocation a task.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Starts a task.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    tokio::spawn(work)
}

/// Does something that blocks, on a thread for that.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}
