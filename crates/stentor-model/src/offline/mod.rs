//! The guide: a model that needs no network and no key, because it is none.
//!
//! It works by rule: [`request`] finds what a person wants in a small table of verbs, `steps` turns
//! that into tool calls, `report` turns what came back into Markdown. `answer` puts them together
//! from the conversation alone, so the guide has no state to lose. What it does not understand it
//! does not guess: it names the next steps instead (`replies`).

mod answer;
mod markdown;
mod model;
mod outline;
mod prompt_words;
mod replies;
mod report;
mod request;
mod speech;
mod steps;
mod summary;

pub use model::{API, GuideModel, MODEL, PROVIDER};

#[cfg(test)]
mod tests;
