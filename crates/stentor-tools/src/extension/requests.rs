//! What an extension asks of the person and of the session.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_agent::session::{DeliverAs, Delivery, Injected};
use stentor_journal::message::UserContent;
use stentor_wire::extension::{
    self as wire, ConfirmParams, ConfirmResult, ContentInput, EditorParams, InputParams,
    MessageSendParams, Nothing, SelectOption, SelectParams, StateGetParams, StateGetResult,
    StateSetParams, StateSetResult, UserMessageSendParams, ValueResult, method,
};
use stentor_wire::jsonrpc::{Id, RawJson, code};
use tokio::sync::oneshot;

use super::connection::{ExtensionConnection, ExtensionQuestion};
use super::content;
use super::handle::Extension;
use super::limits::{LABEL_BYTES, LIST_ITEMS, MESSAGE_BYTES, PREFILL_BYTES, TEXT_BYTES};
use super::ordered_output::OrderedOutput;
use super::port::{PortError, SessionPort};
use crate::truncation::cut;

/// Something an extension asks, read and made to fit.
pub(super) enum ExtensionRequest {
    Question(Dialog),
    Set(StateSetParams),
    Get(StateGetParams),
    Say(Box<Injected>, Delivery),
    Shutdown,
}

/// The same, with a question waiting for its turn.
pub(super) enum PendingExtensionRequest {
    Question {
        is_confirm: bool,
        /// Made before the question is open, so that no withdrawal is missed.
        guard: ExtensionQuestion,
        /// The question once it is open. Nothing comes when there was no room for it.
        open: oneshot::Receiver<OpenDialogFuture>,
    },
    Set(StateSetParams),
    Get(StateGetParams),
    /// Something the session does, once it is done. Nothing comes when there was no room for it.
    Doing(oneshot::Receiver<PendingWork>),
}

/// Something on its way to the session.
type PendingWork = Pin<Box<dyn Future<Output = Result<(), PortError>> + Send>>;

/// A question that is open, until it is answered or dropped.
type OpenDialogFuture = Pin<Box<dyn Future<Output = DialogAnswer> + Send>>;

impl ExtensionRequest {
    /// Reads a request. `None` when there is no such method here.
    pub fn read(method: &str, params: RawJson<'_>) -> Option<Result<Self, serde_json::Error>> {
        let read = match method {
            method::UI_SELECT => params.parse().map(select),
            method::UI_CONFIRM => params.parse().map(confirm),
            method::UI_INPUT => params.parse().map(input),
            method::UI_EDITOR => params.parse().map(editor),
            method::STATE_SET => params.parse().map(ExtensionRequest::Set),
            method::STATE_GET => params.parse().map(ExtensionRequest::Get),
            method::MESSAGE_SEND => params.parse().map(message),
            method::MESSAGE_SEND_USER => params.parse().map(user_message),
            method::SHUTDOWN => Ok(ExtensionRequest::Shutdown),
            _ => return None,
        };
        Some(read)
    }

    /// Has a question asked after what the extension sent before it.
    pub fn asked(
        self,
        output: &OrderedOutput,
        connection: &Arc<ExtensionConnection>,
    ) -> PendingExtensionRequest {
        match self {
            ExtensionRequest::Question(dialog) => {
                let is_confirm = matches!(dialog.kind, DialogKind::Confirm { .. });
                let guard = connection.question();
                let (opened, open) = oneshot::channel();
                output.ask(Box::new(|port| {
                    let port = Arc::clone(port);
                    let mut question: OpenDialogFuture =
                        Box::pin(async move { port.ask(dialog).await });
                    // Whoever does not want to wait any more has it withdrawn by dropping it.
                    let _ = opened.send(match (&mut question).now_or_never() {
                        Some(answer) => Box::pin(std::future::ready(answer)),
                        None => question,
                    });
                }));
                PendingExtensionRequest::Question {
                    is_confirm,
                    guard,
                    open,
                }
            }
            ExtensionRequest::Set(params) => PendingExtensionRequest::Set(params),
            ExtensionRequest::Get(params) => PendingExtensionRequest::Get(params),
            ExtensionRequest::Say(injected, delivery) => {
                PendingExtensionRequest::Doing(in_order(output, move |port| async move {
                    port.inject(*injected, delivery).await
                }))
            }
            ExtensionRequest::Shutdown => {
                PendingExtensionRequest::Doing(in_order(output, |port| async move {
                    port.shut_down().await
                }))
            }
        }
    }
}

/// Has something done after what the extension sent before it.
fn in_order<F>(
    output: &OrderedOutput,
    work: impl FnOnce(Arc<SessionPort>) -> F + Send + 'static,
) -> oneshot::Receiver<PendingWork>
where
    F: Future<Output = Result<(), PortError>> + Send + 'static,
{
    let (begun, doing) = oneshot::channel();
    output.ask(Box::new(move |port| {
        let mut work: PendingWork = Box::pin(work(Arc::clone(port)));
        // It is on its way when the next turn comes. Who asked may be gone: it is done all the same.
        let rest: PendingWork = match (&mut work).now_or_never() {
            Some(done) => Box::pin(std::future::ready(done)),
            None => work,
        };
        drop(begun.send(rest));
    }));
    doing
}

impl PendingExtensionRequest {
    /// Has it answered, which takes as long as the person does.
    pub async fn answer(self, id: &Id, connection: &ExtensionConnection, extension: &Extension) {
        let (port, state) = (&*extension.port, &extension.state_store);
        let outbox = &connection.peer.outbox;
        let sent = match self {
            PendingExtensionRequest::Question {
                is_confirm,
                guard,
                open,
            } => {
                let answer = match extension.spec.unasked {
                    Some(policy) if is_confirm && !port.can_ask() => {
                        DialogAnswer::Confirmed(policy)
                    }
                    _ => answered(open, guard).await,
                };
                if is_confirm {
                    outbox.answer(id, &confirmed(&answer)).await
                } else {
                    outbox.answer(id, &value(answer)).await
                }
            }
            PendingExtensionRequest::Set(StateSetParams { key, value }) => {
                match state.set(port, key, value).await {
                    Ok(entry_id) => outbox.answer(id, &StateSetResult { entry_id }).await,
                    Err(error) => outbox.refuse(Some(id), code::INVALID_PARAMS, &error.to_string()),
                }
            }
            PendingExtensionRequest::Doing(doing) => {
                let done = match doing.await {
                    Ok(doing) => doing.await,
                    Err(_) => Err(PortError::TooMuch),
                };
                match done {
                    Ok(()) => outbox.answer(id, &Nothing {}).await,
                    Err(error) => {
                        outbox.refuse(Some(id), code::INVALID_REQUEST, &error.to_string())
                    }
                }
            }
            PendingExtensionRequest::Get(StateGetParams { key }) => {
                match state.get(port, &key).await {
                    Ok(value) => outbox.answer(id, &StateGetResult { value }).await,
                    Err(error) => outbox.refuse(Some(id), code::INTERNAL_ERROR, &error.to_string()),
                }
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "an extension was not answered");
        }
    }
}

async fn answered(
    open: oneshot::Receiver<OpenDialogFuture>,
    mut guard: ExtensionQuestion,
) -> DialogAnswer {
    let answer = async {
        match open.await {
            Ok(open) => open.await,
            Err(_) => DialogAnswer::Nothing,
        }
    };
    tokio::select! {
        answer = answer => answer,
        () = guard.withdrawn() => DialogAnswer::Nothing,
    }
}

fn confirmed(answer: &DialogAnswer) -> ConfirmResult {
    match answer {
        DialogAnswer::Confirmed(confirmed) => ConfirmResult {
            confirmed: *confirmed,
            answered: true,
        },
        DialogAnswer::Value(_)
        | DialogAnswer::Values(_)
        | DialogAnswer::Filled(_)
        | DialogAnswer::Nothing => ConfirmResult::default(),
    }
}

fn value(answer: DialogAnswer) -> ValueResult {
    match answer {
        DialogAnswer::Value(value) => ValueResult { value: Some(value) },
        DialogAnswer::Confirmed(_)
        | DialogAnswer::Values(_)
        | DialogAnswer::Filled(_)
        | DialogAnswer::Nothing => ValueResult::default(),
    }
}

fn select(params: SelectParams) -> ExtensionRequest {
    let options = params.options.into_iter().take(LIST_ITEMS).map(|option| {
        let (value, label, description) = match option {
            SelectOption::Plain(value) => (value, None, None),
            SelectOption::Labelled {
                value,
                label,
                description,
            } => (value, label, description),
        };
        DialogOption {
            label: cut(label.unwrap_or_else(|| value.clone()), LABEL_BYTES),
            value: cut(value, LABEL_BYTES),
            description: description.map(|text| cut(text, LABEL_BYTES)),
            permission: None,
        }
    });
    let options = options.collect();
    question(
        params.title,
        DialogKind::Select { options },
        params.timeout_ms,
    )
}

fn confirm(params: ConfirmParams) -> ExtensionRequest {
    let message = cut(params.message, MESSAGE_BYTES);
    question(
        params.title,
        DialogKind::Confirm {
            message,
            lasting: None,
        },
        params.timeout_ms,
    )
}

fn input(params: InputParams) -> ExtensionRequest {
    let placeholder = params.placeholder.map(|text| cut(text, LABEL_BYTES));
    question(
        params.title,
        DialogKind::Input { placeholder },
        params.timeout_ms,
    )
}

fn editor(params: EditorParams) -> ExtensionRequest {
    let prefill = params.prefill.map(|text| cut(text, PREFILL_BYTES));
    question(
        params.title,
        DialogKind::Editor { prefill },
        params.timeout_ms,
    )
}

fn message(params: MessageSendParams) -> ExtensionRequest {
    let content = match params.content {
        ContentInput::Text(text) => UserContent::Text(cut(text, TEXT_BYTES)),
        pieces @ ContentInput::Pieces(_) => {
            UserContent::Blocks(content::blocks(pieces, TEXT_BYTES))
        }
    };
    let injected = Injected::Custom {
        custom_type: cut(params.custom_type, LABEL_BYTES),
        content,
        display: params.display,
        details: params.details,
    };
    let delivery = Delivery {
        trigger_turn: params.trigger_turn,
        deliver_as: params.deliver_as.map(|how| match how {
            wire::DeliverAs::Steer => DeliverAs::Steer,
            wire::DeliverAs::FollowUp => DeliverAs::FollowUp,
            wire::DeliverAs::NextTurn => DeliverAs::NextTurn,
        }),
    };
    ExtensionRequest::Say(Box::new(injected), delivery)
}

fn user_message(params: UserMessageSendParams) -> ExtensionRequest {
    let delivery = Delivery {
        trigger_turn: Some(true),
        deliver_as: params.deliver_as.map(|how| match how {
            wire::JoinAs::Steer => DeliverAs::Steer,
            wire::JoinAs::FollowUp => DeliverAs::FollowUp,
        }),
    };
    let said = content::blocks(params.content, TEXT_BYTES);
    ExtensionRequest::Say(Box::new(Injected::User(said)), delivery)
}

fn question(title: String, kind: DialogKind, timeout_ms: Option<u64>) -> ExtensionRequest {
    ExtensionRequest::Question(Dialog {
        title: cut(title, LABEL_BYTES),
        kind,
        form: None,
        timeout_ms,
    })
}
