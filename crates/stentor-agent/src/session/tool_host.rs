//! What a running tool may ask of its session.

use std::sync::{Arc, Mutex, PoisonError};

use super::dialogs::Dialogs;
use crate::dialog::Dialog;
use crate::event::EventKind;
use crate::hub::Hub;
use crate::tool::{DialogFuture, Plan, ToolHost};

/// The plan, and the way to tell everybody that it changed.
///
/// The plan needs no entry of its own: the tool that sets it puts it into the details of its
/// result, and a resumed session takes it from there.
pub(super) struct SessionToolHost {
    plan: Mutex<Plan>,
    hub: Hub,
    dialogs: Arc<Dialogs>,
}

impl SessionToolHost {
    pub fn new(hub: Hub, dialogs: Arc<Dialogs>, plan: Plan) -> Self {
        Self {
            plan: Mutex::new(plan),
            hub,
            dialogs,
        }
    }
}

impl ToolHost for SessionToolHost {
    fn plan(&self) -> Plan {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_plan(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan.clone();
        self.hub.publish(EventKind::PlanChanged(Arc::new(plan)));
    }

    fn ask(&self, dialog: Dialog) -> DialogFuture {
        Box::pin(Arc::clone(&self.dialogs).ask(dialog))
    }

    fn publish(&self, event: EventKind) {
        self.hub.publish(event);
    }
}
