//! The way in: what each command does (sections 6 and 19 to 21).

mod choosing;
mod hosting;
mod logging_in;
mod opening;
mod prompting;
mod queueing;
mod reading;
mod sessions;
mod shell;
mod subagents;
mod switches;
mod transport;

pub(super) use opening::plain;

use std::future::Future;
use std::sync::Arc;

use futures_util::poll;
use serde_json::value::RawValue;
use stentor_agent::tasks;
use stentor_wire::omp::command::{Command, CommandBody};

use super::connection::OmpConnection;
use super::dialect::OmpDialect;
use super::reply::CommandOutcome;

/// Does what a command asks for and answers it. What may take long goes on in the background.
pub(super) async fn perform(dialect: &Arc<OmpDialect>, command: Command) {
    let Command { id, name, body } = command;
    let outcome = match body {
        CommandBody::Prompt(prompt) => return prompting::prompt(dialect, id, prompt).await,
        CommandBody::AbortAndPrompt(sent) => {
            return prompting::abort_and_prompt(dialect, id, sent).await;
        }
        CommandBody::Abort => {
            return in_background(dialect, id, name, prompting::abort(Arc::clone(dialect))).await;
        }
        CommandBody::Compact(compact) => {
            let work = shell::compact(Arc::clone(dialect), compact);
            return in_background(dialect, id, name, work).await;
        }
        CommandBody::Handoff(wanted) => {
            let work = shell::hand_off(Arc::clone(dialect), wanted);
            return in_background(dialect, id, name, work).await;
        }
        CommandBody::Bash(bash) => {
            let sent = dialect.connection.bash.sent(id.as_deref());
            let work = shell::bash(Arc::clone(dialect), bash, sent.clone());
            let then = move |connection: &OmpConnection| connection.bash.ended(&sent);
            return beside_and(dialect, id, name, work, then).await;
        }
        CommandBody::Login(login) => {
            let work = logging_in::login(Arc::clone(dialect), login);
            return in_background(dialect, id, name, work).await;
        }
        CommandBody::CancelSubagent(which) => {
            let work = subagents::cancel(Arc::clone(dialect), which);
            return in_background(dialect, id, name, work).await;
        }
        CommandBody::NegotiateProtocol(wanted) => {
            return transport::negotiate(dialect, id.as_deref(), name, &wanted).await;
        }
        CommandBody::Steer(sent) => prompting::steer(dialect, sent).await,
        CommandBody::FollowUp(sent) => prompting::follow_up(dialect, sent).await,
        CommandBody::NewSession(new) => sessions::new(dialect, new).await,
        CommandBody::SwitchSession(switch) => sessions::switch(dialect, switch).await,
        CommandBody::OpenSession(wanted) => opening::open(dialect, wanted).await,
        CommandBody::Branch(entry) => sessions::branch(dialect, entry).await,
        CommandBody::Fork(entry) => sessions::fork(dialect, entry).await,
        CommandBody::Clone => sessions::clone(dialect).await,
        CommandBody::ExportHtml(export) => sessions::export(dialect, export).await,
        CommandBody::SetSessionName(name) => sessions::set_name(dialect, name).await,
        CommandBody::GetState => return reading::state(dialect, id, name).await,
        CommandBody::GetMessages => reading::messages(dialect).await,
        CommandBody::GetMessagesPage(page) => reading::page(dialect, page).await,
        CommandBody::GetEntries(wanted) => reading::entries(dialect, wanted).await,
        CommandBody::GetTree => reading::tree(dialect).await,
        CommandBody::GetSessionStats => reading::stats(dialect).await,
        CommandBody::GetBranchMessages | CommandBody::GetForkMessages => {
            reading::fork_points(dialect).await
        }
        CommandBody::GetLastAssistantText => reading::last_text(dialect).await,
        CommandBody::GetCommands => reading::commands(dialect).await,
        CommandBody::GetAvailableCommands => reading::available_commands(dialect).await,
        CommandBody::SetModel(wanted) => choosing::set_model(dialect, wanted).await,
        CommandBody::CycleModel => choosing::cycle_model(dialect).await,
        CommandBody::GetAvailableModels => choosing::available_models(dialect),
        CommandBody::SetThinkingLevel(wanted) => choosing::set_thinking(dialect, wanted).await,
        CommandBody::CycleThinkingLevel => choosing::cycle_thinking(dialect).await,
        CommandBody::GetAvailableThinkingLevels => choosing::available_levels(dialect).await,
        CommandBody::SetSteeringMode(mode) => switches::steering_mode(dialect, mode).await,
        CommandBody::SetFollowUpMode(mode) => switches::follow_up_mode(dialect, mode).await,
        CommandBody::SetInterruptMode(mode) => switches::interrupt_mode(dialect, mode).await,
        CommandBody::SetAutoCompaction(on) => switches::auto_compaction(dialect, on).await,
        CommandBody::SetAutoRetry(on) => switches::auto_retry(dialect, on).await,
        CommandBody::SetFastMode(on) => switches::fast_mode(&on),
        CommandBody::SetTodos(todos) => switches::todos(dialect, todos).await,
        CommandBody::AbortRetry => shell::abort_retry(dialect).await,
        CommandBody::AbortBash => shell::abort_bash(dialect).await,
        CommandBody::ClearQueue => queueing::clear(dialect).await,
        CommandBody::RemoveQueuedMessage(message) => queueing::remove(dialect, message).await,
        CommandBody::PromoteQueuedMessage(message) => queueing::promote(dialect, message).await,
        CommandBody::SetEventFilter(filter) => transport::filter(dialect, filter),
        CommandBody::SetSubagentSubscription(wanted) => subagents::subscribe(dialect, &wanted),
        CommandBody::GetSubagents => subagents::list(dialect),
        CommandBody::GetSubagentMessages(wanted) => subagents::messages(dialect, wanted).await,
        CommandBody::SteerSubagent(message) => subagents::steer(dialect, message).await,
        CommandBody::SetHostTools(tools) => hosting::tools(dialect, tools).await,
        CommandBody::SetHostUriSchemes(schemes) => hosting::schemes(dialect, schemes).await,
        CommandBody::GetLoginProviders => logging_in::providers(dialect),
    };
    dialect.answer(id.as_deref(), name, &outcome).await;
}

/// Does something in the background. It has begun, in its order among the commands, when this
/// returns: what it asks of the session is on its way.
async fn in_background(
    dialect: &Arc<OmpDialect>,
    id: Option<Box<RawValue>>,
    name: &'static str,
    work: impl Future<Output = CommandOutcome> + Send + 'static,
) {
    beside_and(dialect, id, name, work, |_| {}).await;
}

/// The same, and something when its answer is written.
async fn beside_and(
    dialect: &Arc<OmpDialect>,
    id: Option<Box<RawValue>>,
    name: &'static str,
    work: impl Future<Output = CommandOutcome> + Send + 'static,
    then: impl FnOnce(&OmpConnection) + Send + 'static,
) {
    let Ok(permit) = Arc::clone(&dialect.background).acquire_owned().await else {
        return;
    };
    let dialect = Arc::clone(dialect);
    let mut work = Box::pin(async move {
        let outcome = work.await;
        dialect
            .answer_and(id.as_deref(), name, &outcome, then)
            .await;
        drop(permit);
    });
    if poll!(&mut work).is_pending() {
        tasks::spawn(work);
    }
}
