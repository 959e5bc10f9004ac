//! Prompting, steering, stopping (section 9.3).

use std::sync::Arc;

use stentor_agent::event::{CommandSource, EventKind};
use stentor_agent::session::{Accepted, SessionError};
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_wire::edn::Value;
use stentor_wire::psi::Op;
use tokio_util::sync::CancellationToken;

use crate::picture;
use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::live::PsiSession;
use crate::psi::login;
use crate::psi::params::word_of;
use crate::psi::request::{OpCall, OpDone, OpResult, RequestAnswerer};
use crate::psi::slash;

pub async fn prompt(call: &mut OpCall<'_>) -> OpResult {
    let text = call.params.filled("message")?;
    let content = message(call)?;
    let live = call.target().await?;
    if let Some(pasted) = call.shared().login.take_for_prompt(text) {
        return login::pasted(call, live, pasted, text.to_owned());
    }
    if let Some(handled) = slash::through_prompt(call, &live, text).await {
        return handled;
    }
    let called = live.session.slash().called(text);
    if called.is_some_and(|called| called.source == CommandSource::McpPrompt) {
        // A server is asked for the prompt first: nobody else waits for it.
        return call.answerer.later(async move {
            let accepted = prepared(&live, content, live.preparing()).await?;
            Ok(begun(&live, accepted))
        });
    }
    let content = live.session.expand(content).await?;
    run(&call.answerer, live, content).await
}

/// Prepares a prompt and has it accepted. An abort since `preparing` was taken stops it, too: no
/// run may begin after an abort that was sent behind its prompt.
async fn prepared(
    live: &PsiSession,
    content: Vec<ContentBlock>,
    preparing: CancellationToken,
) -> Result<Accepted, OpError> {
    let aborted = || OpError::failed("aborted before it began");
    let content = tokio::select! {
        biased;
        () = preparing.cancelled() => return Err(aborted()),
        content = live.session.expand(content) => content?,
    };
    let accepted = live.session.prompt(content).await?;
    if preparing.is_cancelled() {
        // The session heard of the abort first.
        live.session.abort_run(accepted.run()).await?;
        return Err(aborted());
    }
    Ok(accepted)
}

/// Starts a run and answers before its first event.
async fn run(
    answerer: &RequestAnswerer,
    live: Arc<PsiSession>,
    content: Vec<ContentBlock>,
) -> OpResult {
    let may_wait = live.locked().aborting > 0;
    let starting = async move {
        let accepted = live.session.prompt(content).await?;
        Ok(begun(&live, accepted))
    };
    // When the run before is being stopped, this one waits for it: others must not.
    match may_wait {
        true => answerer.later(starting),
        false => starting.await.map(Some),
    }
}

fn begun(live: &Arc<PsiSession>, accepted: Accepted) -> OpDone {
    let mut done = OpDone::accepted().of(live);
    done.after = ItemPart::run(live, accepted);
    done
}

pub async fn while_streaming(call: &mut OpCall<'_>) -> OpResult {
    let content = message(call)?;
    let behavior = call.params.word("behavior")?.unwrap_or("steer");
    if !matches!(behavior, "steer" | "queue") {
        return Err(OpError::params(format!(
            ":behavior must be \"steer\" or \"queue\", not {behavior:?}"
        )));
    }
    let (live, content) = expanded(call, content).await?;
    let state = live.session.state().await?;
    let (done, queued) = match behavior {
        _ if state.interrupt_pending => {
            ("coerced-follow-up", live.session.follow_up(content).await)
        }
        "steer" => ("steer", live.session.steer(content).await),
        _ => ("queue", live.session.follow_up(content).await),
    };
    queued?;
    let done = OpDone::map(&[("accepted", &true), ("behavior", &done)]);
    done.of(&live).into()
}

/// `steer` and `follow_up`.
pub async fn queue(call: &mut OpCall<'_>, op: Op) -> OpResult {
    let (live, content) = expanded(call, message(call)?).await?;
    match op {
        Op::Steer => live.session.steer(content).await?,
        _ => live.session.follow_up(content).await?,
    }
    OpDone::accepted().of(&live).into()
}

pub async fn interrupt(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let interrupted = live.session.interrupt().await?;
    let mut dropped: Vec<&str> = Vec::new();
    for text in interrupted.dropped_steering.iter().map(|text| text.trim()) {
        if !text.is_empty() && !dropped.contains(&text) {
            dropped.push(text);
        }
    }
    let done = OpDone::map(&[
        ("accepted", &interrupted.accepted),
        ("pending", &interrupted.pending),
        ("dropped-steering-text", &dropped.join("\n")),
    ]);
    let mut done = done.of(&live);
    if interrupted.accepted {
        done.before.push(ItemPart::Interrupting(live));
    }
    done.into()
}

pub async fn abort(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    {
        let mut state = live.locked();
        std::mem::take(&mut state.preparing).cancel();
        state.aborting += 1;
    }
    let aborted = Arc::clone(&live);
    let mut ending = Box::pin(async move {
        let ended: Result<(), SessionError> = aborted.session.abort().await;
        aborted.locked().aborting -= 1;
        ended
    });
    // With this the session knows; that it takes a moment to stop must keep nobody waiting.
    match futures_util::poll!(&mut ending) {
        std::task::Poll::Ready(ended) => ended?,
        std::task::Poll::Pending => drop(tasks::spawn(ending)),
    }
    OpDone::accepted().of(&live).into()
}

/// Runs a prompt to its end and answers then, as a slash command that expands does
/// (section 13.2). Nothing waits for it.
pub fn run_to_its_end(
    answerer: &RequestAnswerer,
    live: &Arc<PsiSession>,
    text: String,
) -> OpResult {
    let (starter, live) = (answerer.clone(), Arc::clone(live));
    answerer.later(async move {
        run_through(&starter, &live, text, live.preparing()).await?;
        Ok(OpDone::data(slash::handled(true)).of(&live))
    })
}

/// Has the agent asked something, and waits until it is idle again. Nothing is asked if there was
/// an abort since `preparing` was taken.
pub async fn run_through(
    starter: &RequestAnswerer,
    live: &Arc<PsiSession>,
    text: String,
    preparing: CancellationToken,
) -> Result<(), OpError> {
    let content = vec![ContentBlock::text(text)];
    let accepted = prepared(live, content, preparing).await?;
    // The end of a run before, which this one may have waited for, is not its end; and an abort
    // may have ended it already.
    let events = live.session.subscribe_since(accepted.after());
    let mut events = events.unwrap_or_else(|_| live.session.subscribe());
    starter.write(None, ItemPart::run(live, accepted)).await;
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::Settled { .. }) {
            break;
        }
    }
    Ok(())
}

/// What a message that goes into a run says, and the session it is for.
async fn expanded(
    call: &OpCall<'_>,
    content: Vec<ContentBlock>,
) -> Result<(Arc<PsiSession>, Vec<ContentBlock>), OpError> {
    let live = call.target().await?;
    let content = live.session.expand(content).await?;
    Ok((live, content))
}

fn message(call: &OpCall<'_>) -> Result<Vec<ContentBlock>, OpError> {
    let mut content = vec![ContentBlock::text(call.params.filled("message")?)];
    content.extend(images(call)?);
    Ok(content)
}

/// The pictures of a prompt: `{:type :image :mime-type s :data s}`.
fn images(call: &OpCall<'_>) -> Result<Vec<ContentBlock>, OpError> {
    let form = ":images must be a vector of {:type :image :mime-type \"image/…\" :data \"base64\"}";
    let wrong = || OpError::params(form);
    let items = call.params.items("images")?.unwrap_or_default();
    items
        .iter()
        .map(|image| {
            let is_image = image.get("type").and_then(word_of) == Some("image");
            let text = |key: &str| image.get(key).and_then(Value::as_str);
            let (mime_type, data) = text("mime-type").zip(text("data")).ok_or_else(wrong)?;
            if !is_image || data.is_empty() {
                return Err(wrong());
            }
            picture::sent(data.to_owned(), mime_type.to_owned()).map_err(|_| wrong())
        })
        .collect()
}
