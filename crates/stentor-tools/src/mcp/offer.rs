//! What a server brings: its tools, its prompts, and whether it has resources.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::tool::ToolSpec;
use stentor_agent::tool_servers::ToolServer;
use tokio::time::timeout;

use super::client::GreetedServer;
use super::limits::{DESCRIPTION_BYTES, LISTED, PAGES};
use super::name::full_names;
use super::offered_tools::{self, ListedTool};
use super::protocol::{List, PROMPTS, Prompt, PromptArgument, TOOLS};
use crate::json_rpc_child::{NotSent, RequestError};

/// What a server brings, as it was when it was asked.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub tools: Vec<OfferedTool>,
    pub prompts: Vec<OfferedPrompt>,
    pub has_resources: bool,
    /// What of it is left out and why, for a person.
    pub problems: Vec<String>,
}

/// A tool of a server.
#[derive(Debug, Clone)]
pub(super) struct OfferedTool {
    /// Its name at the server.
    pub name: String,
    pub spec: ToolSpec,
    /// Its server says that it changes nothing.
    pub claims_to_read: bool,
}

/// A prompt of a server.
#[derive(Debug, Clone)]
pub(super) struct OfferedPrompt {
    /// Its name at the server.
    pub name: String,
    pub info: CommandInfo,
    pub arguments: Vec<PromptArgument>,
}

impl Offer {
    /// Asks a server what it brings. Only a server that cannot list its tools is of no use; prompts
    /// it cannot list are a problem that is told.
    pub async fn ask(wanted: &ToolServer, client: &GreetedServer) -> Result<Self, Unlisted> {
        let has = &client.info.capabilities;
        let mut offer = Self {
            has_resources: has.resources.is_some(),
            ..Self::default()
        };
        if has.tools.is_some() {
            let PagedList { items, problem } =
                PagedList::of(client, &TOOLS, wanted.start_limit).await?;
            let items: Vec<ListedTool> = items.into_iter().map(ListedTool::new).collect();
            offer.problems.extend(problem);
            offer.problems.extend(unknown_choice(wanted, &items));
            let (tools, problems) = offered_tools::offered(wanted, items);
            offer.problems.extend(problems);
            offer.tools = tools;
        }
        if has.prompts.is_some() {
            match PagedList::of(client, &PROMPTS, wanted.start_limit).await {
                Ok(listing) => {
                    let prompts: Vec<Prompt> = listing.read();
                    offer.problems.extend(listing.problem);
                    let names = prompts.iter().map(|prompt| prompt.name.as_str());
                    let names = full_names(&wanted.name, names);
                    let prompts = names.into_iter().zip(prompts);
                    offer.prompts = prompts
                        .map(|(name, prompt)| offered_prompt(name, prompt))
                        .collect();
                }
                Err(why) => offer.problems.push(why.to_string()),
            }
        }
        Ok(offer)
    }
}

/// A name in the choice that the server does not have is a mistake somebody wants to know of.
fn unknown_choice(wanted: &ToolServer, listed: &[ListedTool]) -> Option<String> {
    let only = wanted.tools.only.as_ref()?;
    let is_unknown = |name: &&String| listed.iter().all(|tool| tool.name() != **name);
    let except = &wanted.tools.except;
    let unknown: Vec<&str> = only
        .iter()
        .filter(|name| !except.contains(*name))
        .filter(is_unknown)
        .map(String::as_str)
        .collect();
    (!unknown.is_empty()).then(|| format!("it has no tool {}", unknown.join(", ")))
}

/// Why a server's list is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unlisted {
    #[error("it cannot list its {what}: it is gone")]
    Gone { what: &'static str },
    #[error("it cannot list its {what}: {why}")]
    Refused { what: &'static str, why: String },
    #[error("it did not list its {what} within {seconds} s")]
    Late { what: &'static str, seconds: f32 },
}

/// A list that came in pages.
#[derive(Debug)]
pub(super) struct PagedList {
    pub items: Vec<Value>,
    /// What was left out and why.
    pub problem: Option<String>,
}

impl PagedList {
    /// Asks for one page after the other, within bounds.
    pub async fn of(
        client: &GreetedServer,
        list: &List,
        limit: Duration,
    ) -> Result<Self, Unlisted> {
        let what = list.what;
        match timeout(limit, Self::pages(client, list)).await {
            Ok(Ok(listing)) => Ok(listing),
            Ok(Err(RequestError::Gone | RequestError::NotSent(NotSent::Gone))) => {
                Err(Unlisted::Gone { what })
            }
            Ok(Err(error)) => Err(Unlisted::Refused {
                what,
                why: error.to_string(),
            }),
            Err(_) => Err(Unlisted::Late {
                what,
                seconds: limit.as_secs_f32(),
            }),
        }
    }

    /// The items that can be read.
    pub fn read<T: DeserializeOwned>(&self) -> Vec<T> {
        let items = self.items.iter();
        items.filter_map(|item| T::deserialize(item).ok()).collect()
    }

    async fn pages(client: &GreetedServer, list: &List) -> Result<Self, RequestError> {
        let what = list.what;
        let mut items = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let (more, next) = client.page(list, cursor.take()).await?;
            items.extend(more);
            cursor = next;
            if cursor.is_none() || items.len() > LISTED {
                break;
            }
        }
        let problem = match (items.len() > LISTED, cursor) {
            (true, _) => Some(format!(
                "it has more than {LISTED} {what}; the rest is left out"
            )),
            (false, Some(_)) => Some(format!(
                "it spreads its {what} over more than {PAGES} pages; the rest is left out"
            )),
            (false, None) => None,
        };
        items.truncate(LISTED);
        Ok(Self { items, problem })
    }
}

fn offered_prompt(full_name: String, prompt: Prompt) -> OfferedPrompt {
    let arguments = prompt.arguments.unwrap_or_default();
    let description = prompt.description.or(prompt.title);
    OfferedPrompt {
        info: CommandInfo {
            name: full_name,
            description: description.map(short),
            hint: hint(&arguments),
            source: CommandSource::McpPrompt,
            path: None,
        },
        name: prompt.name,
        arguments,
    }
}

/// `NAME [NAME]`: what may follow the command, for people.
pub(super) fn hint(arguments: &[PromptArgument]) -> Option<String> {
    let words: Vec<String> = arguments
        .iter()
        .map(|argument| match argument.required {
            true => argument.name.clone(),
            false => format!("[{}]", argument.name),
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The text, as long as a description may be.
pub(super) fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(DESCRIPTION_BYTES));
    text
}
