//! System calls that are refused: the network's, and those that reach around Landlock.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use stentor_agent::sandbox::SandboxMode;

use crate::sandbox::{CannotRestrict, Restrictions};

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
pub(super) fn restrict(restrictions: &Restrictions) -> Result<(), CannotRestrict> {
    // What settles the sandbox has asked whether the kernel can; without a network to close there
    // are kernels that cannot, and that was told.
    if restrictions.network && !are_filtered() {
        return Ok(());
    }
    let program = program(restrictions)?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

fn program(restrictions: &Restrictions) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut refused = RefusedCalls::default();
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
        for gap in gaps(HARMLESS_REQUESTS) {
            refused.add(libc::SYS_ioctl, gap?)?;
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

/// The requests to devices and files that a command which changes nothing may make, in order; the
/// numbers are the same on all instruction sets that are filtered. Every file system has requests
/// of its own that change files, so those that are allowed are listed, and not those that are not.
const HARMLESS_REQUESTS: &[RangeInclusive<u32>] = &[
    0x0000_0001..=0x0000_0002, // FIBMAP, FIGETBSZ
    0x0000_125e..=0x0000_125e, // BLKROGET
    0x0000_1260..=0x0000_1260, // BLKGETSIZE
    0x0000_1268..=0x0000_1268, // BLKSSZGET
    0x0000_5400..=0x0000_54ff, // terminals, FIONREAD, FIONBIO, FIOCLEX and FIONCLEX
    0x0000_8904..=0x0000_8905, // SIOCGPGRP, SIOCATMARK
    0x0000_8910..=0x0000_8910, // SIOCGIFNAME
    0x0000_8912..=0x0000_8913, // SIOCGIFCONF, SIOCGIFFLAGS
    0x0000_8915..=0x0000_8915, // SIOCGIFADDR
    0x0000_8917..=0x0000_8917, // SIOCGIFDSTADDR
    0x0000_8919..=0x0000_8919, // SIOCGIFBRDADDR
    0x0000_891b..=0x0000_891b, // SIOCGIFNETMASK
    0x0000_891d..=0x0000_891d, // SIOCGIFMETRIC
    0x0000_8921..=0x0000_8921, // SIOCGIFMTU
    0x0000_8927..=0x0000_8927, // SIOCGIFHWADDR
    0x0000_8933..=0x0000_8933, // SIOCGIFINDEX
    0x0000_8942..=0x0000_8942, // SIOCGIFTXQLEN
    0x0000_b701..=0x0000_b704, // the kinds and owners of namespaces
    0x4004_5431..=0x4004_5431, // TIOCSPTLCK
    0x4004_5436..=0x4004_5436, // TIOCSIG
    0x4004_9409..=0x4004_9409, // FICLONE, into a file that is open for writing
    0x402c_542b..=0x402c_542d, // TCSETS2 and the like
    0x8004_5200..=0x8004_5200, // RNDGETENTCNT
    0x8004_5430..=0x8004_5430, // TIOCGPTN
    0x8004_5432..=0x8004_5432, // TIOCGDEV
    0x8004_5438..=0x8004_5440, // TIOCGPKT, TIOCGPTLCK, TIOCGEXCL
    0x8004_6601..=0x8004_6601, // FS_IOC32_GETFLAGS
    0x8008_1270..=0x8008_1270, // BLKBSZGET
    0x8008_1272..=0x8008_1272, // BLKGETSIZE64
    0x8008_6601..=0x8008_6601, // FS_IOC_GETFLAGS
    0x8008_7601..=0x8008_7601, // FS_IOC_GETVERSION
    0x801c_581f..=0x801c_581f, // FS_IOC_FSGETXATTR
    0x802c_542a..=0x802c_542a, // TCGETS2
    0x8100_9431..=0x8100_9431, // FS_IOC_GETFSLABEL
    0xc020_660b..=0xc020_660b, // FS_IOC_FIEMAP
];

/// For each gap between the ranges, and before and after them, what is true of a request in it.
fn gaps(
    ranges: &[RangeInclusive<u32>],
) -> impl Iterator<Item = Result<Vec<SeccompCondition>, seccompiler::BackendError>> {
    let starts = ranges.iter().map(|range| Some(*range.start()));
    let ends = ranges.iter().map(|range| Some(*range.end()));
    let after = std::iter::once(None).chain(ends);
    let before = starts.chain(std::iter::once(None));
    after.zip(before).map(|(after, before)| {
        let after = after.map(|end| request(SeccompCmpOp::Gt, end));
        let before = before.map(|start| request(SeccompCmpOp::Lt, start));
        after.into_iter().chain(before).collect()
    })
}

fn request(
    comparison: SeccompCmpOp,
    value: u32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The kernel looks at the lower half only.
    SeccompCondition::new(1, SeccompCmpArgLen::Dword, comparison, value.into())
}

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
struct RefusedCalls {
    calls: BTreeMap<i64, Vec<SeccompRule>>,
}

impl RefusedCalls {
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
