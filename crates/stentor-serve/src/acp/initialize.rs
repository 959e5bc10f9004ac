//! The handshake: who we are and what we can do (sections 3 and 4).

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};
use stentor_wire::jsonrpc::RawJson;

use super::AcpLogin;
use super::client::AcpClient;
use super::error::{AcpResult, Refusal};
use super::run_options;

/// Reads how a client introduces itself. What cannot be read of its capabilities it does not have.
pub(super) fn read(params: RawJson<'_>) -> AcpResult<AcpClient> {
    let params: Map<String, Value> = params
        .parse()
        .map_err(|_| Refusal::invalid_params("The parameters cannot be read."))?;
    let version = params.get("protocolVersion").and_then(Value::as_u64);
    if version
        .and_then(|version| u16::try_from(version).ok())
        .is_none()
    {
        return Err(Refusal::invalid_params(
            "protocolVersion must be an integer between 0 and 65535",
        ));
    }
    let offered = params.get("clientCapabilities").cloned();
    let offered: acp::ClientCapabilities = offered
        .and_then(|offered| serde_json::from_value(offered).ok())
        .unwrap_or_default();
    Ok(AcpClient::from(&offered))
}

/// What is answered: always our one version, whatever was asked for, and what really works. Where
/// no session is kept, there is none to list, to load, to resume or to delete.
pub(super) fn answer(
    client: AcpClient,
    logins: &[AcpLogin],
    keeps_sessions: bool,
) -> acp::InitializeResponse {
    let mut session = acp::SessionCapabilities::new()
        .close(acp::SessionCloseCapabilities::new())
        .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
        .system_prompt(
            acp::SessionSystemPromptCapabilities::new().mode(
                acp::SessionSystemPromptModeCapabilities::new()
                    .override_(acp::SessionSystemPromptOverrideCapabilities::new()),
            ),
        );
    if keeps_sessions {
        session = session
            .list(acp::SessionListCapabilities::new())
            .delete(acp::SessionDeleteCapabilities::new())
            .resume(acp::SessionResumeCapabilities::new())
            .fork(acp::SessionForkCapabilities::new())
            .status(acp::SessionStatusCapabilities::new())
            .title(acp::SessionTitleCapabilities::new());
    }
    let mut auth = acp::AgentAuthCapabilities::new();
    if !logins.is_empty() {
        auth = auth.logout(acp::LogoutCapabilities::new());
    }
    let capabilities = acp::AgentCapabilities::new()
        .auth(auth)
        .load_session(keeps_sessions)
        .prompt_capabilities(
            acp::PromptCapabilities::new()
                .image(true)
                .embedded_context(true),
        )
        .mcp_capabilities(acp::McpCapabilities::new().http(true).sse(true))
        .session_capabilities(session);
    let info =
        acp::Implementation::new("stentor", env!("CARGO_PKG_VERSION")).title("Stentor".to_owned());
    let mut meta = Map::new();
    // As other agents advertise it (section 6.6).
    meta.insert("steering".into(), json!({ "supported": true }));
    let own = json!({ "promptMeta": run_options::WORDS });
    meta.insert("stentor".into(), own);
    acp::InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(methods(client, logins))
        .agent_info(info)
        .meta(meta)
}

/// The ways to log in: only in a terminal, so only for clients that can open one (section 3.3).
fn methods(client: AcpClient, logins: &[AcpLogin]) -> Vec<acp::AuthMethod> {
    let logins = logins.iter().filter(|_| client.terminal_login);
    logins
        .map(|login| {
            let name = format!("Log in: {}", login.name);
            let method =
                acp::AuthMethodTerminal::new(login.id.clone(), name).args(login.arguments.clone());
            acp::AuthMethod::Terminal(method)
        })
        .collect()
}
