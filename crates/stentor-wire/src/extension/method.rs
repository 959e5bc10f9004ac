//! The names of the methods, and who calls them.

/// Agent to extension, request: the first message. Its answer registers everything.
pub const INITIALIZE: &str = "initialize";
/// Agent to extension, request: run a tool the extension registered.
pub const TOOL_RUN: &str = "tool/run";
/// Agent to extension, request: run a slash command the extension registered.
pub const COMMAND_RUN: &str = "command/run";
/// Agent to extension, request: a tool is about to be called.
pub const TOOL_BEFORE: &str = "tool/before";
/// Agent to extension, request: a tool was called.
pub const TOOL_AFTER: &str = "tool/after";
/// Agent to extension, request: a prompt is about to be answered.
pub const PROMPT_BEFORE: &str = "prompt/before";
/// Agent to extension, notification: something happened.
pub const EVENT: &str = "event";
/// Agent to extension, notification: nobody waits for the answer to a request any more.
pub const CANCEL: &str = "cancel";
/// Agent to extension, notification: the session ends, and with it the extension.
pub const SESSION_END: &str = "session/end";

/// Extension to agent, request: replaces the tools and commands it registered.
pub const REGISTER: &str = "register";
/// Extension to agent, request: one of several options.
pub const UI_SELECT: &str = "ui/select";
/// Extension to agent, request: yes or no.
pub const UI_CONFIRM: &str = "ui/confirm";
/// Extension to agent, request: a line of text.
pub const UI_INPUT: &str = "ui/input";
/// Extension to agent, request: a longer text.
pub const UI_EDITOR: &str = "ui/editor";
/// Extension to agent, request: keeps a value in the session.
pub const STATE_SET: &str = "state/set";
/// Extension to agent, request: a value kept in the session.
pub const STATE_GET: &str = "state/get";
/// Extension to agent, request: a message in the extension's own name.
pub const MESSAGE_SEND: &str = "message/send";
/// Extension to agent, request: a message in the name of the user.
pub const MESSAGE_SEND_USER: &str = "message/sendUser";
/// Extension to agent, request: the program is to end when nothing runs any more.
pub const SHUTDOWN: &str = "shutdown";
/// Extension to agent, notification: how far a running tool is.
pub const TOOL_PROGRESS: &str = "tool/progress";
/// Extension to agent, notification: a message to the person.
pub const UI_NOTIFY: &str = "ui/notify";
/// Extension to agent, notification: a line about something that goes on.
pub const UI_STATUS: &str = "ui/status";
/// Extension to agent, notification: lines shown beside the editor.
pub const UI_WIDGET: &str = "ui/widget";
/// Extension to agent, notification: the title of the client's window.
pub const UI_TITLE: &str = "ui/title";
/// Extension to agent, notification: text for the client's input box.
pub const UI_EDITOR_TEXT: &str = "ui/editorText";
/// Extension to agent, notification: a line for the agent's log.
pub const LOG: &str = "log";
