//! Frontends that drive the program over stdin and stdout, each in its own dialect.

pub mod omp;
