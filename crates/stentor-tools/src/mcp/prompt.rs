//! A server's prompt as a slash command: `/mcp__SERVER__PROMPT one "two words" name=value`.

use rmcp::model::{GetPromptRequestParams, Role};
use serde_json::{Map, Value};
use stentor_agent::commands::arguments::split;
use stentor_agent::hooks::{AddedContext, PromptVerdict};
use stentor_agent::message::{ContentBlock, KnownBlock};
use tokio::time::timeout;

use super::content::{Room, shown};
use super::offer::{OfferedPrompt, PromptArgument, hint, told};
use super::server::Post;

/// A prompt somebody called, and with which words.
pub(super) struct Called<'a> {
    pub server: &'a Post,
    pub prompt: OfferedPrompt,
    pub words: &'a str,
}

/// The command and the rest of what was typed; `None` when that is no command.
pub(super) fn command(text: &str) -> Option<(&str, &str)> {
    let command = text.trim().strip_prefix('/')?;
    Some(match command.split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (command, ""),
    })
}

impl Called<'_> {
    /// Has the server fill it in.
    pub async fn expand(self) -> PromptVerdict {
        let name = &self.prompt.info.name;
        match self.filled_in().await {
            Ok(text) => PromptVerdict::Answer {
                context: vec![AddedContext {
                    source: name.clone(),
                    text,
                }],
            },
            Err(why) => PromptVerdict::Denied {
                reason: format!("/{name} failed: {why}"),
            },
        }
    }

    async fn filled_in(&self) -> Result<String, String> {
        let arguments = filled(&self.prompt.arguments, self.words)?;
        let live = self.server.live().await?;
        let mut params = GetPromptRequestParams::new(self.prompt.name.clone());
        if !arguments.is_empty() {
            params = params.with_arguments(arguments);
        }
        let limit = self.server.wanted.call_limit;
        let answer = timeout(limit, live.peer.get_prompt(params)).await;
        let answer = answer.map_err(|_| format!("no answer within {} s", limit.as_secs_f32()))?;
        let answer = answer.map_err(|error| told(&error))?;
        let mut room = Room::default();
        let parts = answer.messages.into_iter().map(|message| {
            let text = text_of(shown(message.content, &mut room));
            match message.role {
                Role::User => text,
                // The model shall take it for what it would say itself.
                Role::Assistant => format!("<assistant>\n{text}\n</assistant>"),
            }
        });
        let text = parts.collect::<Vec<_>>().join("\n\n");
        match text.trim() {
            "" => Err("the server filled in nothing".to_owned()),
            _ => Ok(text),
        }
    }
}

/// Gives the words to the arguments: `name=value` by name, the others in order. The last argument
/// takes what is left, so that nothing that was typed is lost. The error is text for a person.
fn filled(arguments: &[PromptArgument], words: &str) -> Result<Map<String, Value>, String> {
    let mut filled = Map::new();
    let mut in_order = Vec::new();
    for word in split(words) {
        let named = word.split_once('=').filter(|(name, _)| {
            let mut known = arguments.iter();
            known.any(|argument| argument.name == *name)
        });
        match named {
            Some((name, value)) => drop(filled.insert(name.to_owned(), Value::from(value))),
            None => in_order.push(word),
        }
    }
    let mut open = arguments
        .iter()
        .filter(|argument| !filled.contains_key(&argument.name))
        .map(|argument| argument.name.clone())
        .collect::<Vec<_>>()
        .into_iter()
        .peekable();
    let mut in_order = in_order.into_iter();
    while let Some(name) = open.next() {
        let value = match open.peek() {
            Some(_) => in_order.next(),
            None => {
                let rest: Vec<String> = in_order.by_ref().collect();
                (!rest.is_empty()).then(|| rest.join(" "))
            }
        };
        filled.extend(value.map(|value| (name, Value::from(value))));
    }
    let usage = || hint(arguments).unwrap_or_else(|| "nothing".to_owned());
    if let Some(extra) = in_order.next() {
        return Err(format!(
            "{extra:?} is more than it takes; it takes {}",
            usage()
        ));
    }
    let missing: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.required && !filled.contains_key(&argument.name))
        .map(|argument| argument.name.as_str())
        .collect();
    match missing.as_slice() {
        [] => Ok(filled),
        missing => Err(format!(
            "{} is missing; it takes {}",
            missing.join(", "),
            usage()
        )),
    }
}

/// The text of a block. A picture is only named: what a prompt adds is text.
fn text_of(block: ContentBlock) -> String {
    match block {
        ContentBlock::Known(KnownBlock::Text(text)) => text.text,
        _ => "[a picture, not shown]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_arguments_by_name_and_in_order() {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            required,
        };
        let arguments = [argument("city", true), argument("style", false)];
        let one = [argument("topic", true)];
        for (arguments, words, expected) in [
            (&arguments[..], "Bern", r#"Ok({"city":"Bern"})"#),
            (
                &arguments,
                "\"New York\" in short words",
                r#"Ok({"city":"New York","style":"in short words"})"#,
            ),
            (
                &arguments,
                "style=terse Bern",
                r#"Ok({"style":"terse","city":"Bern"})"#,
            ),
            (&one, "a=b c", r#"Ok({"topic":"a=b c"})"#),
            (
                &arguments,
                "",
                r#"Err("city is missing; it takes city [style]")"#,
            ),
            (
                &arguments,
                "style=x city=y z",
                r#"Err("\"z\" is more than it takes; it takes city [style]")"#,
            ),
            (&[], "", "Ok({})"),
            (
                &[],
                "x",
                r#"Err("\"x\" is more than it takes; it takes nothing")"#,
            ),
        ] {
            let filled = filled(arguments, words).map(Value::Object);
            let shown = match filled {
                Ok(value) => format!("Ok({value})"),
                Err(why) => format!("Err({why:?})"),
            };
            assert_eq!(shown, expected, "{words}");
        }
    }
}
