//! A question in the words of the Messages API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelRequest, Purpose, ThinkingLevel};

use super::thinking;
use crate::call::{Call, Target, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::{self, enforceable};
use crate::transcript::{self, AssistantPart, IdRule, Part, ToolAnswer, Turn};

const VERSION: &str = "2023-06-01";
const IDS: IdRule = IdRule::Identifier { max_len: 64 };
/// What an access token of a login needs to be accepted.
const OAUTH_BETA: &str = "oauth-2025-04-20";
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";
const FINE_TOOL_STREAM_BETA: &str = "fine-grained-tool-streaming-2025-05-14";
const OFFICIAL: &str = "https://api.anthropic.com";
/// Breakpoints in the conversation. With one each for the tools and the system prompt that makes
/// the four the API allows; the older one still matches when the newest turn changed.
const CACHED_USER_TURNS: usize = 2;

/// How often the provider may search for one answer.
const SEARCHES: u64 = 5;

/// The request for `request` at `target`.
pub fn encode(target: Target<'_>, request: &ModelRequest) -> Call {
    let turns = transcript::prepare(&request.messages, target.info, IDS);
    let body = Body::new(target, request, &turns);
    let (mut headers, mut betas) = access(target.credential);
    // A server that only imitates the API may refuse words it does not know.
    if target.base_url == OFFICIAL {
        betas.push(FINE_TOOL_STREAM_BETA);
        if thinking::demands_thinking_first(&target.info.id) && body.thinking.is_some() {
            betas.push(INTERLEAVED_BETA);
        }
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta", betas.join(",")));
    }
    Call {
        url: format!("{}/v1/messages", target.base_url),
        headers,
        body: to_bytes(&body),
    }
}

/// The headers that every request has, and the betas that this access needs.
pub(crate) fn access(credential: &Credential) -> (Vec<(&'static str, String)>, Vec<&'static str>) {
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    let mut betas = Vec::new();
    match credential {
        Credential::None => {}
        Credential::ApiKey(key) => headers.push(("x-api-key", key.expose().to_owned())),
        Credential::Bearer { token, .. } => {
            headers.push(("authorization", format!("Bearer {}", token.expose())));
            betas.push(OAUTH_BETA);
        }
    }
    (headers, betas)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Block<'a>; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    /// Of a tool that the provider runs itself.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_uses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Base64<'a>,
    },
    Document {
        source: Base64<'a>,
        title: Option<&'a str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "base64")]
struct Base64<'a> {
    media_type: &'a str,
    data: &'a str,
}

/// Marks the end of a beginning that the provider shall keep for the next request.
#[derive(Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct Ephemeral {}

impl<'a> Body<'a> {
    fn new(target: Target<'a>, request: &'a ModelRequest, turns: &'a [Turn<'_>]) -> Self {
        let info = target.info;
        let limit = output_limit(info, request);
        let (tools, tool_choice) = match request.tools.is_empty() {
            _ if request.purpose == Purpose::WebSearch => (vec![web_search()], None),
            false => (tools(request), None),
            true => {
                let called = called_tools(turns);
                let choice = (!called.is_empty()).then(|| json!({"type": "none"}));
                (called, choice)
            }
        };
        let (thinking, mut output_config) = match info.reasoning {
            true => thinking::fields(&info.id, thinking_level(target, request, turns), limit),
            false => (None, None),
        };
        if info.provider == "anthropic"
            && thinking::takes_schema(&info.id)
            && let Some(schema) = enforceable(request, &output_schema::ANTHROPIC)
            && let Some(output) = output_config
                .get_or_insert_with(|| json!({}))
                .as_object_mut()
        {
            let format = json!({"type": "json_schema", "schema": schema});
            output.insert("format".into(), format);
        }
        let has_system = !request.system.trim().is_empty();
        Self {
            model: &info.id,
            max_tokens: limit,
            stream: true,
            system: has_system.then(|| {
                [Block {
                    cache_control: Some(Ephemeral {}),
                    ..Block::text(&request.system)
                }]
            }),
            tools,
            tool_choice,
            thinking,
            output_config,
            messages: messages(turns),
        }
    }
}

/// Older models refuse to go on thinking in a round of tool calls that began without: such a round
/// begun by another model is finished without thinking.
fn thinking_level(target: Target<'_>, request: &ModelRequest, turns: &[Turn<'_>]) -> ThinkingLevel {
    let level = target.info.clamp(request.thinking);
    if level == ThinkingLevel::Off || !thinking::demands_thinking_first(&target.info.id) {
        return level;
    }
    let round = turns
        .iter()
        .rev()
        .take_while(|turn| !matches!(turn, Turn::User(_)));
    let unthought = |turn: &Turn<'_>| match turn {
        Turn::Assistant(parts) => !matches!(
            parts.first(),
            Some(AssistantPart::Thinking { .. } | AssistantPart::Redacted { .. })
        ),
        Turn::User(_) | Turn::Results(_) => false,
    };
    if round.into_iter().any(unthought) {
        ThinkingLevel::Off
    } else {
        level
    }
}

fn tools(request: &ModelRequest) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|tool| Tool {
            kind: None,
            name: &tool.name,
            description: Some(&tool.description),
            input_schema: Some(Cow::Borrowed(&*tool.parameters)),
            max_uses: None,
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(Ephemeral {});
    }
    tools
}

/// The provider's own search.
fn web_search() -> Tool<'static> {
    Tool {
        kind: Some("web_search_20250305"),
        name: "web_search",
        description: None,
        input_schema: None,
        max_uses: Some(SEARCHES),
        cache_control: None,
    }
}

/// The tools the conversation has calls of. The API wants them declared even where none may be
/// called, as in a summary.
fn called_tools<'a>(turns: &'a [Turn<'_>]) -> Vec<Tool<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for turn in turns {
        if let Turn::Assistant(parts) = turn {
            names.extend(parts.iter().filter_map(|part| match part {
                AssistantPart::Call { call, .. } => Some(call.name.as_str()),
                _ => None,
            }));
        }
    }
    names.sort_unstable();
    names.dedup();
    let declare = |name| Tool {
        kind: None,
        name,
        description: None,
        input_schema: Some(Cow::Owned(json!({"type": "object"}))),
        max_uses: None,
        cache_control: None,
    };
    names.into_iter().map(declare).collect()
}

fn messages<'a>(turns: &'a [Turn<'_>]) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for turn in turns {
        let (role, content): (_, Vec<Block<'_>>) = match turn {
            Turn::User(parts) => ("user", parts.iter().map(Block::of).collect()),
            Turn::Assistant(parts) => (
                "assistant",
                parts.iter().filter_map(assistant_block).collect(),
            ),
            Turn::Results(answers) => ("user", answers.iter().map(tool_result).collect()),
        };
        if content.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => messages.push(Message { role, content }),
        }
    }
    let users = messages
        .iter_mut()
        .rev()
        .filter(|message| message.role == "user");
    for message in users.take(CACHED_USER_TURNS) {
        if let Some(last) = message.content.last_mut() {
            last.cache_control = Some(Ephemeral {});
        }
    }
    messages
}

impl<'a> Block<'a> {
    fn new(content: Content<'a>) -> Self {
        Self {
            content,
            cache_control: None,
        }
    }

    fn text(text: &'a str) -> Self {
        Self::new(Content::Text { text })
    }

    fn of(part: &'a Part<'_>) -> Self {
        Self::new(match part {
            Part::Text(text) => Content::Text { text },
            Part::Image(image) => Content::Image {
                source: Base64 {
                    media_type: &image.mime_type,
                    data: &image.data,
                },
            },
            Part::Pdf(document) => Content::Document {
                source: Base64 {
                    media_type: &document.mime_type,
                    data: &document.data,
                },
                title: document.name.as_deref(),
            },
        })
    }
}

fn assistant_block<'a>(part: &'a AssistantPart<'_>) -> Option<Block<'a>> {
    Some(Block::new(match part {
        AssistantPart::Text { text, .. } if text.trim().is_empty() => return None,
        AssistantPart::Text { text, .. } => Content::Text { text },
        AssistantPart::Thinking { text, signature } => Content::Thinking {
            thinking: text,
            signature,
        },
        AssistantPart::Redacted { data } => Content::RedactedThinking { data },
        AssistantPart::Call { id, call, .. } => Content::ToolUse {
            id,
            name: &call.name,
            input: &call.arguments,
        },
    }))
}

fn tool_result<'a>(answer: &'a ToolAnswer<'_>) -> Block<'a> {
    let content = match answer.parts.is_empty() {
        true => vec![Block::text("(no output)")],
        false => answer.parts.iter().map(Block::of).collect(),
    };
    Block::new(Content::ToolResult {
        tool_use_id: &answer.id,
        content,
        is_error: answer.is_error,
    })
}
