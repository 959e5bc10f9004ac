//! The operations a client may ask for (section 9 of the reference).

macro_rules! ops {
    ($($variant:ident $name:literal,)*) => {
        /// An operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Op {
            $($variant,)*
        }

        impl Op {
            /// All of them, as an unknown operation is answered with.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

ops! {
    Handshake "handshake",
    Ping "ping",
    Subscribe "subscribe",
    Unsubscribe "unsubscribe",
    QueryEql "query_eql",
    GetState "get_state",
    GetMessages "get_messages",
    GetSessionStats "get_session_stats",
    ListSessions "list_sessions",
    Prompt "prompt",
    PromptWhileStreaming "prompt_while_streaming",
    Steer "steer",
    FollowUp "follow_up",
    Interrupt "interrupt",
    Abort "abort",
    AbortRetry "abort_retry",
    Command "command",
    FrontendActionResult "frontend_action_result",
    NewSession "new_session",
    SwitchSession "switch_session",
    Fork "fork",
    SetSessionName "set_session_name",
    SetModel "set_model",
    CycleModel "cycle_model",
    SetThinkingLevel "set_thinking_level",
    CycleThinkingLevel "cycle_thinking_level",
    Compact "compact",
    SetAutoCompaction "set_auto_compaction",
    SetAutoRetry "set_auto_retry",
    LoginBegin "login_begin",
    LoginComplete "login_complete",
    ResolveDialog "resolve_dialog",
    CancelDialog "cancel_dialog",
    ListBackgroundJobs "list_background_jobs",
    InspectBackgroundJob "inspect_background_job",
    CancelBackgroundJob "cancel_background_job",
    Bash "bash",
    AbortBash "abort_bash",
    ExportHtml "export_html",
    GetForkMessages "get_fork_messages",
    GetLastAssistantText "get_last_assistant_text",
    GetCommands "get_commands",
    GetAvailableModels "get_available_models",
}

impl Op {
    /// The operation of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.as_str() == name)
    }

    /// Whether a request may name the session it is meant for (section 7).
    pub fn takes_session(self) -> bool {
        !matches!(
            self,
            Self::Handshake | Self::Ping | Self::LoginComplete | Self::Unsubscribe
        )
    }
}
