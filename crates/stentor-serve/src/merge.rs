//! Events and answers in the order in which they must appear.
//!
//! Events come through subscriptions, answers to commands from whoever handled the command. Two
//! orders matter: the events an operation caused come before its answer (an abort's last events),
//! and an answer comes before the events of what it started (a prompt's acknowledgement). Both
//! follow from one number: an answer is written after all events up to the number that was the
//! newest when the answer was made, and before all later ones.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::select_all;
use stentor_agent::event::Event;
use stentor_agent::hub::Subscription;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What is to be written next.
pub enum MergedItem<A> {
    Event(Event),
    Answer(A),
    /// This session is gone, and all its events were given out.
    Gone(Arc<str>),
}

/// An answer and its place.
pub struct PlacedAnswer<A> {
    /// Without one it follows the answers before it and nothing else.
    pub after: Option<EventPlace>,
    pub answer: A,
}

/// A place among the events of a session: behind all up to a number, before later ones.
#[derive(Debug, Clone)]
pub struct EventPlace {
    pub session: Arc<str>,
    pub seq: u64,
}

/// The events of sessions and the answers to commands, as one sequence.
pub struct Merge<A> {
    sources: Vec<Subscription>,
    answers: mpsc::Receiver<PlacedAnswer<A>>,
    /// Somebody can still answer.
    answering: bool,
    /// An answer that goes behind events that still wait.
    answer: Option<PlacedAnswer<A>>,
    /// An event that was taken out when an answer was seen that goes before it.
    event: Option<Event>,
    /// The source that is looked at first: each has its turn.
    first: usize,
    /// Until then deltas gather in the queues of the sources.
    rests_until: Option<Instant>,
}

impl<A> Merge<A> {
    /// No sources yet: only answers come.
    pub fn new(answers: mpsc::Receiver<PlacedAnswer<A>>) -> Self {
        Self {
            sources: Vec::new(),
            answers,
            answering: true,
            answer: None,
            event: None,
            first: 0,
            rests_until: None,
        }
    }

    /// Gives out the events of one more session.
    pub fn attach(&mut self, events: Subscription) {
        self.sources.push(events);
    }

    /// Gives out no more events of a session.
    pub fn detach(&mut self, session: &str) {
        self.sources.retain(|source| &**source.session() != session);
        self.event.take_if(|event| &*event.session == session);
    }

    /// Lets deltas gather for a while. Answers and everything that is no delta end the rest.
    pub fn rest(&mut self, until: Option<Instant>) {
        self.rests_until = until;
    }

    /// What is to be written next, if it is there already.
    pub fn ready(&mut self) -> Option<MergedItem<A>> {
        let answer = self.answer.take().or_else(|| self.answers.try_recv().ok());
        if let Some(answer) = answer {
            return Some(self.in_its_place(answer));
        }
        if let Some(event) = self.event.take() {
            return Some(MergedItem::Event(event));
        }
        if self.rests_until.is_some() {
            return None;
        }
        let event = self.take_event()?;
        Some(self.behind_answers(event))
    }

    /// What goes before something else at a place: an answer that waits for its events, and events
    /// up to the place.
    pub fn before(&mut self, place: &EventPlace) -> Option<MergedItem<A>> {
        if let Some(answer) = self.answer.take() {
            return Some(self.in_its_place(answer));
        }
        self.event_up_to(Some(place)).map(MergedItem::Event)
    }

    /// Waits for what is to be written next. `None` when nothing more can come. What was not given
    /// out when the future is dropped is given out later.
    pub async fn next(&mut self) -> Option<MergedItem<A>> {
        loop {
            if let Some(next) = self.ready() {
                return Some(next);
            }
            if self.sources.is_empty() && !self.answering {
                return None;
            }
            tokio::select! {
                biased;
                answer = self.answers.recv(), if self.answering => match answer {
                    Some(answer) => return Some(self.in_its_place(answer)),
                    None => self.answering = false,
                },
                (index, event) = next_event(&mut self.sources, self.rests_until) => {
                    return Some(match event {
                        Some(event) => self.behind_answers(event),
                        None => MergedItem::Gone(Arc::clone(self.sources.swap_remove(index).session())),
                    });
                }
            }
        }
    }

    /// The answer, unless an event goes before it.
    fn in_its_place(&mut self, answer: PlacedAnswer<A>) -> MergedItem<A> {
        match self.event_up_to(answer.after.as_ref()) {
            Some(event) => {
                self.answer = Some(answer);
                MergedItem::Event(event)
            }
            None => MergedItem::Answer(answer.answer),
        }
    }

    /// The event, unless an answer that was made before it came while it was looked for.
    fn behind_answers(&mut self, event: Event) -> MergedItem<A> {
        match self.answers.try_recv() {
            Ok(answer) => {
                self.event = Some(event);
                self.in_its_place(answer)
            }
            Err(_) => MergedItem::Event(event),
        }
    }

    fn event_up_to(&mut self, after: Option<&EventPlace>) -> Option<Event> {
        let EventPlace { session, seq } = after?;
        let goes_before = |event: &mut Event| event.session == *session && event.seq <= *seq;
        if let Some(event) = self.event.take_if(goes_before) {
            return Some(event);
        }
        let mut sources = self.sources.iter_mut();
        let source = sources.find(|source| source.session() == session)?;
        source.try_next_up_to(*seq)
    }

    fn take_event(&mut self) -> Option<Event> {
        let count = self.sources.len();
        for turn in 0..count {
            let index = (self.first + turn) % count;
            let event = self.sources.get_mut(index).and_then(Subscription::try_next);
            if event.is_some() {
                self.first = index + 1;
                return event;
            }
        }
        None
    }
}

/// The next event of any session, and which; never when there is no session. During a rest only
/// when something other than a delta comes.
async fn next_event(
    sources: &mut [Subscription],
    rests_until: Option<Instant>,
) -> (usize, Option<Event>) {
    match sources {
        [] => std::future::pending().await,
        // Dialects with one session wait often, and should not allocate for it.
        [only] => (0, next_of(only, rests_until).await),
        sources => {
            let nexts = sources.iter_mut();
            let nexts = nexts.map(|source| next_of(source, rests_until).boxed());
            let (event, index, _) = select_all(nexts).await;
            (index, event)
        }
    }
}

async fn next_of(source: &mut Subscription, rests_until: Option<Instant>) -> Option<Event> {
    if let Some(until) = rests_until {
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = source.beyond_a_delta() => {}
        }
    }
    source.next().await
}

#[cfg(test)]
mod tests {
    use stentor_agent::event::EventKind;
    use stentor_agent::hub::Hub;
    use stentor_journal::clock::CountingClock;

    use super::*;

    fn hub(name: &str) -> Hub {
        Hub::new(Arc::from(name), Arc::new(CountingClock::starting_at(0)))
    }

    fn shown(next: MergedItem<&str>) -> String {
        match next {
            MergedItem::Event(event) => format!("{}{}", event.session, event.seq),
            MergedItem::Answer(answer) => answer.to_owned(),
            MergedItem::Gone(session) => format!("{session} gone"),
        }
    }

    /// One session's answers wait for its own events only, and an event that was taken out before
    /// an answer was seen keeps its place.
    #[tokio::test]
    async fn answers_stand_among_the_events_of_their_session() {
        let (sender, answers) = mpsc::channel(8);
        let mut merge = Merge::new(answers);
        let (a, b) = (hub("a"), hub("b"));
        merge.attach(a.subscribe());
        merge.attach(b.subscribe());
        for _ in 0..3 {
            a.publish(EventKind::TurnStarted);
            b.publish(EventKind::TurnStarted);
        }
        let first = merge.take_event().unwrap();
        for (session, seq, answer) in [("a", 0, "x"), ("b", 2, "y"), ("a", 2, "z")] {
            let session = Arc::from(session);
            let after = Some(EventPlace { session, seq });
            sender.send(PlacedAnswer { after, answer }).await.unwrap();
        }
        let after = None;
        let last = PlacedAnswer { after, answer: "!" };
        sender.send(last).await.unwrap();
        let mut seen = vec![shown(merge.behind_answers(first))];
        while let Some(next) = merge.ready() {
            seen.push(shown(next));
        }
        assert_eq!(seen.join(" "), "x b1 b2 y a1 a2 z ! b3 a3");
        drop(sender);
        a.close();
        merge.detach("b");
        assert_eq!(merge.next().await.map(shown).unwrap(), "a gone");
        assert!(merge.next().await.is_none());
    }
}
