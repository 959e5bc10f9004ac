//! What a child must be told: the messages that are new, and those it missed.

use std::fmt::Write;
use std::sync::Arc;

use stentor_agent::jobs::JOB_MESSAGE;
use stentor_agent::model_host::OWN_TURN;
use stentor_client::{AgentPrompt, PromptPicture};
use stentor_journal::message::{ContentBlock, KnownBlock, Message, UserContent};

use crate::PROVIDER;
use crate::form::AgentVariant;

/// How much of a conversation that a child does not know it is told. The newest part counts.
const MISSED_BYTES: usize = 256 * 1024;

/// What is given to a child that was not asked anything.
const GO_ON: &str = "Go on.";

/// The messages of a request, seen from an agent.
pub(crate) struct RequestConversation<'a> {
    /// What it has answered, and everything before.
    before: &'a [Arc<Message>],
    /// What was said since the last answer.
    fresh: Vec<&'a Arc<Message>>,
    /// Of what was said since, the agent was told something: it knows everything before.
    is_told: bool,
    agent: &'a str,
}

impl<'a> RequestConversation<'a> {
    /// The conversation, seen from the agent of that name.
    pub fn new(messages: &'a [Arc<Message>], agent: &'a str) -> Self {
        let last = messages
            .iter()
            .rposition(|message| message.as_user().is_none());
        let (before, fresh) = messages.split_at(last.map_or(0, |last| last + 1));
        let fresh = fresh.iter().filter(|message| !is_own_turn(message));
        Self {
            before,
            fresh: fresh.collect(),
            is_told: false,
            agent,
        }
    }

    /// The same for an agent that was last told `told`. There is no answer to that when its turn
    /// failed, or was aborted before it said anything: it is not new all the same.
    pub fn after(mut self, told: Option<&Arc<Message>>) -> Self {
        let place = |told| {
            self.fresh
                .iter()
                .rposition(|message| is_same(told, message))
        };
        if let Some(place) = told.and_then(place) {
            self.fresh.drain(..=place);
            self.is_told = true;
        }
        self
    }

    /// The same for an agent that has some messages already. They are given no more after this.
    pub fn without(mut self, given: &mut Vec<UserContent>) -> Self {
        self.fresh.retain(|message| {
            let said = message.as_user().map(|user| &user.content);
            let place = given.iter().position(|given| Some(given) == said);
            place.map(|place| given.remove(place)).is_none()
        });
        self
    }

    /// The child's own session that it last answered in.
    pub fn session(&self) -> Option<&'a str> {
        let mut answers = self
            .before
            .iter()
            .rev()
            .filter_map(|message| message.as_assistant());
        let own = answers.find(|answer| self.is_own(&answer.provider, &answer.model))?;
        own.response_id.as_deref()
    }

    /// What the answers have cost that were given in one of the child's own sessions.
    pub fn cost_in(&self, session: &str) -> f64 {
        let answers = self
            .before
            .iter()
            .filter_map(|message| message.as_assistant());
        let of_session = answers.filter(|answer| {
            self.is_own(&answer.provider, &answer.model)
                && answer.response_id.as_deref() == Some(session)
        });
        of_session.map(|answer| answer.usage.cost.total).sum()
    }

    /// What a child missed that was last told `told`; everything if that is not in the conversation,
    /// or nothing was.
    pub fn missed(&self, told: Option<&Arc<Message>>) -> MissedMessages<'a> {
        if self.is_told {
            return MissedMessages {
                messages: Vec::new(),
                is_known: true,
            };
        }
        match told.and_then(|told| place_of(told, self.before)) {
            Some(place) => MissedMessages {
                messages: self.of_others(self.before.get(place + 1..).unwrap_or_default()),
                is_known: true,
            },
            None => MissedMessages {
                messages: self.before.iter().collect(),
                is_known: self.before.is_empty() && told.is_none(),
            },
        }
    }

    /// What it missed since its own last answer, in a session that was resumed.
    pub fn missed_since_own(&self) -> MissedMessages<'a> {
        let own = self.before.iter().rposition(|message| {
            let answer = message.as_assistant();
            answer.is_some_and(|answer| self.is_own(&answer.provider, &answer.model))
        });
        let after = own.map_or(0, |own| own + 1);
        MissedMessages {
            messages: self.of_others(self.before.get(after..).unwrap_or_default()),
            is_known: true,
        }
    }

    /// What it is given: what it missed as text, then what is new. None when there is nothing new.
    pub fn prompt(&self, missed: &MissedMessages<'_>) -> AgentPrompt {
        let mut text = missed.text();
        let mut pictures = Vec::new();
        let mut said = String::new();
        for message in &self.fresh {
            let Some(user) = message.as_user() else {
                continue;
            };
            if !said.is_empty() {
                said.push_str("\n\n");
            }
            add_content(&user.content, &mut said, &mut pictures);
        }
        if said.is_empty() && pictures.is_empty() {
            said.push_str(GO_ON);
        }
        text.push_str(&said);
        AgentPrompt::with_pictures(text, pictures)
    }

    /// True when something was said since its last answer.
    pub fn has_news(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// The messages that are not its own answers and their results.
    fn of_others(&self, messages: &'a [Arc<Message>]) -> Vec<&'a Arc<Message>> {
        let has_others = messages.iter().any(|message| {
            let answer = message.as_assistant();
            answer.is_some_and(|answer| !self.is_own(&answer.provider, &answer.model))
        });
        if has_others {
            messages.iter().collect()
        } else {
            Vec::new()
        }
    }

    fn is_own(&self, provider: &str, model: &str) -> bool {
        provider == PROVIDER && AgentVariant::of(model, self.agent).is_some()
    }
}

/// Messages that a child does not know.
pub(crate) struct MissedMessages<'a> {
    messages: Vec<&'a Arc<Message>>,
    /// Its session is still the one of this conversation.
    pub is_known: bool,
}

impl MissedMessages<'_> {
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages as text, before what is new.
    fn text(&self) -> String {
        if self.messages.is_empty() {
            return String::new();
        }
        let mut parts = Vec::new();
        let mut bytes = 0;
        for message in self.messages.iter().rev() {
            let part = part(message);
            bytes += part.len();
            if bytes > MISSED_BYTES {
                parts.push("[Earlier messages are left out.]\n".to_owned());
                break;
            }
            parts.push(part);
        }
        parts.reverse();
        format!(
            "This is what was said in this conversation so far.\n\n<conversation>\n{}\
             </conversation>\n\n",
            parts.concat()
        )
    }
}

/// Several messages as one prompt.
pub(crate) fn joined(mut before: AgentPrompt, after: AgentPrompt) -> AgentPrompt {
    before.text = format!("{}\n\n{}", before.text, after.text);
    before.pictures.extend(after.pictures);
    before
}

/// A message as a prompt.
pub(crate) fn prompt_of(content: &UserContent) -> AgentPrompt {
    let (mut said, mut pictures) = (String::new(), Vec::new());
    add_content(content, &mut said, &mut pictures);
    AgentPrompt::with_pictures(said, pictures)
}

/// What began a run that the agent began is nothing that it is told.
pub(crate) fn is_own_turn(message: &Message) -> bool {
    message
        .as_user()
        .filter(|user| user.custom_type() == Some(JOB_MESSAGE))
        .is_some_and(|user| user.content.text() == OWN_TURN)
}

fn place_of(told: &Arc<Message>, messages: &[Arc<Message>]) -> Option<usize> {
    messages.iter().rposition(|message| is_same(told, message))
}

fn is_same(told: &Arc<Message>, message: &Arc<Message>) -> bool {
    Arc::ptr_eq(message, told) || message == told
}

fn add_content(content: &UserContent, said: &mut String, pictures: &mut Vec<PromptPicture>) {
    match content {
        UserContent::Text(text) => said.push_str(text),
        UserContent::Blocks(blocks) => add(blocks, said, pictures),
    }
}

fn part(message: &Message) -> String {
    let mut text = String::new();
    if is_own_turn(message) {
        return text;
    }
    if let Some(user) = message.as_user() {
        let said = match &user.content {
            UserContent::Text(said) => said.clone(),
            UserContent::Blocks(blocks) => {
                let mut said = String::new();
                add(blocks, &mut said, &mut Vec::new());
                said
            }
        };
        let _ = writeln!(text, "User: {said}");
    } else if let Some(answer) = message.as_assistant() {
        let said = answer.text();
        if !said.is_empty() {
            let _ = writeln!(text, "Assistant: {said}");
        }
        for call in answer.tool_calls() {
            let arguments = serde_json::Value::Object(call.arguments.clone());
            let _ = writeln!(text, "Assistant called {}: {arguments}", call.name);
        }
    } else if let Some(result) = message.as_tool_result() {
        let mut said = String::new();
        add(&result.content, &mut said, &mut Vec::new());
        let _ = writeln!(text, "Result of {}: {said}", result.tool_name);
    }
    text
}

fn add(blocks: &[ContentBlock], said: &mut String, pictures: &mut Vec<PromptPicture>) {
    for block in blocks {
        match block {
            ContentBlock::Known(KnownBlock::Text(block)) => said.push_str(&block.text),
            ContentBlock::Known(KnownBlock::Image(image)) => pictures.push(PromptPicture {
                mime_type: image.mime_type.clone(),
                data: image.data.to_string(),
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> Arc<Message> {
        Arc::new(Message::user(vec![ContentBlock::text(text)], 1))
    }

    fn answered(provider: &str, model: &str, text: &str) -> Arc<Message> {
        let answer = json!({
            "role": "assistant", "content": [{ "type": "text", "text": text }], "api": "agent",
            "provider": provider, "model": model, "stopReason": "stop", "timestamp": 2,
            "responseId": "session-1",
        });
        Arc::new(serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn a_new_conversation_is_only_what_is_new() {
        let messages = [said("one"), said("two")];
        let conversation = RequestConversation::new(&messages, "a");
        let missed = conversation.missed(None);
        assert!(missed.is_known && missed.is_empty());
        assert_eq!(conversation.prompt(&missed).text, "one\n\ntwo");
        assert_eq!(conversation.session(), None);
    }

    #[test]
    fn an_agent_that_was_told_everything_missed_nothing() {
        let first = said("one");
        let messages = [Arc::clone(&first), answered("agent", "a", "1"), said("two")];
        let conversation = RequestConversation::new(&messages, "a");
        let missed = conversation.missed(Some(&first));
        assert!(missed.is_known && missed.is_empty());
        assert_eq!(conversation.prompt(&missed).text, "two");
        assert_eq!(conversation.session(), Some("session-1"));
    }

    #[test]
    fn what_another_model_answered_meanwhile_is_told() {
        let first = said("one");
        let messages = [
            Arc::clone(&first),
            answered("agent", "a", "1"),
            said("two"),
            answered("other", "m", "2"),
            said("three"),
        ];
        let conversation = RequestConversation::new(&messages, "a");
        let missed = conversation.missed(Some(&first));
        assert!(missed.is_known && !missed.is_empty());
        let prompt = conversation.prompt(&missed).text;
        assert!(
            prompt.ends_with("User: two\nAssistant: 2\n</conversation>\n\nthree"),
            "{prompt}"
        );
    }

    #[test]
    fn a_prompt_that_has_no_answer_is_not_told_twice() {
        let (first, failed) = (said("one"), said("fails"));
        let messages = [
            first,
            answered("agent", "a", "1"),
            failed.clone(),
            said("two"),
        ];
        let conversation = RequestConversation::new(&messages, "a").after(Some(&failed));
        let missed = conversation.missed(Some(&failed));
        assert!(missed.is_known && missed.is_empty());
        assert_eq!(conversation.prompt(&missed).text, "two");
        // Also if it is the only one so far.
        let conversation = RequestConversation::new(&messages[2..], "a").after(Some(&failed));
        let missed = conversation.missed(Some(&failed));
        assert!(missed.is_known && missed.is_empty());
        assert_eq!(conversation.prompt(&missed).text, "two");
    }

    #[test]
    fn a_conversation_that_was_cut_is_not_the_one_the_agent_knows() {
        let messages = [answered("agent", "a", "1"), said("two")];
        let missed = RequestConversation::new(&messages, "a").missed(Some(&said("gone")));
        assert!(!missed.is_known && !missed.is_empty());
    }

    #[test]
    fn what_began_a_run_of_the_agent_is_not_told_but_a_user_may_say_the_same() {
        let custom = json!({
            "role": "custom", "customType": JOB_MESSAGE, "content": OWN_TURN, "display": true,
            "timestamp": 3,
        });
        let custom = Arc::new(serde_json::from_value::<Message>(custom).unwrap());
        let messages = [said(OWN_TURN), custom];
        let lowered = stentor_journal::conversation::lower(messages.iter());
        let conversation = RequestConversation::new(&lowered, "a");
        assert_eq!(conversation.fresh.len(), 1);
        assert_eq!(
            conversation.prompt(&conversation.missed(None)).text,
            OWN_TURN
        );
        assert_eq!(part(&lowered[0]), format!("User: {OWN_TURN}\n"));
        assert_eq!(part(&lowered[1]), "");
    }
}
