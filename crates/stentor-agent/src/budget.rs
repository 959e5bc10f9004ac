//! Hard limits of a session.

use stentor_journal::usage::Usage;

/// Hard limits of a session. Reaching one ends the run with a clear reason.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
    /// Model calls.
    pub turns: Option<u64>,
}

impl Budget {
    /// What is left of it when this much is used.
    pub fn left_after(self, usage: &Usage, turns: u64) -> Self {
        Self {
            tokens: self
                .tokens
                .map(|most| most.saturating_sub(usage.total_tokens)),
            cost: self.cost.map(|most| (most - usage.cost.total).max(0.0)),
            turns: self.turns.map(|most| most.saturating_sub(turns)),
        }
    }

    /// The smaller of each limit. Model calls are not compared: each session counts its own.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            cost: self.cost.into_iter().chain(other.cost).reduce(f64::min),
            turns: self.turns,
        }
    }

    /// Whether this, which is what is left, is no tokens or no money.
    pub fn is_spent(self) -> bool {
        self.tokens == Some(0) || self.cost.is_some_and(|dollars| dollars <= 0.0)
    }
}
