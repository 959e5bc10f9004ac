//! What an extension asks of the person and of the session.

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_wire::extension::{
    ConfirmParams, ConfirmResult, EditorParams, InputParams, SelectOption, SelectParams,
    StateGetParams, StateGetResult, StateSetParams, StateSetResult, ValueResult, method,
};
use stentor_wire::jsonrpc::{Id, RawJson, code};

use super::connection::Connection;
use super::limits::{LABEL_BYTES, LIST_ITEMS, MESSAGE_BYTES, PREFILL_BYTES, fit};
use super::one::Extension;
use super::port::Port;

/// Something an extension asks, read and made to fit.
pub(super) enum Ask {
    Question(Dialog),
    Set(StateSetParams),
    Get(StateGetParams),
}

/// A request that makes no sense: an error code and a message.
pub(super) type Refusal = (i64, String);

impl Ask {
    /// Reads a request. `None` when there is no such method here.
    pub fn read(method: &str, params: RawJson<'_>) -> Option<Result<Self, Refusal>> {
        let read = match method {
            method::UI_SELECT => params.parse().map(select),
            method::UI_CONFIRM => params.parse().map(confirm),
            method::UI_INPUT => params.parse().map(input),
            method::UI_EDITOR => params.parse().map(editor),
            method::STATE_SET => params.parse().map(Ask::Set),
            method::STATE_GET => params.parse().map(Ask::Get),
            _ => return None,
        };
        Some(read.map_err(|error| (code::INVALID_PARAMS, error.to_string())))
    }

    /// Has it answered, which takes as long as the person does.
    pub async fn answer(self, id: &Id, connection: &Connection, extension: &Extension) {
        let (port, state) = (&*extension.port, &extension.state_store);
        let outbox = &connection.outbox;
        let sent = match self {
            Ask::Question(dialog) => {
                let is_confirm = matches!(dialog.kind, DialogKind::Confirm { .. });
                let answer = match extension.spec.unasked {
                    Some(policy) if is_confirm && !port.can_ask() => {
                        DialogAnswer::Confirmed(policy)
                    }
                    _ => ask(dialog, connection, port).await,
                };
                if is_confirm {
                    outbox.answer(id, &confirmed(&answer)).await
                } else {
                    outbox.answer(id, &value(answer)).await
                }
            }
            Ask::Set(StateSetParams { key, value }) => match state.set(port, key, value).await {
                Ok(entry_id) => outbox.answer(id, &StateSetResult { entry_id }).await,
                Err(why) => outbox.refuse(Some(id), code::INVALID_PARAMS, &why),
            },
            Ask::Get(StateGetParams { key }) => match state.get(port, &key).await {
                Ok(value) => outbox.answer(id, &StateGetResult { value }).await,
                Err(why) => outbox.refuse(Some(id), code::INTERNAL_ERROR, &why),
            },
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "an extension was not told the answer to what it asked");
        }
    }
}

async fn ask(dialog: Dialog, connection: &Connection, port: &Port) -> DialogAnswer {
    let mut question = connection.question();
    tokio::select! {
        answer = port.ask(dialog) => answer,
        () = question.withdrawn() => DialogAnswer::Nothing,
    }
}

fn confirmed(answer: &DialogAnswer) -> ConfirmResult {
    match answer {
        DialogAnswer::Confirmed(confirmed) => ConfirmResult {
            confirmed: *confirmed,
            answered: true,
        },
        DialogAnswer::Value(_) | DialogAnswer::Nothing => ConfirmResult::default(),
    }
}

fn value(answer: DialogAnswer) -> ValueResult {
    match answer {
        DialogAnswer::Value(value) => ValueResult { value: Some(value) },
        DialogAnswer::Confirmed(_) | DialogAnswer::Nothing => ValueResult::default(),
    }
}

fn select(params: SelectParams) -> Ask {
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
            label: fit(label.unwrap_or_else(|| value.clone()), LABEL_BYTES),
            value: fit(value, LABEL_BYTES),
            description: description.map(|text| fit(text, LABEL_BYTES)),
        }
    });
    let options = options.collect();
    question(
        params.title,
        DialogKind::Select { options },
        params.timeout_ms,
    )
}

fn confirm(params: ConfirmParams) -> Ask {
    let message = fit(params.message, MESSAGE_BYTES);
    question(
        params.title,
        DialogKind::Confirm { message },
        params.timeout_ms,
    )
}

fn input(params: InputParams) -> Ask {
    let placeholder = params.placeholder.map(|text| fit(text, LABEL_BYTES));
    question(
        params.title,
        DialogKind::Input { placeholder },
        params.timeout_ms,
    )
}

fn editor(params: EditorParams) -> Ask {
    let prefill = params.prefill.map(|text| fit(text, PREFILL_BYTES));
    question(
        params.title,
        DialogKind::Editor { prefill },
        params.timeout_ms,
    )
}

fn question(title: String, kind: DialogKind, timeout_ms: Option<u64>) -> Ask {
    Ask::Question(Dialog {
        title: fit(title, LABEL_BYTES),
        kind,
        timeout_ms,
    })
}
