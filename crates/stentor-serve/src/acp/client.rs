//! What the client said it can do (section 3.1). Everything it did not say is not done.

use agent_client_protocol_schema::v1 as acp;

/// The client's capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Client {
    pub reads_files: bool,
    pub writes_files: bool,
    pub has_terminals: bool,
    pub terminal_login: bool,
    pub has_forms: bool,
    pub takes_notices: bool,
    pub takes_compactions: bool,
}

impl From<&acp::ClientCapabilities> for Client {
    fn from(told: &acp::ClientCapabilities) -> Self {
        let session = told.session.as_ref();
        Self {
            reads_files: told.fs.read_text_file,
            writes_files: told.fs.write_text_file,
            has_terminals: told.terminal,
            terminal_login: told.auth.terminal || says_terminal_login(told),
            has_forms: told
                .elicitation
                .as_ref()
                .is_some_and(|can| can.form.is_some()),
            takes_notices: session.is_some_and(|can| can.notices.is_some()),
            takes_compactions: session.is_some_and(|can| can.compaction.is_some()),
        }
    }
}

/// How clients said it before the protocol had a word for it; some, and the validator of the
/// registry, still do.
fn says_terminal_login(told: &acp::ClientCapabilities) -> bool {
    let meta = told.meta.as_ref();
    meta.and_then(|meta| meta.get("terminal-auth")) == Some(&serde_json::Value::Bool(true))
}
