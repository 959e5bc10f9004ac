//! The program as psi's frontend starts it: real processes, real pipes. Every frame that any of the
//! tests sees is checked as the frontend would.

#[cfg(test)]
mod backend;
#[cfg(test)]
mod child;
#[cfg(test)]
mod keeping;
#[cfg(test)]
mod login;
#[cfg(test)]
mod many_sessions;
#[cfg(test)]
mod models;
#[cfg(test)]
mod ordering;
#[cfg(test)]
mod provider;
