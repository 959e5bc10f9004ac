//! Handshake, ping, subscriptions (sections 5 and 9.1).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stentor_wire::edn::{Keyword, Value};
use stentor_wire::psi::{ErrorCode, PROTOCOL_VERSION, Topic, TopicSet, is_supported_version};

use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::payload;
use crate::psi::request::{OpCall, OpDone, OpResult};

/// What this side can do besides (section 5).
const FEATURES: [&str; 2] = ["eql-graph", "eql-memory"];

/// The longest version that is repeated in an error.
const SHOWN_VERSION_CHARS: usize = 40;

pub async fn handshake(call: &mut OpCall<'_>) -> OpResult {
    let info = call.params.get("client-info");
    let version = info
        .and_then(|info| info.get("protocol-version"))
        .or_else(|| call.params.get("protocol-version"));
    let Some(version) = version.and_then(Value::as_str) else {
        let message = ":client-info must have a :protocol-version that is a string";
        return Err(OpError::params(message));
    };
    if !is_supported_version(version) {
        call.connection.ready = false;
        let shown: String = version.chars().take(SHOWN_VERSION_CHARS).collect();
        let message = format!("unsupported protocol version {shown}; this side speaks 1.x");
        return Err(OpError::new(ErrorCode::UnsupportedVersion, message));
    }
    call.connection.ready = true;
    let state = match &call.connection.focus {
        Some(live) => Some(live.session.state().await?),
        None => None,
    };
    let model = state.as_ref().and_then(|state| state.model.as_ref());
    let thinking = state.as_ref().map(|state| state.thinking.as_str());
    OpDone::data(payload::map(|data| {
        data.key("server-info").map(|info| {
            info.field("protocol-version", PROTOCOL_VERSION)
                .field("features", &FEATURES[..])
                .field("session-id", &state.as_ref().map(|state| &*state.id))
                .field("model-id", &model.map(|model| &model.id))
                .field("thinking-level", &thinking)
                .field("ui-type", &Keyword("emacs"));
        });
    }))
    .into()
}

pub fn ping() -> OpDone {
    OpDone::map(&[("pong", &true), ("protocol-version", &PROTOCOL_VERSION)])
}

pub async fn subscribe(call: &mut OpCall<'_>) -> OpResult {
    let named = topics(call)?;
    let live = call.target().await?;
    for topic in &named {
        call.connection.topics.add(*topic);
    }
    let is_first = !std::mem::replace(&mut call.connection.subscribed, true);
    call.connection.focus = Some(Arc::clone(&live));
    if call.connection.topics.names(Topic::DialogRequested) {
        let shared = call.shared();
        shared.shows_dialogs.store(true, Ordering::Release);
        for live in shared.sessions() {
            shared.let_ask(&live).await?;
        }
    }
    let mut parts = vec![
        ItemPart::Topics(call.connection.topics),
        ItemPart::Focus(Arc::clone(&live)),
    ];
    if is_first && call.connection.topics.covers(Topic::AssistantMessage) {
        parts.push(ItemPart::Footer(Arc::clone(&live)));
    }
    if named.iter().any(|topic| topic.is_ui()) {
        parts.push(ItemPart::UiSnapshot);
    }
    parts.extend([ItemPart::Snapshots(Arc::clone(&live)), ItemPart::Context]);
    let done = subscribed(call.connection.topics).of(&live);
    done.behind(parts).into()
}

pub async fn unsubscribe(call: &mut OpCall<'_>) -> OpResult {
    match call.params.items("topics")? {
        Some(_) => {
            for topic in topics(call)? {
                call.connection.topics.remove(topic);
            }
        }
        None => call.connection.topics.clear(),
    }
    if !call.connection.topics.names(Topic::DialogRequested) {
        call.connection.shared.stop_asking().await?;
    }
    let topics = call.connection.topics;
    let done = subscribed(topics).behind(vec![ItemPart::Topics(topics)]);
    done.into()
}

/// The known ones among the topics that are named (section 8).
fn topics(call: &OpCall<'_>) -> Result<Vec<Topic>, OpError> {
    let items = call.params.items("topics")?.unwrap_or_default();
    let named = items.iter().map(|name| Topic::parse(name.as_str()?));
    Ok(named.flatten().collect())
}

fn subscribed(topics: TopicSet) -> OpDone {
    OpDone::map(&[("subscribed", &topics.names_sorted())])
}
