//! A home and a folder of their own for the built program, in whichever dialect.

use std::ops::Deref;

use stentor_test_support::dialects;

pub use stentor_test_support::dialects::Child;

/// A temporary home with a working folder beside it.
pub struct World {
    world: dialects::World,
}

impl World {
    /// One whose model plays `scenario` and whose user has this configuration.
    pub fn new(scenario: &str, config: &str) -> Self {
        Self {
            world: dialects::World::new(env!("CARGO_BIN_EXE_stentor"), scenario, config),
        }
    }
}

impl Deref for World {
    type Target = dialects::World;

    fn deref(&self) -> &dialects::World {
        &self.world
    }
}
