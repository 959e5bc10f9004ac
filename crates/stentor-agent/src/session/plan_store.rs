//! The plan of a session, and taking out of it what has been done for a while.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use super::options::PlanClearing;
use crate::event::EventKind;
use crate::hub::Hub;
use crate::tasks;
use crate::tool::{Plan, PlanPhase, PlanStatus};

/// The plan, and when what is done in it goes.
#[derive(Clone)]
pub(super) struct PlanStore {
    hub: Hub,
    clearing: PlanClearing,
    stored: Arc<Mutex<StoredPlan>>,
}

#[derive(Default)]
struct StoredPlan {
    plan: Plan,
    /// What is done, by phase and content, with the number of the waiting it is part of.
    done: HashMap<(String, String), u64>,
    waitings: u64,
    /// When each waiting ends, the next first. Never more than tasks that are done.
    due: VecDeque<(Instant, u64)>,
    /// True while somebody waits for them.
    is_waited_for: bool,
}

impl PlanStore {
    pub fn new(hub: Hub, clearing: PlanClearing) -> Self {
        Self {
            hub,
            clearing,
            stored: Arc::default(),
        }
    }

    pub fn plan(&self) -> Plan {
        lock(&self.stored).plan.clone()
    }

    /// Takes over the plan of a stored session without publishing it. What was done in it has
    /// been seen.
    pub fn restore(&self, mut plan: Plan) {
        let has_done = plan.tasks().any(|task| is_done(task.status));
        if has_done && self.clearing.after().is_some() {
            take_out(&mut plan, |_, _| true);
        }
        lock(&self.stored).plan = plan;
    }

    /// Replaces the plan, publishes it, and begins to wait for what is newly done in it.
    pub fn set(&self, plan: Plan) {
        let has_done = plan.tasks().any(|task| is_done(task.status));
        let after = has_done.then(|| self.clearing.after()).flatten();
        let mut stored = lock(&self.stored);
        let waiting = stored.take_over(plan.clone());
        // Published under the lock, so in the order in which it happened.
        self.hub.publish(EventKind::PlanChanged(Arc::new(plan)));
        // A time that no clock reaches never comes.
        let due = after.and_then(|after| Instant::now().checked_add(after));
        if let (Some(waiting), Some(due)) = (waiting, due) {
            stored.due.push_back((due, waiting));
            if !std::mem::replace(&mut stored.is_waited_for, true) {
                tasks::spawn(tidy(self.hub.clone(), Arc::downgrade(&self.stored)));
            }
        }
    }
}

/// Waits for what is due, one after the other, until nothing is.
async fn tidy(hub: Hub, stored: Weak<Mutex<StoredPlan>>) {
    loop {
        let Some(next) = next_due(&stored) else {
            return;
        };
        tokio::time::sleep_until(next).await;
        let Some(stored) = stored.upgrade() else {
            return;
        };
        let mut stored = lock(&stored);
        let now = Instant::now();
        while let Some((due, waiting)) = stored.due.front().copied()
            && due <= now
        {
            stored.due.pop_front();
            if stored.tidy(waiting) {
                let plan = Arc::new(stored.plan.clone());
                hub.publish(EventKind::PlanChanged(plan));
                hub.publish(EventKind::PlanTidied);
            }
        }
    }
}

/// When the next waiting ends. `None` when nobody need wait any more.
fn next_due(stored: &Weak<Mutex<StoredPlan>>) -> Option<Instant> {
    let stored = stored.upgrade()?;
    let mut stored = lock(&stored);
    let next = stored.due.front().map(|(due, _)| *due);
    stored.is_waited_for = next.is_some();
    next
}

impl StoredPlan {
    /// Returns the number of a waiting if something is done that was not before.
    fn take_over(&mut self, plan: Plan) -> Option<u64> {
        let mut done = HashMap::new();
        let waiting = self.waitings + 1;
        for phase in &plan.phases {
            for task in phase.tasks.iter().filter(|task| is_done(task.status)) {
                let key = (phase.name.clone(), task.content.clone());
                let of = self.done.get(&key).copied().unwrap_or(waiting);
                done.insert(key, of);
            }
        }
        let is_new = done.values().any(|of| *of == waiting);
        let live: HashSet<u64> = done.values().copied().collect();
        self.due.retain(|(_, waiting)| live.contains(waiting));
        self.plan = plan;
        self.done = done;
        is_new.then(|| {
            self.waitings = waiting;
            waiting
        })
    }

    /// Takes out what was waited for and is still done. False when that is nothing.
    fn tidy(&mut self, waiting: u64) -> bool {
        let before = self.done.len();
        self.done.retain(|_, of| *of != waiting);
        if self.done.len() == before {
            return false;
        }
        let done = &self.done;
        take_out(&mut self.plan, |phase, content| {
            !done.contains_key(&(phase.to_owned(), content.to_owned()))
        })
    }
}

/// Takes done tasks out, and phases that nothing is left of. False when there were none.
fn take_out(plan: &mut Plan, is_meant: impl Fn(&str, &str) -> bool) -> bool {
    let mut any = false;
    for PlanPhase { name, tasks } in &mut plan.phases {
        tasks.retain(|task| {
            let goes = is_done(task.status) && is_meant(name, &task.content);
            any |= goes;
            !goes
        });
    }
    if any {
        plan.phases.retain(|phase| !phase.tasks.is_empty());
    }
    any
}

fn is_done(status: PlanStatus) -> bool {
    match status {
        PlanStatus::Completed | PlanStatus::Abandoned => true,
        PlanStatus::Pending | PlanStatus::InProgress | PlanStatus::Blocked => false,
    }
}

fn lock(stored: &Mutex<StoredPlan>) -> MutexGuard<'_, StoredPlan> {
    stored.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::PlanTask;

    fn plan(phases: &[(&str, &[(&str, PlanStatus)])]) -> Plan {
        let phases = phases.iter().map(|(name, tasks)| PlanPhase {
            name: (*name).to_owned(),
            tasks: tasks
                .iter()
                .map(|(content, status)| PlanTask {
                    content: (*content).to_owned(),
                    status: *status,
                })
                .collect(),
        });
        Plan {
            phases: phases.collect(),
        }
    }

    use PlanStatus::{Abandoned, Completed, Pending};

    #[test]
    fn what_is_done_leaves_with_its_waiting_and_takes_empty_phases_along() {
        let mut stored = StoredPlan::default();
        let first = stored.take_over(plan(&[("one", &[("a", Completed), ("b", Pending)])]));
        let second = stored.take_over(plan(&[
            ("one", &[("a", Completed), ("b", Pending)]),
            ("two", &[("c", Abandoned)]),
        ]));
        assert_eq!((first, second), (Some(1), Some(2)));
        assert!(stored.tidy(1));
        let left = plan(&[("one", &[("b", Pending)]), ("two", &[("c", Abandoned)])]);
        assert_eq!(stored.plan, left);
        assert!(stored.tidy(2));
        assert_eq!(stored.plan, plan(&[("one", &[("b", Pending)])]));
        assert!(!stored.tidy(2));
    }

    #[test]
    fn what_was_taken_up_again_stays_until_it_is_done_again() {
        let mut stored = StoredPlan::default();
        assert_eq!(
            stored.take_over(plan(&[("one", &[("a", Completed)])])),
            Some(1)
        );
        assert_eq!(stored.take_over(plan(&[("one", &[("a", Pending)])])), None);
        assert!(!stored.tidy(1));
        assert_eq!(
            stored.take_over(plan(&[("one", &[("a", Completed)])])),
            Some(2)
        );
        assert!(!stored.tidy(1));
        assert!(stored.tidy(2));
        assert_eq!(stored.plan, Plan::default());
    }

    #[test]
    fn nothing_new_is_not_waited_for_again() {
        let mut stored = StoredPlan::default();
        let same = plan(&[("one", &[("a", Completed)])]);
        assert_eq!(stored.take_over(same.clone()), Some(1));
        assert_eq!(stored.take_over(same), None);
    }
}
