//! The guide: a model that needs no network and no key, because it is none.
//!
//! It works by rule, in three parts that know nothing of each other's business: [`understand`]
//! turns what a person wrote into [`Intent`]s, `act` turns an intent into tool calls, `report`
//! turns what came back into Markdown. `answer` puts them together from the conversation alone,
//! so the guide has no state to lose.

mod act;
mod answer;
mod fixed_replies;
mod intent;
mod model;
mod report;
mod speech;
mod summary;
mod understand;

pub use intent::{Intent, Lines, Refusal};
pub use model::{API, GuideModel, MODEL, PROVIDER};
pub use understand::understand;

#[cfg(test)]
mod tests;
