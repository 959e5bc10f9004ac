//! Subagents, as clients see and reach them.

mod control;
mod lifecycle;
