//! The sandbox of Linux: Landlock for files, seccomp for the network, fewer powers for root.

use super::effective::KernelSupport;
use super::{CannotRestrict, Restrictions};

mod calls;
mod capabilities;
mod files;

/// What this kernel has.
pub(super) fn support() -> KernelSupport {
    KernelSupport {
        landlock: files::version(),
        seccomp: calls::are_filtered(),
    }
}

/// Takes the rights away from this thread and everything it starts. All of it, or an error.
pub(super) fn restrict(restrictions: &Restrictions) -> Result<(), CannotRestrict> {
    capabilities::drop_most()?;
    files::restrict(restrictions)?;
    // Last, because the filter could forbid what the others need.
    calls::restrict(restrictions)
}
