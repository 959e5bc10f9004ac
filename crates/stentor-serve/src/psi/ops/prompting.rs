//! Prompting, steering, stopping (section 9.3).

use std::sync::Arc;

use stentor_agent::event::{CommandSource, EventKind};
use stentor_agent::session::{Accepted, SessionError};
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_wire::edn::Value;
use tokio_util::sync::CancellationToken;

use crate::picture;
use crate::psi::error::OpError;
use crate::psi::item::Part;
use crate::psi::live::Live;
use crate::psi::ops::login;
use crate::psi::params::word_of;
use crate::psi::payload;
use crate::psi::request::{Answerer, Call, Done, Handled};
use crate::psi::slash;

pub(in crate::psi) async fn prompt(call: &mut Call<'_>) -> Handled {
    let text = call.params.filled("message")?;
    let images = images(call)?;
    let live = call.target().await?;
    if let Some(pasted) = call.connection.shared.login.take_for_prompt(text) {
        return login::pasted(call, live, pasted, text.to_owned());
    }
    if let Some(handled) = slash::through_prompt(call, &live, text).await {
        return handled;
    }
    let mut content = vec![ContentBlock::text(text)];
    content.extend(images);
    let called = live.session.slash().called(text);
    if called.is_some_and(|called| called.source == CommandSource::McpPrompt) {
        return run_fetched(&call.answerer, live, content);
    }
    let content = live.session.expand(content).await?;
    run(call.answerer.clone(), live, content).await
}

/// The same with a prompt that a server is asked for first: nobody else waits for it.
fn run_fetched(answerer: &Answerer, live: Arc<Live>, content: Vec<ContentBlock>) -> Handled {
    let starter = answerer.clone();
    answerer.later(async move {
        let accepted = prepared(&live, content, live.preparing()).await?;
        Ok(begun(&starter, &live, accepted))
    })
}

/// Prepares a prompt and has it accepted. An abort since `preparing` was taken stops it, too: no
/// run may begin after an abort that was sent behind its prompt.
async fn prepared(
    live: &Live,
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
async fn run(answerer: Answerer, live: Arc<Live>, content: Vec<ContentBlock>) -> Handled {
    let may_wait = live.is_aborting();
    let session = live.session.clone();
    let mut prompting = Box::pin(async move { session.prompt(content).await });
    if !may_wait {
        let accepted = prompting.await?;
        return begun(&answerer, &live, accepted).into();
    }
    // The run before is being stopped and this one waits for it: others must not.
    match futures_util::poll!(&mut prompting) {
        std::task::Poll::Ready(accepted) => begun(&answerer, &live, accepted?).into(),
        std::task::Poll::Pending => {
            let starter = answerer.clone();
            answerer.later(async move {
                let accepted = prompting.await?;
                Ok(begun(&starter, &live, accepted))
            })
        }
    }
}

fn begun(answerer: &Answerer, live: &Arc<Live>, accepted: Accepted) -> Done {
    let mut done = Done::accepted().of(live);
    done.after = vec![
        Part::RunBegins(Arc::clone(&live.id), answerer.cause()),
        Part::Release(accepted),
    ];
    done
}

pub(in crate::psi) async fn while_streaming(call: &mut Call<'_>) -> Handled {
    let content = message(call)?;
    let behavior = call.params.word("behavior")?.unwrap_or("steer");
    if !matches!(behavior, "steer" | "queue") {
        return Err(OpError::params(format!(
            ":behavior must be \"steer\" or \"queue\", not {behavior:?}"
        )));
    }
    let live = call.target().await?;
    let content = live.session.expand(content).await?;
    let state = live.session.state().await?;
    let (done, queued) = if state.interrupt_pending {
        ("coerced-follow-up", live.session.follow_up(content).await)
    } else if behavior == "steer" {
        ("steer", live.session.steer(content).await)
    } else {
        ("queue", live.session.follow_up(content).await)
    };
    queued?;
    call.answer(&live, |data| {
        data.field("accepted", &true).field("behavior", done);
    })
}

pub(in crate::psi) async fn steer(call: &mut Call<'_>) -> Handled {
    let content = message(call)?;
    let live = call.target().await?;
    let content = live.session.expand(content).await?;
    live.session.steer(content).await?;
    call.accept(&live)
}

pub(in crate::psi) async fn follow_up(call: &mut Call<'_>) -> Handled {
    let content = message(call)?;
    let live = call.target().await?;
    let content = live.session.expand(content).await?;
    live.session.follow_up(content).await?;
    call.accept(&live)
}

pub(in crate::psi) async fn interrupt(call: &mut Call<'_>) -> Handled {
    let live = call.target().await?;
    let interrupted = live.session.interrupt().await?;
    let mut dropped: Vec<&str> = Vec::new();
    for text in interrupted.dropped_steering.iter().map(|text| text.trim()) {
        if !text.is_empty() && !dropped.contains(&text) {
            dropped.push(text);
        }
    }
    let data = payload::map(|data| {
        data.field("accepted", &interrupted.accepted)
            .field("pending", &interrupted.pending)
            .field("dropped-steering-text", &dropped.join("\n"));
    });
    let mut done = Done::data(data).of(&live);
    if interrupted.accepted {
        done.before.push(Part::Interrupting(live));
    }
    done.into()
}

pub(in crate::psi) async fn abort(call: &mut Call<'_>) -> Handled {
    let live = call.target().await?;
    let session = live.session.clone();
    live.stop_preparing();
    let aborting = live.aborting();
    let mut ending = Box::pin(async move {
        let ended: Result<(), SessionError> = session.abort().await;
        drop(aborting);
        ended
    });
    // With this the session knows; that it takes a moment to stop must keep nobody waiting.
    match futures_util::poll!(&mut ending) {
        std::task::Poll::Ready(ended) => ended?,
        std::task::Poll::Pending => {
            tasks::spawn(ending);
        }
    }
    call.accept(&live)
}

pub(in crate::psi) async fn abort_retry(call: &mut Call<'_>) -> Handled {
    let live = call.target().await?;
    live.session.abort_retry().await?;
    call.accept(&live)
}

/// Runs a prompt to its end and answers then, as a slash command that expands does
/// (section 13.2). Nothing waits for it.
pub(in crate::psi) fn run_to_its_end(
    answerer: &Answerer,
    live: &Arc<Live>,
    text: String,
) -> Handled {
    let (starter, live) = (answerer.clone(), Arc::clone(live));
    answerer.later(async move {
        run_through(&starter, &live, text, live.preparing()).await?;
        Ok(Done::data(slash::handled(true)).of(&live))
    })
}

/// Has the agent asked something, and waits until it is idle again. Nothing is asked if there was
/// an abort since `preparing` was taken.
pub(in crate::psi) async fn run_through(
    starter: &Answerer,
    live: &Live,
    text: String,
    preparing: CancellationToken,
) -> Result<(), OpError> {
    let content = vec![ContentBlock::text(text)];
    let accepted = prepared(live, content, preparing).await?;
    // The end of a run before, which this one may have waited for, is not its end; and an abort
    // may have ended it already.
    let events = live.session.subscribe_since(accepted.after());
    let mut events = events.unwrap_or_else(|_| live.session.subscribe());
    let begin = vec![
        Part::RunBegins(Arc::clone(&live.id), starter.cause()),
        Part::Release(accepted),
    ];
    starter.shared.write(begin).await;
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::Settled { .. }) {
            break;
        }
    }
    Ok(())
}

fn message(call: &Call<'_>) -> Result<Vec<ContentBlock>, OpError> {
    let mut content = vec![ContentBlock::text(call.params.filled("message")?)];
    content.extend(images(call)?);
    Ok(content)
}

/// The pictures of a prompt: `{:type :image :mime-type s :data s}`.
fn images(call: &Call<'_>) -> Result<Vec<ContentBlock>, OpError> {
    let wrong = || {
        OpError::params(
            ":images must be a vector of {:type :image :mime-type \"image/…\" :data \"base64\"}",
        )
    };
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
