//! Tool calls whose fragments arrive by index, perhaps mixed, put one after the other.

use stentor_agent::live::LiveBlockKind;

use super::argument_text::ArgumentText;
use crate::answer::AnswerBuilder;
use crate::call_id::new_call_id;

/// The calls of one answer.
///
/// The first call streams as it comes. Fragments of another are held until the open one is
/// complete, which it is when its arguments are a whole JSON value and another has begun, or when
/// the answer ends. Nothing is lost either way.
#[derive(Debug, Default)]
pub(super) struct CallFragments {
    calls: Vec<PendingCall>,
    /// Position of the call whose block is open.
    open: Option<usize>,
    /// How many calls have been handed out whole.
    done: usize,
    /// What the calls take; their arguments are kept to tell when they are complete.
    held_bytes: usize,
}

#[derive(Debug)]
struct PendingCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: ArgumentText,
}

/// One fragment as it arrives.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pub index: Option<u64>,
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl CallFragments {
    /// Takes a fragment.
    pub(super) fn take(&mut self, fragment: Fragment, answer: &mut AnswerBuilder) {
        let position = self.position_of(&fragment);
        let is_open = self.open == Some(position);
        let Some(call) = self.calls.get_mut(position) else {
            return;
        };
        if call.name.is_empty() {
            call.name = fragment.name;
        }
        call.arguments.push_str(&fragment.arguments);
        self.held_bytes += fragment.arguments.len();
        if is_open {
            answer.delta(fragment.arguments);
        } else {
            self.proceed(answer);
        }
    }

    /// About how many bytes it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// True when no call is open, or the open one can be ended because it is complete.
    pub(super) fn can_pause(&self) -> bool {
        self.open.is_none_or(|open| self.is_complete(open))
    }

    /// Ends the open call, if it can be, because something else comes.
    pub(super) fn pause(&mut self, answer: &mut AnswerBuilder) {
        if self.open.take().is_some() {
            answer.close(None);
            self.done += 1;
        }
    }

    /// Hands out everything that is left.
    pub(super) fn finish(&mut self, answer: &mut AnswerBuilder) {
        self.pause(answer);
        while self.done < self.calls.len() {
            self.open_next(answer);
            self.pause(answer);
        }
    }

    /// Moves on to the next call when the open one is complete.
    fn proceed(&mut self, answer: &mut AnswerBuilder) {
        while self.can_pause() {
            let next = if self.open.is_some() {
                self.done + 1
            } else {
                self.done
            };
            if self.calls.get(next).is_none_or(|call| call.name.is_empty()) {
                return;
            }
            self.pause(answer);
            self.open_next(answer);
        }
    }

    fn open_next(&mut self, answer: &mut AnswerBuilder) {
        let id = self.unique_id(self.done);
        let Some(call) = self.calls.get_mut(self.done) else {
            return;
        };
        call.id.clone_from(&id);
        answer.open(LiveBlockKind::ToolCall {
            id,
            name: call.name.clone(),
        });
        answer.delta(call.arguments.as_str().to_owned());
        self.open = Some(self.done);
    }

    fn is_complete(&self, position: usize) -> bool {
        self.calls
            .get(position)
            .is_some_and(|call| call.arguments.is_complete())
    }

    /// The call a fragment belongs to; a new one if to none.
    ///
    /// Some servers number every call zero, some number none: an id that is new begins a call.
    fn position_of(&mut self, fragment: &Fragment) -> usize {
        let belongs = |call: &PendingCall| {
            let same_id = fragment.id.is_empty() || call.id.is_empty() || call.id == fragment.id;
            let same_index = fragment.index.is_none() || call.index == fragment.index;
            same_id && same_index
        };
        let starts =
            fragment.index.is_none() && fragment.id.is_empty() && !fragment.name.is_empty();
        if !starts && let Some(position) = self.calls.iter().rposition(belongs) {
            return position;
        }
        self.held_bytes += std::mem::size_of::<PendingCall>() + fragment.id.len();
        self.calls.push(PendingCall {
            index: fragment.index,
            id: fragment.id.clone(),
            name: String::new(),
            arguments: ArgumentText::default(),
        });
        self.calls.len() - 1
    }

    /// The id of the call, made up where the server gave none or one it gave before.
    fn unique_id(&self, position: usize) -> String {
        let Some(call) = self.calls.get(position) else {
            return new_call_id();
        };
        let taken = self
            .calls
            .iter()
            .take(position)
            .any(|other| other.id == call.id);
        if call.id.is_empty() || taken {
            new_call_id()
        } else {
            call.id.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use stentor_agent::model::ModelEvent;
    use stentor_journal::message::StopReason;

    use super::*;

    fn fragment(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Fragment {
        Fragment {
            index,
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    /// The blocks in short: `name#id(arguments)`.
    fn blocks(fragments: Vec<Fragment>) -> Vec<String> {
        let mut answer = AnswerBuilder::new();
        let mut calls = CallFragments::default();
        for fragment in fragments {
            calls.take(fragment, &mut answer);
        }
        calls.finish(&mut answer);
        answer.finish(StopReason::ToolUse, false);
        let mut out: Vec<String> = Vec::new();
        while let Some(event) = answer.pop() {
            match event {
                ModelEvent::BlockStarted(LiveBlockKind::ToolCall { id, name }) => {
                    out.push(format!("{name}#{id}("));
                }
                ModelEvent::Delta(text) => out.last_mut().unwrap().push_str(&text),
                ModelEvent::BlockEnded { .. } => out.last_mut().unwrap().push(')'),
                _ => {}
            }
        }
        out
    }

    #[test]
    fn mixed_fragments_come_out_one_call_after_the_other_and_whole() {
        assert_eq!(
            blocks(vec![
                fragment(Some(0), "a", "ls", ""),
                fragment(Some(1), "b", "cat", "{\"p\""),
                fragment(Some(0), "", "", "{\"x\":"),
                fragment(Some(1), "", "", ":2}"),
                fragment(Some(0), "", "", "1}"),
            ]),
            ["ls#a({\"x\":1})", "cat#b({\"p\":2})"]
        );
    }

    /// Reading all arguments again for each of them would take longer than anybody waits.
    #[test]
    fn long_arguments_in_many_mixed_fragments_are_put_in_order() {
        const FRAGMENTS: usize = 40_000;
        let piece = "0123456789012345678901234";
        let mut fragments = vec![
            fragment(Some(0), "a", "write", "{\"text\":\""),
            fragment(Some(1), "b", "write", "{\"text\":\""),
        ];
        for _ in 0..FRAGMENTS {
            fragments.push(fragment(Some(0), "", "", piece));
            fragments.push(fragment(Some(1), "", "", piece));
        }
        fragments.push(fragment(Some(0), "", "", "\"}"));
        fragments.push(fragment(Some(1), "", "", "\"}"));
        let text = piece.repeat(FRAGMENTS);
        assert!(
            blocks(fragments)
                == [
                    format!("write#a({{\"text\":\"{text}\"}})"),
                    format!("write#b({{\"text\":\"{text}\"}})"),
                ]
        );
    }

    #[test]
    fn servers_that_number_all_calls_alike_or_not_at_all_are_understood() {
        let expected = ["ls#a({})", "cat#b({\"p\":2})"];
        for index in [Some(0), None] {
            assert_eq!(
                blocks(vec![
                    fragment(index, "a", "ls", "{}"),
                    fragment(index, "b", "cat", "{\"p\":2}"),
                ]),
                expected
            );
        }
    }

    #[test]
    fn an_id_that_comes_twice_or_not_at_all_is_replaced_by_one_of_its_own() {
        let blocks = blocks(vec![
            fragment(Some(0), "same", "ls", "{}"),
            fragment(Some(1), "same", "ls", "{}"),
            fragment(Some(2), "", "ls", "{}"),
        ]);
        let ids: std::collections::BTreeSet<_> = blocks.iter().collect();
        assert_eq!(ids.len(), 3, "{blocks:?}");
        assert!(blocks[0].starts_with("ls#same("));
    }

    #[test]
    fn arguments_that_never_become_json_are_handed_out_as_they_are() {
        assert_eq!(
            blocks(vec![
                fragment(Some(0), "a", "ls", "{\"x\":"),
                fragment(Some(1), "b", "cat", "nonsense"),
            ]),
            ["ls#a({\"x\":)", "cat#b(nonsense)"]
        );
    }
}
