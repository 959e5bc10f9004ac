//! What a child asks while it is checked: noted, and refused.

use std::collections::HashSet;
use std::future::ready;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_client::{
    AgentQuestion, Feature, Host, HostAnswer, HostFuture, HostOffers, HostPermissionAnswer,
    HostRefusal, OpenCall, Permission, PermissionKind, TerminalRequest,
};

/// Why nothing is done for the child.
const WHY: &str = "this is only a check: nothing is read, written or run";

/// The features that a child has used by asking for something.
#[derive(Debug, Clone, Default)]
pub(super) struct AskedFeatures(Arc<Mutex<HashSet<Feature>>>);

impl AskedFeatures {
    /// Those so far.
    pub fn so_far(&self) -> HashSet<Feature> {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }

    fn note(&self, feature: Feature) {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(feature);
    }
}

/// Offers everything, so that the child asks for it, and does nothing.
pub(super) struct RefusingHost(pub AskedFeatures);

impl RefusingHost {
    fn refuse<T: Send + 'static>(&self) -> HostFuture<'_, Result<T, HostRefusal>> {
        self.0.note(Feature::HostTools);
        Box::pin(ready(Err(HostRefusal::Because(WHY.to_owned()))))
    }
}

impl Host for RefusingHost {
    fn offers(&self) -> HostOffers {
        HostOffers {
            read_files: true,
            write_files: true,
            terminals: true,
            questions: true,
        }
    }

    fn permission(&self, permission: Permission) -> HostFuture<'_, HostPermissionAnswer> {
        self.0.note(match permission.is_choice() {
            true => Feature::Questions,
            false => Feature::Permissions,
        });
        // A refusal that the agent remembers would outlast the check.
        let refusal = permission.option(PermissionKind::RejectOnce);
        Box::pin(ready(
            refusal.map_or(HostPermissionAnswer::Cancelled, |refusal| {
                HostPermissionAnswer::Selected(refusal.id.clone())
            }),
        ))
    }

    fn question(&self, _: AgentQuestion) -> HostFuture<'_, HostAnswer> {
        self.0.note(Feature::Questions);
        Box::pin(ready(HostAnswer::Cancelled))
    }

    fn read_text_file(
        &self,
        _: Option<OpenCall>,
        _: PathBuf,
        _: Option<u64>,
        _: Option<u64>,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        self.refuse()
    }

    fn write_text_file(
        &self,
        _: Option<OpenCall>,
        _: PathBuf,
        _: String,
    ) -> HostFuture<'_, Result<(), HostRefusal>> {
        self.refuse()
    }

    fn terminal_create(&self, _: TerminalRequest) -> HostFuture<'_, Result<String, HostRefusal>> {
        self.refuse()
    }
}
