//! What a model call consumed and what it cost.

use serde::{Deserialize, Serialize};

/// Tokens and cost of one model call, or a sum of several.
///
/// `input` counts only uncached prompt tokens: cache reads and writes have their own fields and are
/// never included in it, whatever the provider's own counting is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `cache_write` with a lifetime of five minutes. `None` means unknown, not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<u64>,
    /// The part of `cache_write` with a lifetime of one hour. `None` means unknown, not zero.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` spent on reasoning, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    pub total_tokens: u64,
    /// How full the context is, where whoever answered says so: an agent that asks its model several
    /// times in one answer.
    #[serde(rename = "contextTokens", skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    pub cost: Cost,
}

/// US dollars, by kind of token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    #[serde(serialize_with = "plain_number")]
    pub input: f64,
    #[serde(serialize_with = "plain_number")]
    pub output: f64,
    #[serde(serialize_with = "plain_number")]
    pub cache_read: f64,
    #[serde(serialize_with = "plain_number")]
    pub cache_write: f64,
    #[serde(serialize_with = "plain_number")]
    pub total: f64,
    /// True when some of it was consumed at a price nobody knows: it cost at least this much.
    #[serde(rename = "unknown", skip_serializing_if = "std::ops::Not::not")]
    pub is_unknown: bool,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    #[serde(serialize_with = "plain_number")]
    pub input: f64,
    #[serde(serialize_with = "plain_number")]
    pub output: f64,
    #[serde(serialize_with = "plain_number")]
    pub cache_read: f64,
    #[serde(serialize_with = "plain_number")]
    pub cache_write: f64,
}

/// What a call is taken to have counted at most: a provider, another agent or a session file may
/// say any number, and what is calculated with it must stay one, in clients' JSON too.
const MOST_TOKENS: u64 = 1 << 53;

impl Usage {
    /// Fills in `total_tokens` and `cost` from the counts. Without prices the cost is unknown.
    ///
    /// One-hour cache writes cost twice the input price at the providers that have them; the
    /// catalogue's `cache_write` is the five-minute price.
    #[must_use]
    pub fn priced(mut self, prices: Option<&Prices>) -> Self {
        self.total_tokens = self.all_tokens();
        let Some(prices) = prices else {
            // Whoever was asked may know what it cost: an agent with prices of its own.
            if self.cost.total > 0.0 {
                return self;
            }
            self.cost = Cost {
                is_unknown: !self.is_zero(),
                ..Cost::default()
            };
            return self;
        };
        let dollars = |tokens: u64, price: f64| price / 1_000_000.0 * tokens as f64;
        let long = self.cache_write_1h.unwrap_or(0).min(self.cache_write);
        let cost = Cost {
            input: dollars(self.input, prices.input),
            output: dollars(self.output, prices.output),
            cache_read: dollars(self.cache_read, prices.cache_read),
            cache_write: dollars(self.cache_write - long, prices.cache_write)
                + dollars(long, prices.input * 2.0),
            ..Cost::default()
        };
        self.cost = Cost {
            total: cost.input + cost.output + cost.cache_read + cost.cache_write,
            ..cost
        };
        self
    }

    /// All that was counted, at most [`MOST_TOKENS`].
    pub fn all_tokens(&self) -> u64 {
        let all = self.tokens_in().saturating_add(self.output);
        all.min(MOST_TOKENS)
    }

    /// What a model was given, from its cache or not.
    pub fn tokens_in(&self) -> u64 {
        self.new_tokens_in().saturating_add(self.cache_read)
    }

    /// What a model was given that was not in its cache.
    pub fn new_tokens_in(&self) -> u64 {
        self.input.saturating_add(self.cache_write)
    }

    /// Adds another call's usage. A cache split stays unknown until some call reports one.
    pub fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        add_known(&mut self.cache_write_5m, other.cache_write_5m);
        add_known(&mut self.cache_write_1h, other.cache_write_1h);
        add_known(&mut self.reasoning, other.reasoning);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
        self.cost.is_unknown |= other.cost.is_unknown;
    }

    /// How much of the context window the call filled, its answer included.
    pub fn context_tokens(&self) -> u64 {
        if let Some(tokens) = self.context {
            tokens.min(MOST_TOKENS)
        } else if self.total_tokens > 0 {
            self.total_tokens.min(MOST_TOKENS)
        } else {
            self.all_tokens()
        }
    }

    /// True when nothing at all was consumed. Other agents may report what they cost and no tokens.
    pub fn is_zero(&self) -> bool {
        let has_tokens = [self.input, self.output, self.cache_read, self.cache_write]
            .iter()
            .any(|tokens| *tokens > 0);
        !has_tokens && self.cost.total == 0.0
    }
}

impl Cost {
    /// The total for a person, with so many digits behind the point: `$0.0123`, `unknown`, or
    /// `at least $0.0123` when only a part is known.
    pub fn in_words(&self, digits: usize) -> String {
        let total = self.total;
        match self.is_unknown {
            false => format!("${total:.digits$}"),
            true if total > 0.0 => format!("at least ${total:.digits$}"),
            true => "unknown".to_owned(),
        }
    }
}

/// A number of tokens for a narrow place: `12.3k`.
pub fn short_count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1_000.0),
        _ => format!("{:.1}M", tokens as f64 / 1_000_000.0),
    }
}

fn add_known(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// Whole dollars are written without a fraction (`3`, not `3.0`), as the session format has them.
pub fn plain_number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be whole and in range"
        )]
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
    };

    #[test]
    fn cost_is_tokens_times_price_for_each_kind() {
        let usage = Usage {
            input: 100,
            output: 25,
            ..Usage::default()
        }
        .priced(Some(&PRICES));
        assert_eq!(usage.total_tokens, 125);
        assert!((usage.cost.total - 0.000_675).abs() < 1e-12);
        let cached = Usage {
            cache_read: 1_000_000,
            cache_write: 2_000_000,
            ..Usage::default()
        };
        let cached = cached.priced(Some(&PRICES));
        assert!((cached.cost.total - (0.3 + 7.5)).abs() < 1e-9);
    }

    #[test]
    fn without_prices_the_cost_is_unknown_and_stays_so_in_a_sum() {
        let some = Usage {
            input: 1_000_000,
            ..Usage::default()
        };
        assert_eq!(some.priced(None).cost.in_words(2), "unknown");
        assert_eq!(Usage::default().priced(None).cost.in_words(2), "$0.00");
        let mut sum = some.priced(Some(&PRICES));
        assert_eq!(sum.cost.in_words(2), "$3.00");
        sum.add(&some.priced(None));
        assert_eq!(sum.cost.in_words(2), "at least $3.00");
        let text = serde_json::to_string(&sum.cost).unwrap();
        assert_eq!(
            text,
            r#"{"input":3,"output":0,"cacheRead":0,"cacheWrite":0,"total":3,"unknown":true}"#
        );
    }

    #[test]
    fn one_hour_cache_writes_cost_twice_the_input_price() {
        let usage = Usage {
            cache_write: 2_000_000,
            cache_write_5m: Some(1_000_000),
            cache_write_1h: Some(1_000_000),
            ..Usage::default()
        };
        assert!((usage.priced(Some(&PRICES)).cost.cache_write - (3.75 + 6.0)).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_cache_split_stays_unknown_until_one_call_reports_it() {
        let mut sum = Usage::default();
        sum.add(&Usage {
            cache_write: 5,
            ..Usage::default()
        });
        assert_eq!(sum.cache_write_5m, None);
        sum.add(&Usage {
            cache_write: 5,
            cache_write_5m: Some(5),
            ..Usage::default()
        });
        assert_eq!((sum.cache_write, sum.cache_write_5m), (10, Some(5)));
    }

    #[test]
    fn whole_dollars_are_written_without_a_fraction() {
        let text = serde_json::to_string(&Cost {
            input: 3.0,
            total: 0.5,
            ..Cost::default()
        });
        assert_eq!(
            text.unwrap(),
            r#"{"input":3,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}"#
        );
    }
}
