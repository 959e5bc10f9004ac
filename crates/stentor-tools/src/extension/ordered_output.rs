//! Everything an extension sends to the client goes out in the order in which it was sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::limits::{OPEN_REQUESTS, WAITING_TO_SHOW};
use super::port::SessionPort;

/// What is done when everything before it was. Must not wait.
pub(super) type QueuedOutput = Box<dyn FnOnce(&Arc<SessionPort>) + Send>;

/// What waits until the slowest client has room for it, in the order in which it came.
pub(super) struct OrderedOutput {
    port: Arc<SessionPort>,
    waiting: Mutex<WaitingOutputs>,
    arrived: Notify,
}

#[derive(Default)]
struct WaitingOutputs {
    outputs: VecDeque<QueuedOutput>,
    closed: bool,
}

impl OrderedOutput {
    /// An empty queue, and the work of taking from it, which ends when it is closed and empty.
    pub fn new(port: Arc<SessionPort>) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let output = Arc::new(Self {
            port,
            waiting: Mutex::default(),
            arrived: Notify::new(),
        });
        let work = Arc::clone(&output).take_all();
        (output, work)
    }

    /// Has something shown after what was sent before it. False, and nothing happens, when too
    /// much is queued: slow clients slow down nobody.
    pub fn show(&self, output: QueuedOutput) -> bool {
        self.push(output, WAITING_TO_SHOW)
    }

    /// Has something asked after what was sent before it. There is room for questions where there
    /// is none left for things to show, since somebody waits for their answers.
    pub fn ask(&self, output: QueuedOutput) -> bool {
        self.push(output, WAITING_TO_SHOW + OPEN_REQUESTS)
    }

    /// Takes everything that waits, now: something that was sent later is about to be acted on.
    pub fn catch_up(&self) {
        let mut waiting = self.lock();
        while let Some(output) = waiting.outputs.pop_front() {
            output(&self.port);
        }
    }

    /// Takes what waits, as far as the slowest client has room, and drops the rest: who sent it is
    /// gone.
    pub fn wind_up(&self) {
        let mut waiting = self.lock();
        while self.port.wait_for_capacity().now_or_never().is_some()
            && let Some(output) = waiting.outputs.pop_front()
        {
            output(&self.port);
        }
        waiting.outputs.clear();
    }

    /// Nothing more will come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn push(&self, output: QueuedOutput, limit: usize) -> bool {
        let mut waiting = self.lock();
        if waiting.outputs.len() >= limit {
            return false;
        }
        waiting.outputs.push_back(output);
        drop(waiting);
        self.arrived.notify_one();
        true
    }

    async fn take_all(self: Arc<Self>) {
        loop {
            let (is_empty, closed) = {
                let waiting = self.lock();
                (waiting.outputs.is_empty(), waiting.closed)
            };
            if !is_empty {
                self.port.wait_for_capacity().await;
                // Taken under the lock, so that nothing that came later can be taken meanwhile.
                let mut waiting = self.lock();
                if let Some(output) = waiting.outputs.pop_front() {
                    output(&self.port);
                }
            } else if closed {
                return;
            } else {
                self.arrived.notified().await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingOutputs> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Taken = Arc<Mutex<Vec<usize>>>;

    fn note(taken: &Taken, number: usize) -> QueuedOutput {
        let taken = Arc::clone(taken);
        Box::new(move |_| taken.lock().unwrap().push(number))
    }

    fn turns() -> (
        Arc<OrderedOutput>,
        impl Future<Output = ()> + Send + 'static,
    ) {
        OrderedOutput::new(Arc::new(SessionPort::to_nobody(Arc::from(
            std::path::Path::new("/"),
        ))))
    }

    #[tokio::test]
    async fn what_is_shown_and_what_is_asked_keep_their_order() {
        let (turns, work) = turns();
        let taken = Taken::default();
        for number in 0..10 {
            let turn = note(&taken, number);
            let sent = match number % 2 {
                0 => turns.show(turn),
                _ => turns.ask(turn),
            };
            assert!(sent);
        }
        turns.close();
        work.await;
        assert_eq!(*taken.lock().unwrap(), Vec::from_iter(0..10));
    }

    #[tokio::test]
    async fn who_must_not_overtake_takes_what_waits() {
        let (turns, work) = turns();
        let taken = Taken::default();
        turns.show(note(&taken, 0));
        turns.ask(note(&taken, 1));
        turns.catch_up();
        assert_eq!(*taken.lock().unwrap(), [0, 1]);
        turns.close();
        work.await;
        assert_eq!(*taken.lock().unwrap(), [0, 1]);
    }

    #[test]
    fn a_question_finds_room_where_a_notice_is_dropped() {
        let (turns, _work) = turns();
        let taken = Taken::default();
        for number in 0..WAITING_TO_SHOW {
            assert!(turns.show(note(&taken, number)));
        }
        assert!(!turns.show(note(&taken, 1000)));
        for number in 0..OPEN_REQUESTS {
            assert!(turns.ask(note(&taken, WAITING_TO_SHOW + number)));
        }
        assert!(!turns.ask(note(&taken, 1000)));
        turns.catch_up();
        let all = Vec::from_iter(0..WAITING_TO_SHOW + OPEN_REQUESTS);
        assert_eq!(*taken.lock().unwrap(), all);
    }
}
