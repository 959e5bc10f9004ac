//! Turns that are interrupted as soon as they go on: one is aborted, one is steered. An agent may go on with
//! a message that it was steered with after an abort, so these are two.

use std::time::Duration;

use stentor_client::{
    AgentEvent, AgentPrompt, ChildAgent, Events, Feature, FeatureSupport, PromptPicture,
    TurnEndReason,
};
use tokio::time::timeout;

use super::{KnownBy, TriedFeatures, note};

/// What takes long enough to be interrupted, and changes nothing.
const PROMPT: &str = "This is a check of the connection, which is interrupted at once. Count from 1 to 1000 in \
    words, one number on each line, and use no tools.";

/// What the turn is steered with.
const MESSAGE: &str = "Stop here.";

/// A picture of one white pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJ\
     RU5ErkJggg==";

/// How long the agent may take to show that it works. An interruption that comes too early is missed by some.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// How long an aborted turn may take to end: longer than until the agent is given up.
const ENDED_WITHIN: Duration = Duration::from_secs(15);

/// Gives the agent a prompt, with a picture where it takes some, and stops it at once.
pub(super) async fn try_abort(agent: &ChildAgent, events: &mut Events, tried: &mut TriedFeatures) {
    let with_picture = !matches!(agent.support(Feature::Pictures), FeatureSupport::No(_));
    let picture = with_picture.then(|| PromptPicture {
        mime_type: "image/png".to_owned(),
        data: PIXEL.to_owned(),
    });
    let prompt = AgentPrompt::with_pictures(PROMPT, picture.into_iter().collect());
    let mut turn = InterruptedTurn { events, end: None };
    let prompted = turn.while_reading(agent.prompt(prompt)).await;
    if prompted.is_err() {
        if with_picture {
            note(tried, Feature::Pictures, &prompted);
        }
        return;
    }
    // One that shows nothing is aborted all the same.
    let _ = timeout(SHOWN_WITHIN, turn.is_seen()).await;
    let is_aborted = turn.end.is_none();
    if is_aborted {
        let aborted = turn.while_reading(agent.abort()).await;
        if aborted.is_err() {
            note(tried, Feature::Abort, &aborted);
            return;
        }
    }
    let _ = timeout(ENDED_WITHIN, turn.is_over()).await;
    let (pictures, abort) = match turn.end {
        Some(TurnEndReason::Aborted) => (Some(KnownBy::Tried), Some(KnownBy::Tried)),
        // It was faster.
        Some(TurnEndReason::Completed | TurnEndReason::Limit | TurnEndReason::Refused) => {
            (Some(KnownBy::Tried), None)
        }
        Some(TurnEndReason::Failed(why)) => match is_aborted {
            true => (None, Some(KnownBy::Failed(why))),
            false => (Some(KnownBy::Failed(why)), None),
        },
        None => {
            let why = "its turn has not ended".to_owned();
            (None, Some(KnownBy::Failed(why)))
        }
    };
    let pictures = pictures.filter(|_| with_picture);
    tried.extend(pictures.map(|known_by| (Feature::Pictures, known_by)));
    tried.extend(abort.map(|known_by| (Feature::Abort, known_by)));
}

/// Gives an agent that can be steered a prompt, and steers it. What comes of that turn is left to its end.
pub(super) async fn try_steering(
    agent: &ChildAgent,
    events: &mut Events,
    tried: &mut TriedFeatures,
) {
    if matches!(agent.support(Feature::Steer), FeatureSupport::No(_)) {
        return;
    }
    let mut turn = InterruptedTurn { events, end: None };
    if turn.while_reading(agent.prompt(PROMPT)).await.is_err() {
        return;
    }
    let _ = timeout(SHOWN_WITHIN, turn.is_seen()).await;
    if turn.end.is_none() {
        let steered = turn.while_reading(agent.steer(MESSAGE)).await;
        // A turn that has ended meanwhile cannot be steered.
        if steered.is_ok() || turn.end.is_none() {
            note(tried, Feature::Steer, &steered);
        }
    }
}

/// The turn, and how it ended.
struct InterruptedTurn<'a> {
    events: &'a mut Events,
    end: Option<TurnEndReason>,
}

impl InterruptedTurn<'_> {
    /// Until the agent has shown something, or the turn is over.
    async fn is_seen(&mut self) {
        while let Some(event) = self.events.next().await {
            let is_shown = matches!(
                event,
                AgentEvent::Text(_) | AgentEvent::Thinking(_) | AgentEvent::ToolCalled(_)
            );
            self.see(event);
            if is_shown || self.end.is_some() {
                return;
            }
        }
    }

    async fn is_over(&mut self) {
        while self.end.is_none() {
            match self.events.next().await {
                Some(event) => self.see(event),
                None => return,
            }
        }
    }

    /// What comes of `work`, with what happens meanwhile seen: nobody answers whose events are not read.
    async fn while_reading<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(event) = self.events.next() => self.see(event),
            }
        }
    }

    fn see(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::TurnEnded(end) => self.end = Some(end.reason),
            AgentEvent::Exited(exit) if self.end.is_none() => {
                self.end = Some(TurnEndReason::Failed(exit.to_string()));
            }
            _ => {}
        }
    }
}
