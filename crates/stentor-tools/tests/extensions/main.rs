//! Extensions as real processes in a real session.

#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod working;
