//! Attacks on the built program, each of which must come to nothing: what a hostile folder, a
//! hostile model and a hostile server can try.

#[cfg(test)]
mod dialects;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod network;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod web;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
