//! A question in the words of the Messages API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelRequest, Purpose, ThinkingLevel};
use stentor_journal::message::ToolCall;

use super::thinking;
use crate::call::{CallTarget, HttpCall, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::{self, enforceable};
use crate::transcript::{self, AssistantPart, IdRule, ToolAnswer, TranscriptPart, TranscriptTurn};

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
pub fn encode(target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
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
    HttpCall {
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
    tools: Vec<OfferedTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OfferedTool<'a> {
    Ours(Tool<'a>),
    /// One that the provider runs, as the user has written it.
    Theirs(&'a Value),
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
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<Value>,
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
    /// A block of the provider, as it came.
    #[serde(untagged)]
    Theirs(Cow<'a, Value>),
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
    fn new(
        target: CallTarget<'a>,
        request: &'a ModelRequest,
        turns: &'a [TranscriptTurn<'_>],
    ) -> Self {
        let info = target.info;
        let limit = output_limit(info, request);
        let (tools, tool_choice) = match request.tools.is_empty() {
            _ if request.purpose == Purpose::WebSearch => {
                (vec![OfferedTool::Ours(web_search())], None)
            }
            false => (tools(target, request), None),
            true if request.purpose == Purpose::Turn && !target.server_tools.is_empty() => {
                (tools(target, request), None)
            }
            true => {
                let called = called_tools(target, turns);
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
fn thinking_level(
    target: CallTarget<'_>,
    request: &ModelRequest,
    turns: &[TranscriptTurn<'_>],
) -> ThinkingLevel {
    let level = target.info.clamp(request.thinking);
    if level == ThinkingLevel::Off || !thinking::demands_thinking_first(&target.info.id) {
        return level;
    }
    let round = turns
        .iter()
        .rev()
        .take_while(|turn| !matches!(turn, TranscriptTurn::User(_)));
    let unthought = |turn: &TranscriptTurn<'_>| match turn {
        TranscriptTurn::Assistant(parts) => !matches!(
            parts.first(),
            Some(AssistantPart::Thinking { .. } | AssistantPart::Redacted { .. })
        ),
        TranscriptTurn::User(_) | TranscriptTurn::Results(_) => false,
    };
    if round.into_iter().any(unthought) {
        ThinkingLevel::Off
    } else {
        level
    }
}

/// The session's tools, and those that the provider runs. Of two with one name it is the provider's.
fn tools<'a>(target: CallTarget<'a>, request: &'a ModelRequest) -> Vec<OfferedTool<'a>> {
    let theirs = target.server_tools_for(request);
    let is_theirs = |name: &str| {
        theirs
            .iter()
            .any(|tool| tool.get("name") == Some(&name.into()))
    };
    let ours = request.tools.iter().filter(|tool| !is_theirs(&tool.name));
    let mut tools: Vec<Tool<'_>> = ours
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
    let ours = tools.into_iter().map(OfferedTool::Ours);
    ours.chain(theirs.iter().map(OfferedTool::Theirs)).collect()
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
fn called_tools<'a>(
    target: CallTarget<'a>,
    turns: &'a [TranscriptTurn<'_>],
) -> Vec<OfferedTool<'a>> {
    let mut names: Vec<&str> = Vec::new();
    let mut has_server_calls = false;
    for turn in turns {
        if let TranscriptTurn::Assistant(parts) = turn {
            names.extend(parts.iter().filter_map(|part| match part {
                AssistantPart::Call { call, .. } => Some(call.name.as_str()),
                part => {
                    has_server_calls |= matches!(part, AssistantPart::ServerCall { .. });
                    None
                }
            }));
        }
    }
    let theirs = target.server_tools.iter().filter(|_| has_server_calls);
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
    let ours = names.into_iter().map(declare).map(OfferedTool::Ours);
    ours.chain(theirs.map(OfferedTool::Theirs)).collect()
}

fn messages<'a>(turns: &'a [TranscriptTurn<'_>]) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for turn in turns {
        let (role, content): (_, Vec<Block<'_>>) = match turn {
            TranscriptTurn::User(parts) => ("user", parts.iter().map(Block::of).collect()),
            TranscriptTurn::Assistant(parts) => (
                "assistant",
                parts.iter().flat_map(assistant_blocks).collect(),
            ),
            TranscriptTurn::Results(answers) => ("user", answers.iter().map(tool_result).collect()),
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
        Self::new(Content::Text {
            text,
            citations: None,
        })
    }

    fn of(part: &'a TranscriptPart<'_>) -> Self {
        Self::new(match part {
            TranscriptPart::Text(text) => Content::Text {
                text,
                citations: None,
            },
            TranscriptPart::Image(image) => Content::Image {
                source: Base64 {
                    media_type: &image.mime_type,
                    data: &image.data,
                },
            },
            TranscriptPart::Pdf(document) => Content::Document {
                source: Base64 {
                    media_type: &document.mime_type,
                    data: &document.data,
                },
                title: document.name.as_deref(),
            },
        })
    }
}

fn assistant_blocks<'a>(part: &'a AssistantPart<'_>) -> Vec<Block<'a>> {
    let content = match part {
        AssistantPart::Text { text, .. } if text.trim().is_empty() => return Vec::new(),
        AssistantPart::Text { text, signature } => Content::Text {
            text,
            citations: signature.and_then(citations),
        },
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
        AssistantPart::ServerCall { call, item, result } => {
            return server_blocks(call, item, *result);
        }
    };
    vec![Block::new(content)]
}

/// A call that the provider has run with its result. Without the result, as an interrupted answer
/// leaves it, the API would refuse the call.
fn server_blocks<'a>(call: &ToolCall, item: &Value, result: Option<&'a Value>) -> Vec<Block<'a>> {
    let (Some(fields), Some(result)) = (item.as_object(), result) else {
        return Vec::new();
    };
    let mut used = fields.clone();
    used.insert("input".to_owned(), Value::Object(call.arguments.clone()));
    let blocks = [Cow::Owned(Value::Object(used)), Cow::Borrowed(result)];
    let blocks = blocks.into_iter().map(Content::Theirs);
    blocks.map(Block::new).collect()
}

/// What a text cites, from its signature.
fn citations(signature: &str) -> Option<Value> {
    let mut signature: Value = serde_json::from_str(signature).ok()?;
    signature.get_mut("citations").map(Value::take)
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
