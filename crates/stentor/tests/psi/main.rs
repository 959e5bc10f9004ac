//! The program as psi's frontend starts it: real processes, real pipes.

#[cfg(test)]
mod backend;
