//! What the events of one session need to remember from one to the next on their way out.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{Message, ToolCall};
use stentor_wire::edn::escape_into;
use tokio::time::Instant;

use super::item::CausingRequest;
use super::limits::TOOL_SIGN_OF_LIFE;
use super::live::PsiSession;

/// What was published of one session.
pub(super) struct SessionEncoder {
    pub live: Arc<PsiSession>,
    /// The request that caused what is going on.
    pub cause: CausingRequest,
    /// The visible text of the current model call.
    pub text: GrowingText,
    /// The current thinking block.
    pub thinking: GrowingText,
    /// The arguments of the tool call that is being written, and its id.
    pub arguments: GrowingText,
    pub arguments_of: String,
    /// The last answer of the run that was not published as the final one.
    pub answer: Option<Arc<Message>>,
    /// The answer that failed and is to be had again; if it is not, this is how the run ended.
    pub given_up: Option<Arc<Message>>,
    pub tools: Vec<RunningTool>,
}

/// A text of which every event carries all there is so far.
///
/// It is kept escaped, so that an event costs one copy of it and no work that grows with what was
/// written before. Between two events some time passes; what comes meanwhile goes into the next.
#[derive(Default)]
pub(super) struct GrowingText {
    escaped: Vec<u8>,
    unsent: bool,
    sent: Option<Instant>,
}

/// A tool that is running.
pub(super) struct RunningTool {
    pub call: Arc<ToolCall>,
    pub last: Option<Arc<ToolOutput>>,
    pub shown: Instant,
}

impl SessionEncoder {
    pub fn new(live: Arc<PsiSession>) -> Self {
        Self {
            live,
            cause: None,
            text: GrowingText::default(),
            thinking: GrowingText::default(),
            arguments: GrowingText::default(),
            arguments_of: String::new(),
            answer: None,
            given_up: None,
            tools: Vec::new(),
        }
    }

    /// Another answer begins, or all of this one has been published.
    pub fn forget_texts(&mut self) {
        self.text.restart();
        self.thinking.restart();
        self.arguments.restart();
    }

    /// The next moment at which something must be written though nothing happens.
    pub fn deadline(&self, interval: Duration) -> Option<Instant> {
        let texts = [&self.text, &self.thinking, &self.arguments]
            .into_iter()
            .filter_map(|text| text.due(interval));
        let tools = self.tools.iter().map(RunningTool::due);
        texts.chain(tools).min()
    }
}

impl GrowingText {
    pub fn append(&mut self, text: &str) {
        escape_into(&mut self.escaped, text);
        self.unsent = true;
    }

    /// Begins a new text, whose first event is due at once.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    pub fn is_empty(&self) -> bool {
        self.escaped.is_empty()
    }

    /// Whether there is something in it that no event carried.
    pub fn is_unsent(&self) -> bool {
        self.unsent
    }

    /// When what no event carried must go out at the latest.
    pub fn due(&self, interval: Duration) -> Option<Instant> {
        self.unsent
            .then(|| self.sent.map_or_else(Instant::now, |sent| sent + interval))
    }

    /// Whether it is time.
    pub fn is_due(&self, interval: Duration, now: Instant) -> bool {
        self.unsent && self.sent.is_none_or(|sent| sent + interval <= now)
    }

    /// The content of a string: all there is.
    pub fn take(&mut self, now: Instant) -> &[u8] {
        self.unsent = false;
        self.sent = Some(now);
        &self.escaped
    }
}

impl RunningTool {
    pub fn new(call: Arc<ToolCall>) -> Self {
        Self {
            call,
            last: None,
            shown: Instant::now(),
        }
    }

    pub fn due(&self) -> Instant {
        self.shown + TOOL_SIGN_OF_LIFE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_is_due_at_once_and_later_ones_after_the_interval() {
        let interval = Duration::from_secs(3600);
        let mut text = GrowingText::default();
        let now = Instant::now();
        assert!(text.due(interval).is_none());
        text.append("a\n");
        assert!(text.is_due(interval, Instant::now()));
        assert_eq!(text.take(now), b"a\\n");
        assert!(!text.is_unsent());
        text.append("\"");
        assert!(!text.is_due(interval, now));
        assert_eq!(text.due(interval), Some(now + interval));
        assert_eq!(text.take(now + interval), b"a\\n\\\"");
        text.restart();
        assert!(text.is_empty() && !text.is_unsent());
    }
}
