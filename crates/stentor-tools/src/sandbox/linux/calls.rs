//! System calls that are refused: the network's, and those that reach around Landlock.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use stentor_agent::sandbox::SandboxMode;

use crate::sandbox::Restrictions;

/// What the kernel can do with a filtered call, a word each.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// Whether this kernel filters calls as it is done here.
pub(super) fn are_filtered() -> bool {
    let actions = std::fs::read_to_string(ACTIONS).unwrap_or_default();
    let known = TargetArch::try_from(std::env::consts::ARCH).is_ok();
    known && actions.split_whitespace().any(|action| action == "errno")
}

/// Refuses the calls from now on. A program for another instruction set than ours, whose calls
/// have other numbers, is killed at its first call.
pub(super) fn restrict(restrictions: &Restrictions) -> Result<(), String> {
    // What settles the sandbox has asked whether the kernel can; without a network to close there
    // are kernels that cannot, and that was told.
    if restrictions.network && !are_filtered() {
        return Ok(());
    }
    let program = program(restrictions).map_err(|error| format!("seccomp: {error}"))?;
    seccompiler::apply_filter(&program).map_err(|error| format!("seccomp: {error}"))
}

fn program(restrictions: &Restrictions) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut refused = Refused::default();
    // Typing into the terminal that stentor runs in, which is a way to have anything run there.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        refused.add(libc::SYS_ioctl, vec![argument_is(1, request)?])?;
    }
    // A second way to do nearly every call, unseen by this filter.
    refused.add(IO_URING_SETUP, Vec::new())?;
    if !restrictions.network {
        // No socket of any kind can be made, so none connects. A pair that is born connected leads
        // nowhere else; programs use it to talk to their own children.
        refused.add(libc::SYS_socket, Vec::new())?;
        refused.add(
            libc::SYS_socketpair,
            vec![argument_is_not(0, libc::AF_UNIX.cast_unsigned())?],
        )?;
        // One for datagrams is not bound to its pair: it can send to any address.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            refused.add(libc::SYS_socketpair, vec![socket_kind_is(kind)?])?;
        }
    }
    if restrictions.mode == SandboxMode::ReadOnly {
        // Landlock does not see these. Where something may be written they are needed.
        for number in CHANGE_ATTRIBUTES.iter().chain(OLDER_CHANGE_ATTRIBUTES) {
            refused.add(*number, Vec::new())?;
        }
        for request in CHANGE_FLAGS {
            refused.add(libc::SYS_ioctl, vec![argument_is(1, *request)?])?;
        }
        // What these make stays when the command is gone.
        for number in MAKE_LASTING {
            refused.add(*number, Vec::new())?;
        }
    }
    let filter = SeccompFilter::new(
        refused.calls,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    filter.try_into()
}

// Calls since Linux 5.1 have the same number everywhere.
const IO_URING_SETUP: i64 = 425;
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Modes, owners, times and extended attributes.
const CHANGE_ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// Flags of files and the like, each by a request of its own; the numbers are the same everywhere.
const CHANGE_FLAGS: &[libc::Ioctl] = &[
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x4008_7602, // FS_IOC_SETVERSION
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4004_7211, // FAT_IOCTL_SET_ATTRIBUTES
];

/// Memory, semaphores, queues and keys that outlive whoever made them.
const MAKE_LASTING: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// The same, by calls that newer instruction sets do without.
#[cfg(target_arch = "x86_64")]
const OLDER_CHANGE_ATTRIBUTES: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CHANGE_ATTRIBUTES: &[i64] = &[];

/// On this instruction set every call has a second number, for programs with short pointers.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBER: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBER: Option<i64> = None;

/// The calls that are refused, each always or under conditions.
#[derive(Default)]
struct Refused {
    calls: BTreeMap<i64, Vec<SeccompRule>>,
}

impl Refused {
    /// Refuses a call when all conditions hold. Without any it is refused always.
    fn add(
        &mut self,
        number: i64,
        conditions: Vec<SeccompCondition>,
    ) -> Result<(), seccompiler::BackendError> {
        for bit in std::iter::once(0).chain(SECOND_NUMBER) {
            let rules = self.calls.entry(number | bit).or_default();
            if !conditions.is_empty() {
                rules.push(SeccompRule::new(conditions.clone())?);
            }
        }
        Ok(())
    }
}

fn argument_is(
    index: u8,
    value: libc::Ioctl,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The kernel looks at the lower half only.
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn argument_is_not(index: u8, value: u32) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(
        index,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Ne,
        value.into(),
    )
}

fn socket_kind_is(kind: libc::c_int) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The bits above say how the descriptor behaves.
    const KIND: u64 = 0xf;
    SeccompCondition::new(
        1,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(KIND),
        u64::from(kind.cast_unsigned()),
    )
}
