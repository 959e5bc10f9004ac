//! What a user plugs in, seen through every dialect of the built program: extensions, templates,
//! skills and agents.

#[cfg(test)]
mod acp_subagents;
#[cfg(test)]
mod asking_back;
#[cfg(test)]
mod background;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod failing_disk;
#[cfg(test)]
mod fallback;
#[cfg(test)]
mod features;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod hanging;
#[cfg(test)]
mod held_back;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod many_calls;
#[cfg(test)]
mod mcp_asks;
#[cfg(all(test, target_os = "linux"))]
mod memory;
#[cfg(test)]
mod plan_mode;
#[cfg(test)]
mod plan_mode_kept;
#[cfg(test)]
mod rewind;
#[cfg(test)]
mod rewind_background;
#[cfg(test)]
mod rewind_outside;
#[cfg(test)]
mod server_tools;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod subagent_usage;
#[cfg(test)]
mod unreadable_line;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
