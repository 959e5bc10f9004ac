//! A question in the words of the Gemini API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelInfo, ModelRequest, Purpose, ThinkingLevel};

use crate::call::{CallTarget, HttpCall, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::{self, enforceable};
use crate::transcript::{
    self, AssistantPart, IdRule, ToolAnswer, TranscriptPart, TranscriptTurn, split_media,
};

const IDS: IdRule = IdRule::Identifier { max_len: 64 };
/// Stands, as documented, for the signature of a call this model did not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The request for `request` at `target`.
pub fn encode(target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
    let headers = access(target.credential);
    let turns = transcript::prepare(&request.messages, target.info, IDS);
    let model = target.info.id.trim_start_matches("models/");
    HttpCall {
        url: format!(
            "{}/models/{model}:streamGenerateContent?alt=sse",
            target.base_url
        ),
        headers,
        body: to_bytes(&Body::new(target, request, &turns)),
    }
}

/// The headers that say who asks.
pub(crate) fn access(credential: &Credential) -> Vec<(&'static str, String)> {
    match credential {
        Credential::None => Vec::new(),
        Credential::ApiKey(key) => vec![("x-goog-api-key", key.expose().to_owned())],
        Credential::Bearer { token, .. } => {
            vec![("authorization", format!("Bearer {}", token.expose()))]
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Parts<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OfferedTools<'a>>,
    generation_config: Map<String, Value>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Parts<'a> {
    parts: Vec<Piece<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OfferedTools<'a> {
    Ours(Tools<'a>),
    /// One that the provider runs, as the user has written it.
    Theirs(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    function_declarations: Vec<Declaration<'a>>,
    /// The provider's own search.
    #[serde(skip_serializing_if = "Option::is_none")]
    google_search: Option<GoogleSearch>,
}

#[derive(Serialize)]
struct GoogleSearch {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Piece<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(flatten)]
    data: Payload<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Payload<'a> {
    Text(&'a str),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'a str,
        data: &'a str,
    },
    FunctionCall {
        name: &'a str,
        args: &'a Map<String, Value>,
    },
    FunctionResponse {
        name: &'a str,
        response: Response<'a>,
    },
    /// A part of the provider, as it came.
    #[serde(untagged)]
    Theirs(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Response<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

impl<'a> Body<'a> {
    fn new(
        target: CallTarget<'a>,
        request: &'a ModelRequest,
        turns: &'a [TranscriptTurn<'_>],
    ) -> Self {
        let info = target.info;
        let has_system = !request.system.trim().is_empty();
        let declarations = request.tools.iter().map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.parameters,
        });
        let searches = request.purpose == Purpose::WebSearch;
        let has_tools = !request.tools.is_empty() || searches;
        let ours = has_tools.then(|| Tools {
            function_declarations: declarations.collect(),
            google_search: searches.then_some(GoogleSearch {}),
        });
        let theirs = target.server_tools_for(request).iter();
        let theirs = theirs.map(OfferedTools::Theirs);
        Self {
            system_instruction: has_system.then(|| Parts {
                parts: vec![Piece::new(Payload::Text(&request.system))],
            }),
            tools: ours
                .map(OfferedTools::Ours)
                .into_iter()
                .chain(theirs)
                .collect(),
            generation_config: generation(info, request),
            contents: contents(turns, is_third_generation(info)),
        }
    }
}

fn generation(info: &ModelInfo, request: &ModelRequest) -> Map<String, Value> {
    let mut generation = Map::new();
    generation.insert("maxOutputTokens".into(), output_limit(info, request).into());
    if info.reasoning {
        generation.insert("thinkingConfig".into(), thinking(info, request.thinking));
    }
    // Older models have one or the other.
    if (is_third_generation(info) || request.tools.is_empty())
        && let Some(schema) = enforceable(request, &output_schema::GEMINI)
    {
        generation.insert("responseMimeType".into(), "application/json".into());
        generation.insert("responseJsonSchema".into(), schema);
    }
    generation
}

fn contents<'a>(turns: &'a [TranscriptTurn<'_>], signs_calls: bool) -> Vec<Content<'a>> {
    let mut contents = Vec::new();
    for turn in turns {
        match turn {
            TranscriptTurn::User(parts) => contents.push(Content {
                role: "user",
                parts: parts.iter().map(Piece::of).collect(),
            }),
            TranscriptTurn::Assistant(parts) => {
                let parts = assistant_parts(parts, signs_calls);
                if !parts.is_empty() {
                    contents.push(Content {
                        role: "model",
                        parts,
                    });
                }
            }
            TranscriptTurn::Results(answers) => results(answers, &mut contents),
        }
    }
    contents
}

/// Models up to 2.5 take a number of tokens, later ones a level.
fn thinking(info: &ModelInfo, level: ThinkingLevel) -> Value {
    let level = info.clamp(level);
    if is_third_generation(info) {
        let pro = info.id.contains("pro");
        let word = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal if !pro => "minimal",
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium if !pro => "medium",
            ThinkingLevel::Medium | ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
        };
        return json!({"includeThoughts": level != ThinkingLevel::Off, "thinkingLevel": word});
    }
    let can_be_off = !info.id.contains("pro");
    let budget = match level {
        ThinkingLevel::Off if can_be_off => 0,
        ThinkingLevel::Off | ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh => 24_576,
    };
    json!({"includeThoughts": level != ThinkingLevel::Off, "thinkingBudget": budget})
}

fn is_third_generation(info: &ModelInfo) -> bool {
    let version = info
        .id
        .trim_start_matches("models/")
        .strip_prefix("gemini-");
    let major = version.and_then(|version| version.chars().next());
    major.is_some_and(|digit| ('3'..='9').contains(&digit))
}

impl<'a> Piece<'a> {
    fn new(data: Payload<'a>) -> Self {
        Self {
            data,
            thought: None,
            thought_signature: None,
        }
    }

    fn of(part: &'a TranscriptPart<'_>) -> Self {
        Self::new(match part {
            TranscriptPart::Text(text) => Payload::Text(text),
            TranscriptPart::Image(image) => Payload::InlineData {
                mime_type: &image.mime_type,
                data: &image.data,
            },
            TranscriptPart::Pdf(document) => Payload::InlineData {
                mime_type: &document.mime_type,
                data: &document.data,
            },
        })
    }
}

fn assistant_parts<'a>(parts: &'a [AssistantPart<'_>], signs_calls: bool) -> Vec<Piece<'a>> {
    let mut out = Vec::new();
    let mut is_first_call = true;
    for part in parts {
        out.push(match part {
            AssistantPart::Text { text, signature } => Piece {
                thought_signature: *signature,
                ..Piece::new(Payload::Text(text))
            },
            AssistantPart::Thinking { text, signature } => Piece {
                thought: Some(true),
                thought_signature: Some(signature),
                ..Piece::new(Payload::Text(text))
            },
            AssistantPart::Redacted { .. } => continue,
            AssistantPart::ServerCall { item, result, .. } => {
                // A search leaves nothing that could go back, an interrupted call no result.
                let pair = result
                    .filter(|_| item.is_object())
                    .map(|result| [item, result]);
                let pair = pair.into_iter().flatten();
                out.extend(pair.map(|part| Piece::new(Payload::Theirs(part))));
                continue;
            }
            AssistantPart::Call {
                call, signature, ..
            } => {
                let first = std::mem::replace(&mut is_first_call, false);
                let call = Payload::FunctionCall {
                    name: &call.name,
                    args: &call.arguments,
                };
                Piece {
                    thought_signature: signature.or((signs_calls && first).then_some(NO_SIGNATURE)),
                    ..Piece::new(call)
                }
            }
        });
    }
    out
}

fn results<'a>(answers: &'a [ToolAnswer<'_>], contents: &mut Vec<Content<'a>>) {
    let mut media = Vec::new();
    let mut responses = Vec::new();
    for answer in answers {
        let (text, more) = split_media(&answer.parts);
        media.extend(more.into_iter().map(Piece::of));
        responses.push(Piece::new(Payload::FunctionResponse {
            name: answer.name,
            response: match answer.is_error {
                true => Response::Error(text),
                false => Response::Output(text),
            },
        }));
    }
    contents.push(Content {
        role: "user",
        parts: responses,
    });
    if !media.is_empty() {
        media.insert(
            0,
            Piece::new(Payload::Text("(media of the tool results above)")),
        );
        contents.push(Content {
            role: "user",
            parts: media,
        });
    }
}
