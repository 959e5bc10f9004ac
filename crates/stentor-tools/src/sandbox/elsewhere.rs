//! Where there is no sandbox.

use super::effective::Support;
use super::{CannotRestrict, Restrictions};

pub(super) fn support() -> Support {
    Support {
        landlock: None,
        seccomp: false,
    }
}

pub(super) fn restrict(_: &Restrictions) -> Result<(), CannotRestrict> {
    Err(CannotRestrict::NoSandbox)
}
