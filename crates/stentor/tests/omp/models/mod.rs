//! Which model is asked, and how one logs in to it.

mod choosing;
mod fallback;
mod login;
