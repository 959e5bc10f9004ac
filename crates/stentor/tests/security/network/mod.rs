//! Secrets, providers and logins.
