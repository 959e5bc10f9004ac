//! The guide as a model.

use std::sync::Arc;

use futures_util::stream;
use stentor_agent::model::{InputKind, Model, ModelInfo, ModelRequest, ModelStream, Purpose};
use stentor_journal::usage::Prices;

use super::answer::{self, GuideAnswer};
use super::{speech, summary};

/// The provider of the guide.
pub const PROVIDER: &str = "offline";

/// The id of the guide.
pub const MODEL: &str = "guide";

/// The wire of the guide, which is none.
pub const API: &str = "offline";

/// The model that is used when no other can be.
#[derive(Debug, Clone)]
pub struct GuideModel {
    info: Arc<ModelInfo>,
}

impl GuideModel {
    /// The guide.
    pub fn new() -> Self {
        Self {
            info: Arc::new(ModelInfo {
                id: MODEL.to_owned(),
                name: "Offline guide".to_owned(),
                api: API.to_owned(),
                provider: PROVIDER.to_owned(),
                base_url: String::new(),
                reasoning: true,
                input: vec![InputKind::Text],
                cost: Some(Prices::default()),
                context_window: 200_000,
                max_tokens: 32_000,
                thinking_levels: Vec::new(),
                modes: Vec::new(),
            }),
        }
    }
}

impl Default for GuideModel {
    fn default() -> Self {
        Self::new()
    }
}

impl Model for GuideModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let answer = match request.purpose {
            Purpose::Turn | Purpose::WebSearch => answer::answer(&request),
            Purpose::Compaction => GuideAnswer {
                text: summary::summarise(&request.messages),
                ..GuideAnswer::default()
            },
        };
        let events = speech::events(answer, chars_of(&request));
        Box::pin(stream::iter(events.into_iter().map(Ok)))
    }
}

/// The length of a request, which stands for its tokens.
fn chars_of(request: &ModelRequest) -> u64 {
    let messages = request.messages.iter();
    let lengths = messages.map(|one| serde_json::to_string(one).map_or(0, |text| text.len()));
    (request.system.len() + lengths.sum::<usize>()) as u64
}
