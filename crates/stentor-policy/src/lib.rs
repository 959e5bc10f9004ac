//! The rules that decide whether a tool call may run.
//!
//! In this order:
//!
//! 1. A tool that touches nothing outside the session may run, unless a configured rule names it.
//! 2. Of the configured [`Rule`]s that match the call, the most specific decides; of equally
//!    specific ones deny comes before ask, ask before allow. A rule is more specific when it has a
//!    pattern for the path or command, the more so the more letters the pattern has; then when it
//!    names the tool; then when it names the effect.
//! 3. A denial stands. Otherwise what a person answered with "always" decides, in this session or
//!    in one before, if it was about a call like this one ([`Policy::remember`]).
//! 4. Without any of these the [`PermissionMode`] decides.
//!
//! [`PermissionMode::ReadOnly`] is a promise: no rule and no answer lifts it, and what would be
//! asked is denied. It allows reading inside the folder only. So is a [`PathGuard`]: what the
//! commands of a session are held back from by a sandbox, its other tools are held back from here.
//!
//! [`PermissionMode::Plan`] is the same promise as long as no plan was accepted: nothing changes
//! anything, whatever rules and answers say. What only reads is decided as in
//! [`PermissionMode::Ask`], and so are tools that claim to; commands run that are known to change
//! nothing.
//!
//! A shell command is taken apart and every part must be allowed: see `command`. Denials see what
//! it runs through other programs: see `look_through`; where that cannot be known, a command is
//! asked about if a rule denies or asks for some. A path counts as inside the folder only if
//! it is there after every link and `..`: see `resolve`. A rule for a path is about the paths a
//! call names; a tool that walks a folder leaves out what its [`PathRules`] deny. What a command
//! reads by itself is not seen here.

mod command;
mod here_documents;
mod host_pattern;
mod location;
mod look_through;
mod memory;
mod path_guard;
mod path_rules;
mod pattern;
mod permission;
mod policy;
mod protected_paths;
mod reasons;
mod resolve;
mod rule;
mod scope;
mod shell_words;
mod touches;

pub use memory::{AlwaysAnswers, AnswerStore, InvalidAnswer, RememberedAnswer};
pub use path_guard::{PathGuard, WriteLimit};
pub use path_rules::{DeniedPaths, PathRules};
pub use permission::{Decision, PermissionAnswer, PermissionMode, UnknownPermissionMode};
pub use policy::Policy;
pub use resolve::resolve;
pub use rule::{InvalidRule, Rule, RuleDecision};
pub use touches::{PROVIDER_HOST, ToolEffect, Touches, WebAddress};
