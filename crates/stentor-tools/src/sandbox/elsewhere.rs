//! Where there is no sandbox.

use super::Restrictions;
use super::effective::Support;

pub(super) fn support() -> Support {
    Support {
        landlock: None,
        seccomp: false,
    }
}

pub(super) fn restrict(_: &Restrictions) -> Result<(), String> {
    Err("this system has none".to_owned())
}
