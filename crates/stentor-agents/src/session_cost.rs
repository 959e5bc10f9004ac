//! What a child's session costs, where the child reports the sum so far instead of each part.

/// Sums that differ by less are the same: they were added up in another order.
const SAME_USD: f64 = 1e-9;

/// How much of a child's sum has been counted.
#[derive(Debug, Default)]
pub(crate) struct SessionCost {
    counted: f64,
    /// The child has reported its sum in this turn.
    is_reported: bool,
}

impl SessionCost {
    /// Of a session that goes on, in which so much was counted already.
    pub fn after(counted: f64) -> Self {
        Self {
            counted,
            is_reported: false,
        }
    }

    /// What was spent since the last report. A sum that is less than that begins anew.
    pub fn spent(&mut self, sum: f64) -> f64 {
        let sum = sum.max(0.0);
        let begins_anew = sum < self.counted - SAME_USD;
        let before = if begins_anew { 0.0 } else { self.counted };
        self.counted = sum;
        self.is_reported = true;
        (sum - before).max(0.0)
    }

    /// The turn is over: whether its cost has been counted by sums.
    pub fn end_turn(&mut self) -> bool {
        std::mem::take(&mut self.is_reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_sum_is_counted_once() {
        let mut cost = SessionCost::default();
        assert!(!cost.end_turn());
        assert_eq!(cost.spent(0.25), 0.25);
        assert_eq!(cost.spent(0.25), 0.0);
        assert_eq!(cost.spent(0.75), 0.5);
        assert_eq!(cost.spent(-5.0), 0.0);
        assert_eq!(cost.spent(0.75), 0.75);
        assert!(cost.end_turn());
        assert!(!cost.end_turn());
    }

    #[test]
    fn a_session_that_goes_on_counts_only_what_is_new_even_if_its_sum_begins_anew() {
        assert_eq!(SessionCost::after(0.5).spent(0.75), 0.25);
        assert_eq!(SessionCost::after(0.1 + 0.2).spent(0.3), 0.0);
        assert_eq!(SessionCost::after(0.5).spent(0.25), 0.25);
    }
}
