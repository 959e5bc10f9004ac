//! The examples run, each in its dialect.

#[cfg(test)]
mod with_a_child;
