//! The methods (sections 3 to 12).

/// Client to agent.
pub const INITIALIZE: &str = "initialize";
pub const AUTHENTICATE: &str = "authenticate";
pub const LOGOUT: &str = "logout";
pub const SESSION_NEW: &str = "session/new";
pub const SESSION_LOAD: &str = "session/load";
pub const SESSION_RESUME: &str = "session/resume";
pub const SESSION_LIST: &str = "session/list";
pub const SESSION_CLOSE: &str = "session/close";
pub const SESSION_DELETE: &str = "session/delete";
/// Unstable (section 5.7).
pub const SESSION_FORK: &str = "session/fork";
pub const SESSION_STATUS: &str = "session/status";
pub const SESSION_SET_TITLE: &str = "session/set_title";
pub const SESSION_PROMPT: &str = "session/prompt";
pub const SESSION_CANCEL: &str = "session/cancel";
pub const SESSION_SET_MODE: &str = "session/set_mode";
pub const SESSION_SET_CONFIG_OPTION: &str = "session/set_config_option";
/// Not in the protocol any more, but some clients still call it (section 10.4).
pub const SESSION_SET_MODEL: &str = "session/set_model";
/// An extension: a message for the turn that runs (section 6.6).
pub const SESSION_STEERING: &str = "_session/steering";
/// Both directions.
pub const CANCEL_REQUEST: &str = "$/cancel_request";

/// Agent to client.
pub const SESSION_UPDATE: &str = "session/update";
pub const REQUEST_PERMISSION: &str = "session/request_permission";
pub const READ_TEXT_FILE: &str = "fs/read_text_file";
pub const WRITE_TEXT_FILE: &str = "fs/write_text_file";
pub const TERMINAL_CREATE: &str = "terminal/create";
pub const TERMINAL_OUTPUT: &str = "terminal/output";
pub const TERMINAL_WAIT_FOR_EXIT: &str = "terminal/wait_for_exit";
pub const TERMINAL_KILL: &str = "terminal/kill";
pub const TERMINAL_RELEASE: &str = "terminal/release";
pub const ELICITATION_CREATE: &str = "elicitation/create";
