//! Extensions as real processes in a real session.

mod examples;
mod faults;
mod stage;
mod working;
