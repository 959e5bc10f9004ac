//! What a person does in a conversation: keys, lines, answers.

use std::io;
use std::sync::Arc;

use stentor_agent::event::NoticeLevel;
use stentor_agent::tasks;

use super::TerminalConversation;
use crate::slash::{self, Builtin};
use crate::terminal::actions::{ActionOutcome, Actions, MenuPurpose};
use crate::terminal::completion::complete;
use crate::terminal::editor::KeyEffect;
use crate::terminal::keys::Key;
use crate::terminal::menu::{Menu, MenuResult};
use crate::terminal::questions::{self, TerminalAnswer, TerminalQuestion};
use crate::terminal::screen::LiveRows;
use crate::terminal::styled::{Row, TextStyle};
use crate::terminal::submitting::submit;
use crate::typed_prompt::not_attached;

impl TerminalConversation<'_> {
    pub(super) fn press(&mut self, key: Key) -> io::Result<()> {
        if key != Key::Ctrl('c') {
            self.interrupted = false;
        }
        if let Some((mut menu, purpose)) = self.menu.take() {
            match menu.press(&key) {
                MenuResult::NotYet | MenuResult::Items(_) => self.menu = Some((menu, purpose)),
                MenuResult::Nothing => {}
                MenuResult::Item(index) => self.act(move |actions| actions.choose(purpose, index)),
            }
            return Ok(());
        }
        match key {
            Key::Ctrl('c') => return self.interrupt(),
            Key::Ctrl('l') => return self.screen.clear(),
            Key::Ctrl('z') => return self.suspend(),
            _ => {}
        }
        let is_typing = !self.editor.is_empty();
        let question = self.questions.front();
        if question.is_some_and(|question| question.takes(&key, is_typing)) {
            return self.press_at_question(&key);
        }
        match key {
            Key::Ctrl('d') if self.editor.is_empty() => self.left = Some(0),
            Key::Tab => self.tab(),
            Key::Escape if self.completion.is_some() => self.completion = None,
            key => {
                self.completion = None;
                match self.editor.press(key) {
                    KeyEffect::Edited => {}
                    KeyEffect::TooLong => self.note(
                        NoticeLevel::Warning,
                        "that is too long to paste; name a file with @FILE instead",
                    )?,
                    KeyEffect::Submitted(text) => self.say(&text)?,
                }
            }
        }
        Ok(())
    }

    fn press_at_question(&mut self, key: &Key) -> io::Result<()> {
        let Some(mut question) = self.questions.pop_front() else {
            return Ok(());
        };
        let answer = match (&question, question_takes_line(&question, key)) {
            (_, false) => question.answer_of_key(key),
            (question, true) => match self.editor.press(key.clone()) {
                KeyEffect::Submitted(text) => question.answer_of_line(&text),
                KeyEffect::Edited | KeyEffect::TooLong => None,
            },
        };
        match answer {
            Some(answer) => self.answer(question.id(), answer),
            None => {
                self.questions.push_front(question);
                Ok(())
            }
        }
    }

    /// A line, in a terminal that edits lines itself.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.prompt_shown = false;
        self.interrupted = false;
        if let Some((menu, purpose)) = self.menu.take() {
            match menu.answer(line) {
                MenuResult::Item(index) => self.act(move |actions| actions.choose(purpose, index)),
                MenuResult::Nothing => {}
                MenuResult::NotYet | MenuResult::Items(_) => self.choose(menu, purpose)?,
            }
            return Ok(());
        }
        let Some(question) = self.questions.pop_front() else {
            return self.say(line);
        };
        match question.answer_of_line(line) {
            Some(answer) => self.answer(question.id(), answer),
            None => {
                let rows = question.plain_rows();
                self.questions.push_front(question);
                self.print(rows)
            }
        }
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        let said = text.trim();
        if said.is_empty() {
            return Ok(());
        }
        self.editor.remember(said);
        if let Some((builtin, rest)) = slash::called(said) {
            let rows = self.transcript.notes(vec![Row::of(said, TextStyle::DIM)]);
            if !self.is_plain() && builtin != Builtin::Quit {
                self.print(rows)?;
            }
            let rest = rest.to_owned();
            self.act(move |actions| actions.run(builtin, rest));
            return Ok(());
        }
        let steers = self.transcript.is_running();
        if !steers {
            let rows = self.transcript.prompt(said);
            if !self.is_plain() {
                self.print(rows)?;
            }
        }
        let said = said.to_owned();
        self.run_expected = true;
        self.act(move |actions| async move {
            match submit(&actions.session, &actions.cwd, &said).await {
                Ok(missing) => {
                    let names = missing.iter().map(|name| not_attached(name));
                    ActionOutcome::Warnings(names.collect())
                }
                Err(why) if steers => ActionOutcome::Failed(why.to_string()),
                Err(why) => ActionOutcome::NotPrompted(why.to_string()),
            }
        });
        Ok(())
    }

    /// Ctrl-C: stops what runs, else clears the line; twice leaves.
    pub(super) fn interrupt(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.interrupted, true) {
            self.left = Some(if self.transcript.is_running() { 130 } else { 0 });
            return Ok(());
        }
        if self.transcript.is_running() {
            self.abort();
            return Ok(());
        }
        if !self.editor.is_empty() {
            self.editor.set("");
            self.completion = None;
            self.interrupted = false;
            return Ok(());
        }
        self.note(NoticeLevel::Info, "Ctrl-C again leaves")
    }

    pub(super) fn abort(&self) {
        let session = self.session.clone();
        tasks::spawn(async move { session.abort().await });
    }

    /// Stops the program as a shell expects it, and goes on when it is continued.
    fn suspend(&mut self) -> io::Result<()> {
        let Some(modes) = &self.modes else {
            return Ok(());
        };
        self.screen.paint(LiveRows::default())?;
        modes.leave()?;
        let stop = rustix::process::Signal::TSTP;
        rustix::process::kill_current_process_group(stop)?;
        modes.enter()?;
        self.screen.forget_painted();
        Ok(())
    }

    /// Completes as far as it is unmistakable, and lists what there is.
    fn tab(&mut self) {
        let cursor = self.editor.cursor();
        let found = complete(self.editor.text(), cursor, &self.known, self.asked.cwd);
        let typed = self
            .editor
            .text()
            .get(found.start..cursor)
            .unwrap_or_default();
        let common = found.common();
        if common.len() > typed.len() || found.candidates.len() == 1 {
            self.editor.complete(found.start, &common);
        }
        self.completion = (found.candidates.len() > 1).then_some(found);
    }

    fn answer(&mut self, id: u64, answer: TerminalAnswer) -> io::Result<()> {
        let rows = questions::answered_rows(&answer);
        let session = self.session.clone();
        tasks::spawn(async move { questions::give(&session, id, answer).await });
        self.print(rows)
    }

    pub(super) fn choose(&mut self, menu: Menu, purpose: MenuPurpose) -> io::Result<()> {
        if self.is_plain() {
            self.print(menu.numbered_rows())?;
        }
        self.menu = Some((menu, purpose));
        Ok(())
    }

    /// Has an action run beside the screen.
    pub(super) fn act<F: Future<Output = ActionOutcome> + Send + 'static>(
        &self,
        act: impl FnOnce(Actions) -> F,
    ) {
        let acting = act(Actions {
            agent: self.agent.clone(),
            models: Arc::clone(&self.models),
            session: self.session.clone(),
            cwd: self.asked.cwd.to_owned(),
        });
        let outcomes = self.outcomes.0.clone();
        tasks::spawn(async move {
            let outcome = acting.await;
            // Whoever left wants to know nothing.
            outcomes.send(outcome).await.ok();
        });
    }
}

/// A question for text is answered in the line, where Escape does not.
fn question_takes_line(question: &TerminalQuestion, key: &Key) -> bool {
    matches!(question, TerminalQuestion::Text { .. }) && *key != Key::Escape
}
