//! A server's prompt as a slash command: `/mcp__SERVER__PROMPT one "two words" name=value`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use stentor_agent::box_error::BoxError;
use stentor_agent::commands::arguments::split;
use stentor_agent::commands::{PromptFuture, PromptSource};
use stentor_agent::event::CommandInfo;
use stentor_journal::message::ContentBlock;
use tokio::time::timeout;

use super::content::{budget, shown};
use super::name::PREFIX;
use super::offer::{OfferedPrompt, hint};
use super::protocol::{GetPromptResult, PromptArgument, Role, method};
use super::server::{McpServer, ServerHandle};

/// The prompts of a session's servers. They do not keep the servers running.
pub(super) struct ServerPrompts {
    servers: Vec<Arc<ServerHandle>>,
    patience: Duration,
}

impl ServerPrompts {
    pub fn new(servers: &[Arc<McpServer>], patience: Duration) -> Self {
        let handles = servers.iter().map(|server| Arc::clone(&server.handle));
        Self {
            servers: handles.collect(),
            patience,
        }
    }

    fn find(&self, name: &str) -> Option<(Arc<ServerHandle>, OfferedPrompt)> {
        self.servers.iter().find_map(|server| {
            let offer = server.offer()?;
            let mut prompts = offer.prompts.iter();
            let prompt = prompts.find(|prompt| prompt.info.name == name)?;
            Some((Arc::clone(server), prompt.clone()))
        })
    }
}

impl PromptSource for ServerPrompts {
    fn prompts(&self) -> Vec<CommandInfo> {
        let offers = self.servers.iter().filter_map(|server| server.offer());
        let mut infos = Vec::new();
        for offer in offers {
            infos.extend(offer.prompts.iter().map(|prompt| prompt.info.clone()));
        }
        infos
    }

    fn fetch(&self, name: &str, arguments: &str) -> PromptFuture {
        let found = self.find(name);
        let arguments = arguments.to_owned();
        Box::pin(async move {
            match found {
                Some((server, prompt)) => Ok(filled_in(&server, &prompt, &arguments).await?),
                None => Err(PromptError::Gone.into()),
            }
        })
    }

    fn await_prompt(&self, name: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let servers = match name.starts_with(PREFIX) {
            true => self.servers.clone(),
            false => Vec::new(),
        };
        let patience = self.patience;
        Box::pin(async move {
            let all = join_all(servers.iter().map(|server| server.ready_or_failed()));
            // Who is not there by then is not waited for.
            let _ = timeout(patience, all).await;
        })
    }
}

/// Why a prompt was not filled in.
#[derive(Debug, thiserror::Error)]
enum PromptError {
    #[error("its server no longer offers it")]
    Gone,
    #[error(transparent)]
    Server(BoxError),
    #[error("the server returned an empty prompt")]
    Empty,
    #[error("{extra:?} is more than it takes; it takes {usage}")]
    TooMuch { extra: String, usage: String },
    #[error("{} is missing; it takes {usage}", names.join(", "))]
    Missing { names: Vec<String>, usage: String },
}

/// Has the server fill it in.
async fn filled_in(
    server: &ServerHandle,
    prompt: &OfferedPrompt,
    words: &str,
) -> Result<Vec<ContentBlock>, PromptError> {
    let arguments = filled(&prompt.arguments, words)?;
    let mut params = json!({ "name": prompt.name });
    if !arguments.is_empty() {
        params["arguments"] = Value::Object(arguments);
    }
    let answer = server.request(method::GET_PROMPT, &params).await;
    let answer: GetPromptResult = answer.map_err(|why| PromptError::Server(why.into()))?;
    let mut budget = budget();
    let mut content = Vec::new();
    for message in answer.messages {
        let Some(block) = shown(message.content, &mut budget) else {
            continue;
        };
        content.push(match (message.role, block.as_text()) {
            // The model shall take it for what it would say itself.
            (Role::Assistant, Some(text)) => {
                ContentBlock::text(format!("<assistant>\n{text}\n</assistant>"))
            }
            _ => block,
        });
    }
    content.extend(budget.left_out());
    match content.is_empty() {
        true => Err(PromptError::Empty),
        false => Ok(content),
    }
}

/// Gives the words to the arguments: `name=value` by name, the others in order. The last argument
/// takes what is left, so that nothing that was typed is lost.
fn filled(arguments: &[PromptArgument], words: &str) -> Result<Map<String, Value>, PromptError> {
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
        return Err(PromptError::TooMuch {
            extra,
            usage: usage(),
        });
    }
    let missing: Vec<String> = arguments
        .iter()
        .filter(|argument| argument.required && !filled.contains_key(&argument.name))
        .map(|argument| argument.name.clone())
        .collect();
    match missing.is_empty() {
        true => Ok(filled),
        false => Err(PromptError::Missing {
            names: missing,
            usage: usage(),
        }),
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
                Err(why) => format!("Err({:?})", why.to_string()),
            };
            assert_eq!(shown, expected, "{words}");
        }
    }
}
