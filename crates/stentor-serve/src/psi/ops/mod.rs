//! The operations (section 9), one file per group.

mod additions;
pub(super) mod navigation;
pub(super) mod prompting;
pub(super) mod reading;
pub(super) mod settings;
pub(super) mod transport;

use stentor_wire::psi::Op;

use super::request::{OpCall, OpResult};
use super::{jobs, login, slash, ui};

/// The table of operations (section 9).
pub(super) async fn dispatch(op: Op, call: &mut OpCall<'_>) -> OpResult {
    match op {
        Op::Handshake => transport::handshake(call).await,
        Op::Ping => transport::ping().into(),
        Op::Subscribe => transport::subscribe(call).await,
        Op::Unsubscribe => transport::unsubscribe(call).await,
        Op::QueryEql => reading::query_eql(call).await,
        Op::GetState => reading::get_state(call).await,
        Op::GetMessages => reading::get_messages(call).await,
        Op::GetSessionStats => reading::get_session_stats(call).await,
        Op::ListSessions => reading::list_sessions(call).await,
        Op::Prompt => prompting::prompt(call).await,
        Op::PromptWhileStreaming => prompting::while_streaming(call).await,
        Op::Steer | Op::FollowUp => prompting::queue(call, op).await,
        Op::Interrupt => prompting::interrupt(call).await,
        Op::Abort => prompting::abort(call).await,
        Op::AbortRetry => additions::abort_retry(call).await,
        Op::Command => slash::command(call).await,
        Op::FrontendActionResult => slash::pickers::result(call).await,
        Op::NewSession => navigation::new_session(call).await,
        Op::SwitchSession => navigation::switch_session(call).await,
        Op::Fork => navigation::fork(call).await,
        Op::SetSessionName => navigation::set_session_name(call).await,
        Op::SetModel => settings::set_model(call).await,
        Op::CycleModel => settings::cycle_model(call).await,
        Op::SetThinkingLevel => settings::set_thinking_level(call).await,
        Op::CycleThinkingLevel => settings::cycle_thinking_level(call).await,
        Op::Compact => settings::compact(call).await,
        Op::SetAutoCompaction | Op::SetAutoRetry => settings::set_automatic(call, op).await,
        Op::LoginBegin => login::begin(call).await,
        Op::LoginComplete => login::complete(call),
        Op::ResolveDialog => ui::resolve(call).await,
        Op::CancelDialog => ui::cancel(call).await,
        Op::ListBackgroundJobs => jobs::list(call).await,
        Op::InspectBackgroundJob => jobs::inspect(call).await,
        Op::CancelBackgroundJob => jobs::cancel(call).await,
        Op::Bash => additions::bash(call).await,
        Op::AbortBash => additions::abort_bash(call).await,
        Op::ExportHtml => additions::export_html(call).await,
        Op::GetForkMessages => additions::get_fork_messages(call).await,
        Op::GetLastAssistantText => additions::get_last_assistant_text(call).await,
        Op::GetCommands => additions::get_commands(call).await,
        Op::GetAvailableModels => additions::get_available_models(call),
    }
}
