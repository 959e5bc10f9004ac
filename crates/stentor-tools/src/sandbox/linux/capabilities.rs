//! Root without the powers that reach around a sandbox.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::sandbox::CannotRestrict;

/// What root keeps: all that is about files and processes as such. Gone are, among others, loading
/// kernel modules, raw devices, tracing others, opening files by handle, and the system's clock.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops all others. They do not come back with a program that is run, because the process has
/// `no_new_privs` by then, as Landlock and seccomp demand.
pub(super) fn drop_most() -> Result<(), CannotRestrict> {
    let held = capabilities(None).map_err(CannotRestrict::Capabilities)?;
    let kept = CapabilitySets {
        effective: held.effective & KEPT,
        permitted: held.permitted & KEPT,
        inheritable: held.inheritable & KEPT,
    };
    set_capabilities(None, kept).map_err(CannotRestrict::Capabilities)
}
