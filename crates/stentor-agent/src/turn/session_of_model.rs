//! The session a model answers in, as the model sees it. An agent that is used as a model has its files
//! read and written and its commands run by the session's tools, judged like calls of the session's own.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_journal::message::{ContentBlock, KnownBlock, ToolCall};
use stentor_policy::{PermissionMode, Touches};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::link::{ModelCall, RunLink, RunRequest};
use super::run_hooks;
use crate::arguments;
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::{EventKind, NoticeLevel, NoticeSource};
use crate::model_host::{
    CommandEnd, CommandFuture, CommandWatch, HostCall, HostCallError, ModelHost, ModelHostFuture,
    SessionWaker,
};
use crate::permission::{CallRefused, PermitFuture};
use crate::sandbox::SandboxState;
use crate::tool::{
    Place, Plan, Progress, ShellJob, Tool, ToolContext, ToolHost, ToolOutput, ToolSpec,
};

/// The session, for the model of a call.
pub(super) fn host(link: &RunLink, call: &ModelCall) -> Arc<dyn ModelHost> {
    Arc::new(SessionOfModel {
        link: link.clone(),
        tools: Arc::clone(&call.tools),
        place: Arc::clone(&call.place),
        host: Arc::clone(&call.host),
    })
}

#[derive(Clone)]
struct SessionOfModel {
    link: RunLink,
    tools: Arc<[Arc<dyn Tool>]>,
    place: Arc<dyn Place>,
    host: Arc<dyn ToolHost>,
}

/// A call that may run.
struct PermittedCall {
    tool: Arc<dyn Tool>,
    /// As hooks left it.
    call: Arc<ToolCall>,
    arguments: Map<String, Value>,
    context: ToolContext,
}

impl SessionOfModel {
    fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// Has a call judged. The error is the reason why it does not run, for the model.
    async fn permitted(
        &self,
        asked: HostCall,
        cancel: CancellationToken,
    ) -> Result<PermittedCall, HostCallError> {
        let HostCall { call, is_approved } = asked;
        let tool = self.tool(&call.name);
        let tool = tool.ok_or_else(|| HostCallError::NoSuchTool(call.name.clone()))?;
        let tool = tool.without_question().unwrap_or_else(|| Arc::clone(tool));
        let link = &self.link;
        let arguments = arguments::validate(tool.spec(), &call.arguments)?;
        let (call, arguments) = run_hooks::before_call(link, &call, tool.spec(), arguments).await?;
        let touches = tool.touches(&arguments, &link.cwd).settle(&link.cwd);
        let spec = ToolSpec {
            effect: tool.effect_of(&arguments),
            ..tool.spec().clone()
        };
        let (wanted, judged) = (Arc::clone(&call), touches.clone());
        let permit = match is_approved {
            true => self.host.permit_again(wanted, spec, judged),
            false => self.host.permit(wanted, spec, judged),
        };
        tokio::select! {
            biased;
            () = link.cancel.cancelled() => return Err(CallRefused::Aborted.into()),
            permitted = permit => permitted?,
        }
        let context = ToolContext {
            call_id: call.id.clone(),
            cwd: Arc::clone(&link.cwd),
            cancel,
            // The agent reports the call it is part of.
            progress: Progress::ignored(),
            place: Arc::clone(&self.place),
            host: Arc::clone(&self.host),
            spill_dir: Arc::clone(&link.spill_dir),
            touches: Arc::new(touches),
        };
        Ok(PermittedCall {
            tool,
            call,
            arguments,
            context,
        })
    }

    /// What hooks make of a text that a call gave.
    async fn after(
        &self,
        call: &Arc<ToolCall>,
        output: ToolOutput,
    ) -> Result<String, HostCallError> {
        let output = run_hooks::after_call(&self.link, call, output).await;
        let text = text_of(&output);
        match output.is_error {
            true => Err(HostCallError::Failed(text.into())),
            false => Ok(text),
        }
    }

    async fn command(
        &self,
        permitted: PermittedCall,
        watch: CommandWatch,
    ) -> Result<CommandEnd, HostCallError> {
        let PermittedCall {
            tool,
            call,
            arguments,
            context,
        } = permitted;
        let no_shell = || HostCallError::RunsNoCommands(call.name.clone());
        let shell = tool.shell().ok_or_else(no_shell)?;
        let touches = tool.touches(&arguments, &context.cwd);
        let job = ShellJob {
            command: touches.command.ok_or_else(no_shell)?,
            cwd: context.cwd,
            cancel: watch.cancel,
            spill_dir: context.spill_dir,
            left_running: context.host.left_running(),
            output: watch.output,
        };
        let ended = shell.run(job).await?;
        let before = ended.output;
        let output = match ended.exit_code {
            Some(0) => ToolOutput::text(before.clone()),
            _ => ToolOutput::error(before.clone()),
        };
        let after = run_hooks::after_call(&self.link, &call, output).await;
        let after = text_of(&after);
        Ok(CommandEnd {
            exit_code: ended.exit_code,
            signal: ended.signal,
            changed_output: (after != before).then_some(after),
        })
    }

    /// Fires with the run.
    fn cancel(&self) -> CancellationToken {
        self.link.cancel.child_token()
    }
}

impl ModelHost for SessionOfModel {
    fn cwd(&self) -> Arc<Path> {
        Arc::clone(&self.link.cwd)
    }

    fn permit(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        let touches = touches.settle(&self.link.cwd);
        self.host.permit(call, spec, touches)
    }

    fn permit_again(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        let touches = touches.settle(&self.link.cwd);
        self.host.permit_again(call, spec, touches)
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    fn run_tool(&self, call: HostCall) -> ModelHostFuture<Result<String, HostCallError>> {
        let session = self.clone();
        Box::pin(async move {
            let permitted = session.permitted(call, session.cancel()).await?;
            let tool = permitted.tool;
            let output = tool.run(permitted.arguments, permitted.context).await;
            session.after(&permitted.call, output).await
        })
    }

    fn read_text(&self, call: HostCall) -> ModelHostFuture<Result<String, HostCallError>> {
        let session = self.clone();
        Box::pin(async move {
            let permitted = session.permitted(call, session.cancel()).await?;
            let (call, tool) = (permitted.call, permitted.tool);
            let text = tool.whole_text(permitted.arguments, permitted.context);
            let text = text.ok_or_else(|| HostCallError::ReadsNoFiles(call.name.clone()))?;
            session.after(&call, ToolOutput::text(text.await?)).await
        })
    }

    fn run_command(
        &self,
        call: HostCall,
        watch: CommandWatch,
    ) -> ModelHostFuture<Result<CommandFuture, HostCallError>> {
        let session = self.clone();
        Box::pin(async move {
            let permitted = session.permitted(call, watch.cancel.clone()).await?;
            let run: CommandFuture = Box::pin(async move {
                let stop = watch.cancel.clone();
                let run_is_over = session.link.cancel.clone();
                let mut command = std::pin::pin!(session.command(permitted, watch));
                tokio::select! {
                    biased;
                    ended = &mut command => return ended,
                    () = run_is_over.cancelled() => stop.cancel(),
                }
                command.await
            });
            Ok(run)
        })
    }

    fn permission_mode(&self) -> PermissionMode {
        self.host.permission_mode()
    }

    fn sandbox(&self) -> Arc<SandboxState> {
        Arc::clone(&self.link.sandbox)
    }

    fn ask(&self, dialog: Dialog) -> ModelHostFuture<DialogAnswer> {
        self.host.ask(dialog)
    }

    fn set_plan(&self, plan: Plan) {
        self.host.set_plan(plan);
    }

    fn warn(&self, message: String) {
        self.host.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message,
            from: NoticeSource::Agent,
        });
    }

    fn has_newest_answer(&self, response_id: String) -> ModelHostFuture<bool> {
        let link = self.link.clone();
        Box::pin(async move {
            let asked = link.ask(|reply| RunRequest::HasNewestAnswer { response_id, reply });
            asked.await.unwrap_or(false)
        })
    }

    fn waker(&self) -> SessionWaker {
        let requests = self.link.requests.downgrade();
        Arc::new(move || {
            let requests = requests.clone();
            Box::pin(async move {
                let (reply, answer) = oneshot::channel();
                let asked = match requests.upgrade() {
                    Some(requests) => requests.send(RunRequest::ModelGoesOn { reply }).await,
                    None => return false,
                };
                asked.is_ok() && answer.await.unwrap_or(false)
            })
        })
    }
}

fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        ContentBlock::Known(KnownBlock::Text(block)) => Some(&*block.text),
        _ => None,
    });
    texts.collect()
}
