//! Secrets, providers and logins.

mod addresses;
mod counts;
mod echoes;
mod endless;
mod home;
mod login;
mod mcp_listing;
mod no_answers;
mod provider;
mod silent;
