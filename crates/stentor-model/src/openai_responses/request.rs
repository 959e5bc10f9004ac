//! A question in the words of the Responses API.
//!
//! Nothing is stored at the provider: reasoning comes back encrypted and is sent again with the
//! conversation, so a session needs nobody else's memory.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};
use stentor_agent::model::{ModelInfo, ModelRequest, Purpose, ThinkingLevel};

use crate::call::{CallTarget, HttpCall, bearer_headers, output_limit, to_bytes};
use crate::credential::Credential;
use crate::openai::{DataUrl, arguments_text, file_name, result_text};
use crate::output_schema::{self, enforceable};
use crate::transcript::{self, AssistantPart, IdRule, ToolAnswer, TranscriptPart, TranscriptTurn};

const IDS: IdRule = IdRule::Identifier { max_len: 64 };

/// The request for `request` at `target`.
pub fn encode(target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
    let turns = transcript::prepare(&request.messages, target.info, IDS);
    let mut body = Body::new(target, request, &turns);
    body.max_output_tokens = Some(output_limit(target.info, request).max(16));
    HttpCall {
        url: format!("{}/responses", target.base_url),
        headers: bearer_headers(target.credential),
        body: to_bytes(&body),
    }
}

/// The same for a ChatGPT subscription, which has its own address and wants the account named.
pub fn encode_for_codex(target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
    let turns = transcript::prepare(&request.messages, target.info, IDS);
    let mut body = Body::new(target, request, &turns);
    body.instructions
        .get_or_insert("You are a helpful assistant.");
    let mut headers = bearer_headers(target.credential);
    headers.push(("openai-beta", "responses=experimental".to_owned()));
    headers.push(("originator", "stentor".to_owned()));
    if let Credential::Bearer {
        account: Some(account),
        ..
    } = target.credential
    {
        headers.push(("chatgpt-account-id", account.clone()));
    }
    if !request.session_id.is_empty() {
        headers.push(("session_id", request.session_id.to_string()));
    }
    HttpCall {
        url: format!("{}/codex/responses", target.base_url),
        headers,
        body: to_bytes(&body),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        strict: bool,
    },
    /// The provider's own search.
    WebSearch {},
    /// One that the provider runs, as the user has written it.
    #[serde(untagged)]
    Theirs(&'a Value),
}

/// What has to be asked for to see what tools of the provider have done, by the type of the tool.
const SERVER_OUTPUT: [(&str, &str); 3] = [
    ("web_search", "web_search_call.action.sources"),
    ("file_search", "file_search_call.results"),
    ("code_interpreter", "code_interpreter_call.outputs"),
];

/// An item of the conversation.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Ours(OurItem<'a>),
    /// An item of the provider, as it came.
    Theirs(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OurItem<'a> {
    Message {
        role: &'static str,
        content: Vec<Piece<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        image_url: DataUrl<'a>,
    },
    InputFile {
        filename: &'a str,
        file_data: DataUrl<'a>,
    },
    OutputText {
        text: &'a str,
        annotations: [(); 0],
    },
}

impl<'a> Body<'a> {
    fn new(
        target: CallTarget<'a>,
        request: &'a ModelRequest,
        turns: &'a [TranscriptTurn<'_>],
    ) -> Self {
        let info = target.info;
        let theirs = target.server_tools_for(request);
        let tools = request.tools.iter().map(|tool| Tool::Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        });
        let search = (request.purpose == Purpose::WebSearch).then_some(Tool::WebSearch {});
        let tools = tools.chain(search);
        let tools: Vec<Tool<'_>> = tools.chain(theirs.iter().map(Tool::Theirs)).collect();
        let reasons = info.reasoning;
        let text = enforceable(request, &output_schema::OPENAI).map(|schema| {
            json!({"format": {
                "type": "json_schema", "name": "result", "schema": schema, "strict": true,
            }})
        });
        Self {
            model: &info.id,
            stream: true,
            store: false,
            instructions: (!request.system.trim().is_empty()).then_some(&*request.system),
            prompt_cache_key: (!request.session_id.is_empty()).then_some(&*request.session_id),
            include: include(reasons, theirs),
            reasoning: match reasons {
                true => reasoning(info, request.thinking),
                false => None,
            },
            text,
            parallel_tool_calls: (!tools.is_empty()).then_some(true),
            tools,
            max_output_tokens: None,
            input: input(turns),
        }
    }
}

/// What is asked for besides the answer.
fn include(reasons: bool, server_tools: &[Value]) -> Vec<&'static str> {
    let reasoning = reasons.then_some("reasoning.encrypted_content");
    let is_offered = |kind: &str| {
        let mut kinds = server_tools
            .iter()
            .filter_map(|tool| tool.get("type")?.as_str());
        kinds.any(|offered| offered.starts_with(kind))
    };
    let outputs = SERVER_OUTPUT.into_iter();
    let outputs = outputs.filter_map(|(kind, output)| is_offered(kind).then_some(output));
    reasoning.into_iter().chain(outputs).collect()
}

fn input<'a>(turns: &'a [TranscriptTurn<'_>]) -> Vec<Item<'a>> {
    let mut input = Vec::new();
    for turn in turns {
        match turn {
            TranscriptTurn::User(parts) => input.push(Item::Ours(OurItem::Message {
                role: "user",
                content: parts.iter().map(piece).collect(),
                phase: None,
            })),
            TranscriptTurn::Assistant(parts) => assistant_items(parts, &mut input),
            TranscriptTurn::Results(answers) => input.extend(answers.iter().map(result)),
        }
    }
    input
}

fn reasoning(info: &ModelInfo, level: ThinkingLevel) -> Option<Value> {
    let level = info.clamp(level);
    let lists = |level| info.thinking_levels.contains(&level);
    let effort = match level {
        ThinkingLevel::Off if lists(level) => return Some(json!({"effort": "none"})),
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal if !lists(level) => "low",
        ThinkingLevel::Xhigh if !lists(level) => "high",
        level => level.as_str(),
    };
    Some(json!({"effort": effort, "summary": "auto"}))
}

fn piece<'a>(part: &'a TranscriptPart<'_>) -> Piece<'a> {
    match part {
        TranscriptPart::Text(text) => Piece::InputText {
            text: Cow::Borrowed(text.as_ref()),
        },
        TranscriptPart::Image(image) => Piece::InputImage {
            detail: "auto",
            image_url: DataUrl::of_image(image),
        },
        TranscriptPart::Pdf(document) => Piece::InputFile {
            filename: file_name(document),
            file_data: DataUrl::of_document(document),
        },
    }
}

fn assistant_items<'a>(parts: &'a [AssistantPart<'_>], input: &mut Vec<Item<'a>>) {
    for (n, part) in parts.iter().enumerate() {
        // The API refuses reasoning that nothing follows, as an interrupted answer leaves it.
        let is_followed = parts.get(n + 1..).is_some_and(|rest| !rest.is_empty());
        match part {
            AssistantPart::Text { text, signature } if !text.trim().is_empty() => {
                input.push(message(text, *signature));
            }
            AssistantPart::Thinking { signature, .. } => {
                let item = reasoning_item(signature).filter(|_| is_followed);
                input.extend(item.map(Item::Theirs));
            }
            AssistantPart::Text { .. } | AssistantPart::Redacted { .. } => {}
            AssistantPart::ServerCall { item, .. } => input.push(Item::Theirs(item.clone())),
            AssistantPart::Call { id, call, .. } => {
                input.push(Item::Ours(OurItem::FunctionCall {
                    call_id: id,
                    name: &call.name,
                    arguments: arguments_text(call),
                }));
            }
        }
    }
}

/// Text of the model, with the phase it was said in where the model distinguishes phases.
fn message<'a>(text: &'a str, signature: Option<&str>) -> Item<'a> {
    let signature = signature.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let phase = signature.and_then(|mut signature| signature.get_mut("phase").map(Value::take));
    Item::Ours(OurItem::Message {
        role: "assistant",
        content: vec![Piece::OutputText {
            text,
            annotations: [],
        }],
        phase: phase.and_then(|phase| phase.as_str().map(str::to_owned)),
    })
}

/// The reasoning item a signature holds, if it can be sent back: only encrypted it means anything
/// to a provider that stored nothing.
fn reasoning_item(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    let is_encrypted = item.get("encrypted_content").is_some_and(Value::is_string);
    is_encrypted.then_some(item)
}

fn result<'a>(answer: &'a ToolAnswer<'_>) -> Item<'a> {
    let (text, media) = result_text(answer);
    let output = match media.is_empty() {
        true => Output::Text(text),
        false => {
            let text = std::iter::once(Piece::InputText { text });
            Output::Pieces(text.chain(media.into_iter().map(piece)).collect())
        }
    };
    Item::Ours(OurItem::FunctionCallOutput {
        call_id: &answer.id,
        output,
    })
}
