//! Where there is no sandbox.

use super::effective::KernelSupport;
use super::{CannotRestrict, Restrictions};

pub(super) fn support() -> KernelSupport {
    KernelSupport {
        landlock: None,
        seccomp: false,
    }
}

pub(super) fn restrict(_: &Restrictions) -> Result<(), CannotRestrict> {
    Err(CannotRestrict::NoSandbox)
}
