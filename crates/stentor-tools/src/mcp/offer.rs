//! What a server brings: its tools, its prompts, and whether it has resources.

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{PaginatedRequestParams, Prompt, ServerPeerInfo};
use rmcp::service::{RoleClient, ServiceError};
use rmcp::transport::DynamicTransportError;
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::tool::ToolSpec;
use stentor_agent::tool_servers::ToolServer;
use tokio::time::timeout;

use super::limits::{DESCRIPTION_BYTES, LISTED, PAGES};
use super::name::full_names;
use super::offered_tools::{self, Listed};

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
}

/// A prompt of a server.
#[derive(Debug, Clone)]
pub(super) struct OfferedPrompt {
    /// Its name at the server.
    pub name: String,
    pub info: CommandInfo,
    pub arguments: Vec<PromptArgument>,
}

/// Something a prompt wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptArgument {
    pub name: String,
    pub required: bool,
}

impl Offer {
    /// Asks a server what it brings. Only a server that cannot list its tools is of no use; prompts
    /// it cannot list are a problem that is told. The error is text for a person.
    pub async fn ask(wanted: &ToolServer, peer: &Peer<RoleClient>) -> Result<Self, String> {
        let info = peer.peer_info();
        let has = |part: fn(&ServerPeerInfo) -> bool| info.as_deref().is_some_and(part);
        let mut offer = Self {
            has_resources: has(|info| info.capabilities.resources.is_some()),
            ..Self::default()
        };
        if has(|info| info.capabilities.tools.is_some()) {
            let tools = Listing::of("tools", wanted.start_limit, |params| {
                offered_tools::page(peer, params)
            });
            let Listing { items, problem } = tools.await?;
            offer.problems.extend(problem);
            offer.problems.extend(unknown_choice(wanted, &items));
            let (tools, problems) = offered_tools::offered(wanted, items);
            offer.problems.extend(problems);
            offer.tools = tools;
        }
        if has(|info| info.capabilities.prompts.is_some()) {
            let prompts = Listing::of("prompts", wanted.start_limit, |page| async move {
                let page = peer.list_prompts(page).await?;
                Ok((page.prompts, page.next_cursor))
            });
            match prompts.await {
                Ok(Listing { items, problem }) => {
                    offer.problems.extend(problem);
                    let names = items.iter().map(|prompt| prompt.name.as_str());
                    let names = full_names(&wanted.name, names);
                    let prompts = names.into_iter().zip(items);
                    offer.prompts = prompts
                        .map(|(name, prompt)| offered_prompt(name, prompt))
                        .collect();
                }
                Err(why) => offer.problems.push(why),
            }
        }
        Ok(offer)
    }
}

/// A name in the choice that the server does not have is a mistake somebody wants to know of.
fn unknown_choice(wanted: &ToolServer, listed: &[Listed]) -> Option<String> {
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

/// A list that came in pages.
#[derive(Debug)]
pub(super) struct Listing<T> {
    pub items: Vec<T>,
    /// What was left out and why.
    pub problem: Option<String>,
}

impl<T> Listing<T> {
    /// Asks for one page after the other, within bounds. The error is text for a person.
    pub async fn of<F>(
        what: &str,
        limit: Duration,
        page: impl Fn(Option<PaginatedRequestParams>) -> F,
    ) -> Result<Self, String>
    where
        F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let listing = async {
            let mut items = Vec::new();
            let mut cursor: Option<String> = None;
            for _ in 0..PAGES {
                let asked = cursor.take();
                let params = asked
                    .is_some()
                    .then(|| PaginatedRequestParams::default().with_cursor(asked));
                let (more, next) = page(params).await?;
                items.extend(more);
                cursor = next.filter(|next| !next.is_empty());
                if cursor.is_none() || items.len() > LISTED {
                    break;
                }
            }
            let is_cut = items.len() > LISTED || cursor.is_some();
            items.truncate(LISTED);
            let problem = is_cut.then(|| {
                let kept = items.len();
                format!("it has more than {kept} {what}; the rest is left out")
            });
            Ok::<_, ServiceError>(Self { items, problem })
        };
        match timeout(limit, listing).await {
            Ok(Ok(listing)) => Ok(listing),
            Ok(Err(error)) => Err(format!("it cannot list its {what}: {}", told(&error))),
            Err(_) => Err(format!(
                "it did not list its {what} within {} s",
                limit.as_secs_f32()
            )),
        }
    }
}

/// The library's error, for a person.
pub(super) fn told(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportClosed => "it is gone".to_owned(),
        ServiceError::TransportSend(error) => transport_told(error),
        other => other.to_string(),
    }
}

/// What a transport says, with its causes.
pub(super) fn transport_told(error: &DynamicTransportError) -> String {
    let mut text = error.error.to_string();
    let mut source = error.error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some repeat their cause by themselves.
        if !text.contains(&cause_text) {
            text.push_str(&format!(": {cause_text}"));
        }
        source = cause.source();
    }
    let plain = text.strip_prefix("Client error: ");
    let plain = plain.or_else(|| text.strip_prefix("unexpected server response: "));
    plain.unwrap_or(&text).to_owned()
}

fn offered_prompt(full_name: String, prompt: Prompt) -> OfferedPrompt {
    let arguments: Vec<PromptArgument> = prompt
        .arguments
        .unwrap_or_default()
        .into_iter()
        .map(|argument| PromptArgument {
            name: argument.name,
            required: argument.required.unwrap_or(false),
        })
        .collect();
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
