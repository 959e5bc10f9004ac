//! What the client offers (section 3.1). Everything else is not asked of it.

use agent_client_protocol_schema::v1 as acp;

/// The client's capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AcpClient {
    pub reads_files: bool,
    pub writes_files: bool,
    pub has_terminals: bool,
    pub terminal_login: bool,
    pub has_forms: bool,
    pub takes_notices: bool,
    pub takes_compactions: bool,
    pub shows_subagents: bool,
}

impl From<&acp::ClientCapabilities> for AcpClient {
    fn from(offered: &acp::ClientCapabilities) -> Self {
        let session = offered.session.as_ref();
        Self {
            reads_files: offered.fs.read_text_file,
            writes_files: offered.fs.write_text_file,
            has_terminals: offered.terminal,
            terminal_login: offered.auth.terminal || says_terminal_login(offered),
            has_forms: offered
                .elicitation
                .as_ref()
                .is_some_and(|can| can.form.is_some()),
            takes_notices: session.is_some_and(|can| can.notices.is_some()),
            takes_compactions: session.is_some_and(|can| can.compaction.is_some()),
            shows_subagents: offered.subagents.is_some(),
        }
    }
}

/// How clients offered it before the protocol had a word for it; some, and the validator of the
/// registry, still do.
fn says_terminal_login(offered: &acp::ClientCapabilities) -> bool {
    let meta = offered.meta.as_ref();
    meta.and_then(|meta| meta.get("terminal-auth")) == Some(&serde_json::Value::Bool(true))
}
