//! What each dialect has words for: one table, from which the documentation is written and by
//! which requests are refused.

use crate::dialect::AgentDialect;

/// Something one may want of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A prompt with pictures.
    Pictures,
    /// Its thinking as it comes.
    Thinking,
    /// The arguments of its tool calls.
    ToolInput,
    /// The output of a tool while it runs.
    ToolProgress,
    /// Calls and answers while another call runs, such as those of subagents.
    NestedCalls,
    /// Whether a tool failed.
    ToolErrors,
    /// The change a tool made to a file.
    Diffs,
    /// What a call does, in words for people.
    ToolTitles,
    /// The places in files that a call is about.
    ToolLocations,
    /// Pictures in its answers.
    AnswerPictures,
    /// Its plan.
    Plan,
    /// What its turns consume.
    Usage,
    /// What its turns cost.
    Cost,
    /// How full its context is.
    ContextFill,
    /// What it calls the conversation.
    SessionTitle,
    /// A message for the turn that runs.
    Steer,
    /// A message for after the turn that runs.
    FollowUp,
    /// Turns that it begins by itself, because a job of its own has ended.
    OwnTurns,
    /// Stopping a turn.
    Abort,
    /// Its permission questions.
    Permissions,
    /// Its other questions.
    Questions,
    /// Another model.
    Models,
    /// Another mode.
    Modes,
    /// How long it thinks.
    ThinkingLevel,
    /// A new session in the same process.
    NewSession,
    /// The list of its sessions.
    ListSessions,
    /// Going on with one of its sessions.
    Resume,
    /// Going on with one of its sessions, with its messages repeated.
    Load,
    /// Its file and terminal requests are run by us.
    HostTools,
}

/// Whether a dialect has a [`Feature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureSupport {
    /// Yes.
    Yes,
    /// If the agent says so in its handshake.
    IfAnnounced,
    /// Something like it; what is different.
    Partly(&'static str),
    /// No; why not.
    No(&'static str),
}

use FeatureSupport::{IfAnnounced, No, Partly, Yes};

const NO_WORD: FeatureSupport = No("the protocol has no word for it");
const LATER: FeatureSupport = Partly("when the outer call has ended; plans and notices at once");
const NAMED: FeatureSupport = Partly("as soon as the session of the agent has a name");

impl Feature {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 29] = [
        Self::Pictures,
        Self::Thinking,
        Self::ToolInput,
        Self::ToolProgress,
        Self::NestedCalls,
        Self::ToolErrors,
        Self::Diffs,
        Self::ToolTitles,
        Self::ToolLocations,
        Self::AnswerPictures,
        Self::Plan,
        Self::Usage,
        Self::Cost,
        Self::ContextFill,
        Self::SessionTitle,
        Self::Steer,
        Self::FollowUp,
        Self::OwnTurns,
        Self::Abort,
        Self::Permissions,
        Self::Questions,
        Self::Models,
        Self::Modes,
        Self::ThinkingLevel,
        Self::NewSession,
        Self::ListSessions,
        Self::Resume,
        Self::Load,
        Self::HostTools,
    ];

    /// Its name in the table.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pictures => "pictures in prompts",
            Self::Thinking => "thinking as it comes",
            Self::ToolInput => "arguments of tool calls",
            Self::ToolProgress => "output of running tools",
            Self::NestedCalls => "calls within calls",
            Self::ToolErrors => "failed calls are recognisable",
            Self::Diffs => "changes to files as diffs",
            Self::ToolTitles => "titles of calls",
            Self::ToolLocations => "places that a call is about",
            Self::AnswerPictures => "pictures in answers",
            Self::Plan => "plan",
            Self::Usage => "tokens",
            Self::Cost => "cost",
            Self::ContextFill => "how full the context is",
            Self::SessionTitle => "title of the conversation",
            Self::Steer => "steering",
            Self::FollowUp => "follow-ups",
            Self::OwnTurns => "turns that nobody asked for",
            Self::Abort => "abort",
            Self::Permissions => "permission questions",
            Self::Questions => "other questions",
            Self::Models => "choice of the model",
            Self::Modes => "choice of the mode",
            Self::ThinkingLevel => "choice of the thinking level",
            Self::NewSession => "new session in the same process",
            Self::ListSessions => "list of sessions",
            Self::Resume => "resuming a session",
            Self::Load => "resuming with the messages repeated",
            Self::HostTools => "files and terminals of the client",
        }
    }

    /// What one does with it, after "cannot".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Pictures => "take pictures",
            Self::Thinking => "show its thinking",
            Self::ToolInput => "show the arguments of tools",
            Self::ToolProgress => "show the output of running tools",
            Self::NestedCalls => "show calls within calls",
            Self::ToolErrors => "report failed tools",
            Self::Diffs => "show diffs",
            Self::ToolTitles => "show the titles of calls",
            Self::ToolLocations => "show the places that calls are about",
            Self::AnswerPictures => "show pictures",
            Self::Plan => "show a plan",
            Self::Usage => "report tokens",
            Self::Cost => "report costs",
            Self::ContextFill => "report how full its context is",
            Self::SessionTitle => "name the conversation",
            Self::Steer => "be steered",
            Self::FollowUp => "queue follow-ups",
            Self::OwnTurns => "work by itself",
            Self::Abort => "be stopped",
            Self::Permissions => "ask for permissions",
            Self::Questions => "ask questions",
            Self::Models => "change its model",
            Self::Modes => "change its mode",
            Self::ThinkingLevel => "change its thinking level",
            Self::NewSession => "start a new session",
            Self::ListSessions => "list its sessions",
            Self::Resume => "resume a session",
            Self::Load => "repeat a session",
            Self::HostTools => "use the client's files and terminals",
        }
    }

    /// Whether `dialect` has it.
    pub fn support_in(self, dialect: AgentDialect) -> FeatureSupport {
        let [acp, omp, psi, synaps] = self.row();
        match dialect {
            AgentDialect::Acp => acp,
            AgentDialect::Omp => omp,
            AgentDialect::Psi => psi,
            AgentDialect::Synaps => synaps,
        }
    }

    /// The row of the table, in the order of [`AgentDialect::ALL`].
    fn row(self) -> [FeatureSupport; 4] {
        const NO_QUESTIONS: FeatureSupport = No("the protocol has no questions to the user");
        const PLANS_ARE_CALLS: FeatureSupport = No("plans are tool calls there");
        const ONE_PROMPT: FeatureSupport = No("it answers one prompt at a time");
        match self {
            Self::Pictures => [IfAnnounced, Yes, Yes, Partly("as files on this machine")],
            Self::Thinking | Self::ToolInput | Self::Abort => [Yes; 4],
            Self::ToolProgress => [Yes, Yes, Yes, No("only results are reported")],
            Self::NestedCalls => [LATER, LATER, LATER, No("only results are reported")],
            Self::OwnTurns => [
                Partly("until nothing has come for 2 s: the protocol has no end of them"),
                Yes,
                Yes,
                Partly("where the agent reports them (`auto_turn`)"),
            ],
            Self::ToolErrors => [Yes, Yes, Yes, No("a result has no error flag")],
            Self::Diffs => [
                Yes,
                Partly("as text in the details of a result"),
                Partly("as text in the details of a result"),
                No("a result is text"),
            ],
            Self::ToolTitles => [
                Partly("yes, but in ACP a known tool with its arguments is titled by the session"),
                Partly("where the agent fills in `intent`"),
                Partly("as a summary of the arguments"),
                No("a call has no title"),
            ],
            Self::ToolLocations => [
                Partly("with the result of the call"),
                No("a call has no locations"),
                No("a call has no locations"),
                No("a call has no locations"),
            ],
            Self::AnswerPictures => [
                Partly("as a line of text in their place: the session's answers are text"),
                No("the session's answers are text"),
                No("the session's answers are text"),
                No("the protocol has none"),
            ],
            Self::ContextFill => [
                Partly("where the agent fills it in"),
                Yes,
                Partly("how much fits is rounded"),
                NO_WORD,
            ],
            Self::SessionTitle => [Partly("where the agent fills it in"), NAMED, NAMED, NO_WORD],
            Self::Plan => [Yes, PLANS_ARE_CALLS, PLANS_ARE_CALLS, PLANS_ARE_CALLS],
            Self::Usage => [
                Partly("in the answer to a prompt, where the agent fills it in"),
                Yes,
                Partly("of the last answer of a turn"),
                Partly("of the turn as a whole"),
            ],
            Self::Cost => [
                Partly("where the agent fills it in"),
                Yes,
                Partly("of the last answer of a turn"),
                No("usage has no cost"),
            ],
            Self::Steer => [IfAnnounced, Yes, Yes, ONE_PROMPT],
            Self::FollowUp => [
                No("a session has one prompt at a time"),
                Yes,
                Yes,
                ONE_PROMPT,
            ],
            Self::Permissions => [
                Yes,
                Partly("as a dialog, recognised by its words"),
                Partly("as a dialog, recognised by its options"),
                NO_QUESTIONS,
            ],
            Self::Questions => [
                Partly("as forms, and as permissions with several ways to say yes"),
                Partly("yes, but the tool `ask` of omp needs `--mode rpc-ui`"),
                Yes,
                NO_QUESTIONS,
            ],
            Self::Models => [IfAnnounced, Yes, Yes, Yes],
            Self::Modes => [
                IfAnnounced,
                No("there are no modes"),
                No("there are no modes"),
                No("there are no modes"),
            ],
            Self::ThinkingLevel => [IfAnnounced, Yes, Yes, No("there is no command for it")],
            Self::NewSession => [Yes; 4],
            Self::ListSessions => [
                IfAnnounced,
                No("there is no command for it"),
                Yes,
                No("there is no command for it"),
            ],
            Self::Resume => [IfAnnounced, Yes, Yes, Partly("when the program is started")],
            Self::Load => [
                IfAnnounced,
                No("a switch repeats nothing"),
                No("a switch repeats nothing"),
                No("there is no command for it"),
            ],
            Self::HostTools => [
                Yes,
                No("tools are the agent's own"),
                No("tools are the agent's own"),
                No("tools are the agent's own"),
            ],
        }
    }
}

impl FeatureSupport {
    /// Its cell in the table.
    pub fn cell(self) -> String {
        match self {
            Self::Yes => "yes".to_owned(),
            Self::IfAnnounced => "if the agent announces it".to_owned(),
            Self::Partly(how) => how.to_owned(),
            Self::No(why) => format!("no: {why}"),
        }
    }
}
