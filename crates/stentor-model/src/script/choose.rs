//! Which turn answers a request, and what each session has already heard.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ModelRequest};
use stentor_journal::message::{AssistantMessage, Message, StopReason};
use stentor_journal::store::{self, Entry};

use super::scenario::ScriptTurn;

/// How many sessions are remembered. The one that was quiet longest is forgotten first, and gets
/// its place back from its conversation when it speaks again.
const MAX_SESSIONS: usize = 1024;

/// Failing turns that are passed over for one message of a conversation that is taken up again.
const MAX_PASSED_OVER: usize = 10_000;

/// Where each session is in the scenario.
#[derive(Debug, Default)]
pub struct ScriptSessions {
    places: HashMap<Arc<str>, ScriptPosition>,
    requests: u64,
}

/// Where one session is in the scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptPosition {
    /// How often each turn was played.
    played: Vec<u32>,
    /// The turn in order from which the next one is looked for.
    next: usize,
    /// Answers so far, the one being made included.
    pub answers: u64,
    /// Summaries asked for so far.
    pub summaries: u32,
    /// The number of the last request, to find the session that was quiet longest.
    last_request: u64,
}

/// What answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptChoice {
    /// The turn of this index, played for the `n`th time.
    Turn {
        index: usize,
        n: u32,
    },
    Exhausted,
}

impl ScriptSessions {
    /// The place of the request's session: remembered, or found again from its conversation.
    pub fn place(
        &mut self,
        model: &ModelInfo,
        turns: &[Arc<ScriptTurn>],
        request: &ModelRequest,
    ) -> &mut ScriptPosition {
        self.requests += 1;
        if self.places.len() >= MAX_SESSIONS && !self.places.contains_key(&request.session_id) {
            self.forget_the_quietest();
        }
        let place = self
            .places
            .entry(Arc::clone(&request.session_id))
            .or_insert_with(|| ScriptPosition::found_again(model, turns, request));
        place.last_request = self.requests;
        place
    }

    fn forget_the_quietest(&mut self) {
        let quietest = self
            .places
            .iter()
            .min_by_key(|(_, place)| place.last_request)
            .map(|(id, _)| Arc::clone(id));
        if let Some(id) = quietest {
            self.places.remove(&id);
        }
    }
}

/// Everything that was said in the session. A request lacks what a compaction has summarised, and
/// that for a summary lacks all of it; the file has it. The file also has what other models failed
/// to answer, which is no part of the conversation.
fn whole_conversation(model: &ModelInfo, request: &ModelRequest) -> Vec<Arc<Message>> {
    let file = request.session_file.as_deref();
    let Some(view) = file.and_then(|file| store::view(file).ok()) else {
        return request.messages.clone();
    };
    let is_own =
        |answer: &AssistantMessage| answer.provider == model.provider && answer.model == model.id;
    let counts = |message: &Arc<Message>| {
        let answer = message.as_assistant();
        answer.is_none_or(|answer| answer.stop_reason != StopReason::Error || is_own(answer))
    };
    let messages = view.entries.iter().filter_map(Entry::to_message);
    messages.filter(counts).collect()
}

impl ScriptPosition {
    /// Picks the turn that answers a conversation, and counts it as played.
    pub fn choose(&mut self, turns: &[Arc<ScriptTurn>], request: &ModelRequest) -> ScriptChoice {
        self.answers += 1;
        self.pick(turns, &request.system, &request.messages)
    }

    /// The place a conversation suggests to a process that has not seen it before.
    ///
    /// Chooses once for every answer that is in the conversation. A turn that fails leaves no
    /// answer there, so it is passed over when the answer is not itself an error.
    fn found_again(model: &ModelInfo, turns: &[Arc<ScriptTurn>], request: &ModelRequest) -> Self {
        let mut place = Self::default();
        let messages = whole_conversation(model, request);
        for (at, message) in messages.iter().enumerate() {
            let Some(answer) = message.as_assistant() else {
                continue;
            };
            place.answers += 1;
            let before = messages.get(..at).unwrap_or_default();
            for _ in 0..MAX_PASSED_OVER {
                let choice = place.pick(turns, &request.system, before);
                let passed_over = match choice {
                    ScriptChoice::Turn { index, .. } => turns.get(index).is_some_and(|turn| {
                        turn.fails()
                            && turn.limit() < u32::MAX
                            && answer.stop_reason != StopReason::Error
                    }),
                    ScriptChoice::Exhausted => false,
                };
                if !passed_over {
                    break;
                }
            }
        }
        place
    }

    fn pick(
        &mut self,
        turns: &[Arc<ScriptTurn>],
        system: &str,
        messages: &[Arc<Message>],
    ) -> ScriptChoice {
        self.played.resize(turns.len(), 0);
        let conditional =
            turns
                .iter()
                .zip(&mut self.played)
                .enumerate()
                .find(|(_, (turn, played))| {
                    **played < turn.limit()
                        && turn
                            .when
                            .as_ref()
                            .is_some_and(|when| when.holds_for(system, messages))
                });
        if let Some((index, (_, played))) = conditional {
            *played = played.saturating_add(1);
            return ScriptChoice::Turn { index, n: *played };
        }
        let in_order = turns
            .iter()
            .zip(&mut self.played)
            .enumerate()
            .skip(self.next)
            .find(|(_, (turn, played))| turn.when.is_none() && **played < turn.limit());
        match in_order {
            Some((index, (_, played))) => {
                *played = played.saturating_add(1);
                self.next = index;
                ScriptChoice::Turn { index, n: *played }
            }
            None => {
                self.next = turns.len();
                ScriptChoice::Exhausted
            }
        }
    }
}
