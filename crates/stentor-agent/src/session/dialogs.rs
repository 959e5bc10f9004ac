//! The questions a session has open to a person.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::dialog::{Dialog, DialogAnswer, DialogClose, DialogKind, UnaskedAnswer};
use crate::event::{EventKind, NoticeLevel, NoticeSource};
use crate::hub::{ClientNumber, Hub};

/// Questions that may be open at once. One more is answered with its default.
const MAX_OPEN: usize = 64;

/// The open questions of a session. Asked by tools, extensions and logins, beside the actor,
/// because they may wait long.
pub(super) struct Dialogs {
    hub: Hub,
    state: Mutex<OpenDialogs>,
}

#[derive(Default)]
struct OpenDialogs {
    /// Who answers where no clients share the session.
    answerer: Answerer,
    /// The clients that share the session, and how each answers.
    clients: HashMap<ClientNumber, Answerer>,
    next_id: u64,
    open: HashMap<u64, OpenDialog>,
}

/// Who is there to answer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answerer {
    #[default]
    Nobody,
    /// Questions are delivered, but nothing shows yet that they are answered.
    Unproven,
    Known,
}

impl OpenDialogs {
    fn answerer(&self) -> Answerer {
        self.clients
            .values()
            .copied()
            .max()
            .unwrap_or(self.answerer)
    }
}

struct OpenDialog {
    dialog: Arc<Dialog>,
    reply: oneshot::Sender<DialogAnswer>,
    /// The clients that cannot answer it.
    unable: HashSet<ClientNumber>,
    /// What it is answered with when nobody can; some client has noticed that it cannot.
    unasked: Option<UnaskedAnswer>,
}

impl Dialogs {
    pub fn new(hub: Hub) -> Self {
        Self {
            hub,
            state: Mutex::default(),
        }
    }

    pub fn can_ask(&self) -> bool {
        self.answerer() != Answerer::Nobody
    }

    pub fn answerer(&self) -> Answerer {
        self.lock().answerer()
    }

    /// Who answers, or how one of the clients that share the session does. True when it was the last
    /// one who did and does so no more: the questions that are open get their defaults.
    pub fn set_answerer(&self, client: Option<ClientNumber>, answerer: Answerer) -> bool {
        let mut state = self.lock();
        let before = state.answerer();
        match client {
            None => state.answerer = answerer,
            // One that has left does not come back.
            Some(client) => {
                if let Some(how) = state.clients.get_mut(&client) {
                    *how = answerer;
                }
            }
        }
        let nobody = before != Answerer::Nobody && state.answerer() == Answerer::Nobody;
        drop(state);
        match nobody {
            true => self.withdraw_all(),
            false => self.close_unanswerable(),
        }
        nobody
    }

    /// One more shares the session.
    pub fn enter(&self, client: ClientNumber) {
        self.lock().clients.insert(client, Answerer::Nobody);
    }

    /// True when somebody else who shares the session is known to answer questions.
    pub fn others_answer(&self, client: ClientNumber) -> bool {
        let state = self.lock();
        let mut others = state.clients.iter().filter(|(other, _)| **other != client);
        others.any(|(_, answerer)| *answerer == Answerer::Known)
    }

    /// One who shared the session has left. When nobody is left, questions wait for whoever comes
    /// next, if the last one answered any. When only such are left who answer none, nobody would
    /// ever notice that something waits: then the questions that are open get their defaults, and
    /// this is true.
    pub fn leave(&self, client: ClientNumber) -> bool {
        let mut state = self.lock();
        let how = state.clients.remove(&client);
        if let (Some(how), true) = (how, state.clients.is_empty()) {
            state.answerer = how;
            return false;
        }
        let answered = how.is_some_and(|how| how != Answerer::Nobody);
        let nobody = answered && state.answerer() == Answerer::Nobody;
        drop(state);
        match nobody {
            true => self.withdraw_all(),
            false => self.close_unanswerable(),
        }
        nobody
    }

    /// One client cannot answer a question. Once nobody is left who is known to answer and could, the
    /// question is answered with what the last of them says.
    pub fn cannot_answer(&self, client: Option<ClientNumber>, id: u64, unasked: UnaskedAnswer) {
        let mut state = self.lock();
        // Who has left says nothing about those who come.
        if client.is_some_and(|client| !state.clients.contains_key(&client)) {
            return;
        }
        let Some(open) = state.open.get_mut(&id) else {
            return;
        };
        open.unable.extend(client);
        open.unasked = Some(unasked);
        drop(state);
        self.close_unanswerable();
    }

    /// Closes the questions that clients could not answer when nobody is left who could.
    fn close_unanswerable(&self) {
        let state = self.lock();
        let is_able = |open: &OpenDialog| {
            let mut clients = state.clients.iter();
            clients.any(|(client, how)| *how == Answerer::Known && !open.unable.contains(client))
        };
        let open = state.open.iter().filter(|(_, open)| !is_able(open));
        let open = open.filter_map(|(id, open)| Some((*id, open.unasked.clone()?)));
        let mut open: Vec<(u64, UnaskedAnswer)> = open.collect();
        drop(state);
        open.sort_unstable_by_key(|(id, _)| *id);
        for (id, UnaskedAnswer { answer, notice }) in open {
            self.close_with(id, DialogClose::Answered(answer), notice);
        }
    }

    /// Asks and waits for the answer. Dropping the future withdraws the question.
    pub async fn ask(self: Arc<Self>, dialog: Dialog) -> DialogAnswer {
        let dialog = Arc::new(dialog.made_visible());
        let Some((id, answer)) = self.open(&dialog) else {
            return DialogAnswer::Nothing;
        };
        let guard = WithdrawGuard { dialogs: &self, id };
        self.hub.publish(EventKind::DialogAsked {
            id,
            dialog: Arc::clone(&dialog),
        });
        let given = match dialog.timeout_ms {
            None => answer.await.ok(),
            Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), answer).await {
                Ok(given) => given.ok(),
                Err(_) => {
                    guard.dialogs.close(id, DialogClose::TimedOut);
                    None
                }
            },
        };
        given.map_or(DialogAnswer::Nothing, |given| dialog.fit(given))
    }

    /// Answers a question. False when it is not open.
    pub fn answer(&self, id: u64, given: DialogAnswer) -> bool {
        self.close(id, DialogClose::Answered(given))
    }

    /// Closes every question with its default.
    pub fn withdraw_all(&self) {
        self.withdraw(|_| true);
    }

    /// Closes the questions whether a plan is accepted: nothing plans any more.
    pub fn withdraw_plans(&self) {
        self.withdraw(|dialog| matches!(dialog.kind, DialogKind::Plan(_)));
    }

    fn withdraw(&self, which: impl Fn(&Dialog) -> bool) {
        let state = self.lock();
        let open = state.open.iter().filter(|(_, open)| which(&open.dialog));
        let mut open: Vec<u64> = open.map(|(id, _)| *id).collect();
        drop(state);
        open.sort_unstable();
        for id in open {
            self.close(id, DialogClose::Withdrawn);
        }
    }

    fn open(&self, dialog: &Arc<Dialog>) -> Option<(u64, oneshot::Receiver<DialogAnswer>)> {
        let mut state = self.lock();
        if state.answerer() == Answerer::Nobody || state.open.len() >= MAX_OPEN {
            return None;
        }
        state.next_id += 1;
        let id = state.next_id;
        let (reply, answer) = oneshot::channel();
        state.open.insert(
            id,
            OpenDialog {
                dialog: Arc::clone(dialog),
                reply,
                unable: HashSet::new(),
                unasked: None,
            },
        );
        Some((id, answer))
    }

    fn close(&self, id: u64, close: DialogClose) -> bool {
        self.close_with(id, close, None)
    }

    /// Closes a question, and notifies people why.
    fn close_with(&self, id: u64, close: DialogClose, notice: Option<String>) -> bool {
        let Some(open) = self.lock().open.remove(&id) else {
            return false;
        };
        let given = match &close {
            DialogClose::Answered(given) => open.dialog.fit(given.clone()),
            DialogClose::TimedOut | DialogClose::Withdrawn => DialogAnswer::Nothing,
        };
        if let Some(message) = notice {
            self.hub.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message,
                from: NoticeSource::Agent,
            });
        }
        self.hub.publish(EventKind::DialogClosed { id, close });
        // Who asked may have gone away; then nobody misses the answer.
        open.reply.send(given).ok();
        true
    }

    fn lock(&self) -> MutexGuard<'_, OpenDialogs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdraws a question that nobody waits for any more. One that was closed stays closed.
struct WithdrawGuard<'a> {
    dialogs: &'a Dialogs,
    id: u64,
}

impl Drop for WithdrawGuard<'_> {
    fn drop(&mut self) {
        self.dialogs.close(self.id, DialogClose::Withdrawn);
    }
}

#[cfg(test)]
mod tests {
    use stentor_journal::clock::CountingClock;

    use super::*;

    fn dialogs() -> Arc<Dialogs> {
        let hub = Hub::new("s".into(), Arc::new(CountingClock::starting_at(0)));
        let dialogs = Arc::new(Dialogs::new(hub));
        dialogs.set_answerer(None, Answerer::Known);
        dialogs
    }

    fn input(timeout_ms: Option<u64>) -> Dialog {
        let kind = DialogKind::Input { placeholder: None };
        Dialog {
            title: "Name".into(),
            kind,
            form: None,
            timeout_ms,
        }
    }

    #[tokio::test]
    async fn an_answer_reaches_the_asker_once() {
        let dialogs = dialogs();
        let asked = tokio::spawn(Arc::clone(&dialogs).ask(input(None)));
        while !dialogs.answer(1, DialogAnswer::Value("Ada".into())) {
            tokio::task::yield_now().await;
        }
        assert_eq!(asked.await.unwrap(), DialogAnswer::Value("Ada".into()));
        assert!(!dialogs.answer(1, DialogAnswer::Value("Bob".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_answers_itself_when_its_time_is_up() {
        let dialogs = dialogs();
        let mut events = dialogs.hub.subscribe();
        assert_eq!(
            Arc::clone(&dialogs).ask(input(Some(500))).await,
            DialogAnswer::Nothing
        );
        assert!(matches!(
            events.try_next().unwrap().kind,
            EventKind::DialogAsked { id: 1, .. }
        ));
        let close = events.try_next().unwrap().kind;
        assert!(matches!(
            close,
            EventKind::DialogClosed {
                id: 1,
                close: DialogClose::TimedOut
            }
        ));
        assert!(events.try_next().is_none());
    }

    #[tokio::test]
    async fn with_nobody_to_ask_the_default_comes_at_once() {
        let dialogs = dialogs();
        dialogs.set_answerer(None, Answerer::Nobody);
        assert_eq!(
            Arc::clone(&dialogs).ask(input(None)).await,
            DialogAnswer::Nothing
        );
    }

    #[tokio::test]
    async fn a_question_gets_its_default_when_only_such_are_left_who_answer_none() {
        let dialogs = dialogs();
        let [answers, watches] = [(); 2].map(|()| dialogs.hub.new_client());
        dialogs.enter(answers);
        dialogs.enter(watches);
        dialogs.set_answerer(Some(answers), Answerer::Known);
        let mut asked = Box::pin(Arc::clone(&dialogs).ask(input(None)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        assert!(dialogs.leave(answers));
        assert_eq!(asked.await, DialogAnswer::Nothing);

        // Who is alone may be replaced by another.
        dialogs.set_answerer(Some(watches), Answerer::Known);
        let mut asked = Box::pin(Arc::clone(&dialogs).ask(input(None)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        assert!(!dialogs.leave(watches));
        assert!(futures_util::poll!(&mut asked).is_pending());
    }

    #[tokio::test]
    async fn a_question_is_closed_once_nobody_is_left_who_could_answer_it() {
        let dialogs = dialogs();
        let [one, two, able] = [(); 3].map(|()| dialogs.hub.new_client());
        for client in [one, two, able] {
            dialogs.enter(client);
            dialogs.set_answerer(Some(client), Answerer::Known);
        }
        let unasked = |notice: &str| UnaskedAnswer {
            answer: DialogAnswer::Nothing,
            notice: Some(notice.to_owned()),
        };
        let mut events = dialogs.hub.subscribe();
        let mut asked = Box::pin(Arc::clone(&dialogs).ask(input(None)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        events.try_next().unwrap();
        // Twice by the same client is not by two.
        for client in [one, one, two] {
            dialogs.cannot_answer(Some(client), 1, unasked("nobody can"));
            assert!(futures_util::poll!(&mut asked).is_pending());
        }
        assert!(events.try_next().is_none());
        // The one who could has gone.
        assert!(!dialogs.leave(able));
        assert_eq!(asked.await, DialogAnswer::Nothing);
        let told = events.try_next().unwrap().kind;
        assert!(matches!(told, EventKind::Notice { message, .. } if message == "nobody can"));
        let closed = events.try_next().unwrap().kind;
        assert!(matches!(closed, EventKind::DialogClosed { id: 1, .. }));
        assert!(events.try_next().is_none());

        // Who has left says nothing any more; the next who comes is asked.
        let mut asked = Box::pin(Arc::clone(&dialogs).ask(input(None)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        dialogs.cannot_answer(Some(able), 2, unasked("nobody can"));
        dialogs.leave(one);
        dialogs.leave(two);
        dialogs.cannot_answer(Some(two), 2, unasked("nobody can"));
        assert!(futures_util::poll!(&mut asked).is_pending());
    }

    #[tokio::test]
    async fn a_question_nobody_waits_for_is_withdrawn() {
        let dialogs = dialogs();
        let mut events = dialogs.hub.subscribe();
        let mut asked = Box::pin(Arc::clone(&dialogs).ask(input(None)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        drop(asked);
        events.try_next().unwrap();
        let close = events.try_next().unwrap().kind;
        assert!(matches!(
            close,
            EventKind::DialogClosed {
                close: DialogClose::Withdrawn,
                ..
            }
        ));
    }
}
