//! The built program over real pipes, with the scripted model and the guide.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod asking_back;
#[cfg(test)]
mod checked_result;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod dialects;
#[cfg(test)]
mod documentation;
#[cfg(test)]
mod extensions;
#[cfg(test)]
mod finding_ones_way;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_login;
#[cfg(test)]
mod mcp_network;
#[cfg(test)]
mod mcp_serve;
#[cfg(test)]
mod models;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod prompt_caching;
#[cfg(test)]
mod pty;
#[cfg(test)]
mod rewind;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod terminal_commands;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod world;
