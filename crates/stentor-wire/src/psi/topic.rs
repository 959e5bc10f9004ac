//! The events a client may hear of (section 10 of the reference).

macro_rules! topics {
    ($($variant:ident $name:literal [$($key:literal)*],)*) => {
        /// What an event is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Topic {
            $($variant,)*
        }

        impl Topic {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The keys that its payload always has, if only with `nil`.
            pub fn required_keys(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($key),*],)*
                }
            }
        }
    };
}

topics! {
    AssistantDelta "assistant/delta" ["text"],
    AssistantMessage "assistant/message" ["role" "content"],
    AssistantThinkingDelta "assistant/thinking-delta" ["text"],
    CommandResult "command-result" ["type"],
    ContextUpdated "context/updated" ["active-session-id" "sessions"],
    Error "error" ["error-code" "error-message"],
    FooterUpdated "footer/updated" ["path-line" "stats-line"],
    SessionRehydrated "session/rehydrated" ["messages" "tool-calls" "tool-order"],
    SessionResumed "session/resumed" ["session-id" "session-file" "message-count"],
    SessionUpdated "session/updated" [
        "session-id" "phase" "is-streaming" "is-compacting" "pending-message-count" "retry-attempt"
        "interrupt-pending" "retry" "retry-deadline-ms"
    ],
    ToolDelta "tool/delta" ["tool-id" "arguments"],
    ToolExecuting "tool/executing" ["tool-id" "tool-name"],
    ToolResult "tool/result" ["tool-id" "tool-name" "content" "result-text" "is-error"],
    ToolStart "tool/start" ["tool-id" "tool-name"],
    ToolUpdate "tool/update" ["tool-id" "tool-name" "content" "result-text" "is-error"],
    DialogRequested "ui/dialog-requested" ["dialog-id" "kind" "title"],
    FrontendActionRequested "ui/frontend-action-requested" ["request-id" "ui/action"],
    Notification "ui/notification" ["id" "message" "level"],
    StatusUpdated "ui/status-updated" ["statuses"],
    WidgetSpecsUpdated "ui/widget-specs-updated" [],
    WidgetsUpdated "ui/widgets-updated" ["widgets"],
}

impl Topic {
    /// The topic of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|topic| topic.as_str() == name)
    }

    /// Whether subscribing to it asks for a snapshot of what the user interface shows (section
    /// 9.1, step 2).
    pub fn is_ui(self) -> bool {
        matches!(
            self,
            Self::DialogRequested
                | Self::WidgetsUpdated
                | Self::WidgetSpecsUpdated
                | Self::StatusUpdated
                | Self::Notification
        )
    }

    /// Whether its events of other sessions than the focused one are held back (section 7). A
    /// command's result goes to who gave the command, wherever the focus is by then.
    pub fn is_gated(self) -> bool {
        matches!(
            self,
            Self::SessionUpdated
                | Self::SessionResumed
                | Self::SessionRehydrated
                | Self::AssistantDelta
                | Self::AssistantThinkingDelta
                | Self::AssistantMessage
                | Self::ToolStart
                | Self::ToolDelta
                | Self::ToolExecuting
                | Self::ToolUpdate
                | Self::ToolResult
                | Self::FooterUpdated
        )
    }
}

/// The topics a connection subscribed to. None at all means: everything (section 8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TopicSet(u32);

impl TopicSet {
    /// Subscribes to a topic.
    pub fn add(&mut self, topic: Topic) {
        self.0 |= bit(topic);
    }

    /// Takes a topic away. Without any left, everything is sent again.
    pub fn remove(&mut self, topic: Topic) {
        self.0 &= !bit(topic);
    }

    /// Takes all topics away, so that everything is sent.
    pub fn clear(&mut self) {
        self.0 = 0;
    }

    /// Whether the topic was named, rather than covered because none was.
    pub fn names(self, topic: Topic) -> bool {
        self.0 & bit(topic) != 0
    }

    /// Whether an event of the topic goes out in answer to something.
    ///
    /// `tool/delta` only goes to those who name it: the frontend does not know it (section 10.9).
    pub fn covers(self, topic: Topic) -> bool {
        self.names(topic) || (self.0 == 0 && topic != Topic::ToolDelta)
    }

    /// Whether changes that nobody asked for are told: only to who named such a topic (section 8).
    pub fn wants_projections(self, topic: Topic) -> bool {
        self.names(topic)
    }

    /// The names, sorted.
    pub fn names_sorted(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Topic::ALL
            .iter()
            .filter(|topic| self.names(**topic))
            .map(|topic| topic.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

fn bit(topic: Topic) -> u32 {
    1 << (topic as u32)
}
