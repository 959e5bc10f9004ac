//! The same answers in the words of each wire.

use serde_json::{Value, json};
use stentor_model::wire::Wire;

/// One answer, whatever the wire.
#[derive(Default)]
pub struct Script {
    pub thinking: &'static [&'static str],
    pub text: &'static [&'static str],
    /// Id, name, and fragments of the arguments.
    pub calls: &'static [(&'static str, &'static str, &'static [&'static str])],
}

/// What every answer consumed: 100 tokens uncached, 20 from the cache, 30 written.
const INPUT: u64 = 100;
const CACHED: u64 = 20;
const OUTPUT: u64 = 30;

pub fn event(name: &str, data: &Value) -> String {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!("event: {name}\n")
    };
    format!("{name}data: {data}\n\n")
}

impl Script {
    pub fn in_words_of(&self, wire: Wire) -> String {
        match wire {
            Wire::AnthropicMessages => self.anthropic(),
            Wire::OpenAiChat => self.chat(),
            Wire::OpenAiResponses | Wire::CodexResponses => self.responses(),
            Wire::Gemini => self.gemini(),
        }
    }

    fn anthropic(&self) -> String {
        let typed = |value: Value| event(value["type"].as_str().unwrap(), &value);
        let mut out = typed(
            json!({"type": "message_start", "message": {"id": "r1", "role": "assistant", "content": [],
            "usage": {"input_tokens": INPUT, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0, "output_tokens": 1}}}),
        );
        out += &typed(json!({"type": "ping"}));
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            let mut out = typed(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            for delta in deltas {
                out +=
                    &typed(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            out += &typed(json!({"type": "content_block_stop", "index": index}));
            index += 1;
            out
        };
        if !self.thinking.is_empty() {
            let mut deltas: Vec<Value> = self
                .thinking
                .iter()
                .map(|text| json!({"type": "thinking_delta", "thinking": text}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": "signed-by-anthropic"}));
            out += &block(
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas,
            );
        }
        if !self.text.is_empty() {
            let deltas = self
                .text
                .iter()
                .map(|text| json!({"type": "text_delta", "text": text}))
                .collect();
            out += &block(json!({"type": "text", "text": ""}), deltas);
        }
        for (id, name, fragments) in self.calls {
            let deltas = fragments
                .iter()
                .map(|text| json!({"type": "input_json_delta", "partial_json": text}))
                .collect();
            out += &block(
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                deltas,
            );
        }
        let reason = if self.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        out += &typed(
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": OUTPUT}}),
        );
        out + &typed(json!({"type": "message_stop"}))
    }

    fn chat(&self) -> String {
        let chunk = |delta: Value, finish: Value| {
            event(
                "",
                &json!({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
            )
        };
        let mut out = ": keep-alive\n\n".to_owned()
            + &chunk(json!({"role": "assistant", "content": ""}), Value::Null);
        for text in self.thinking {
            out += &chunk(json!({"reasoning_content": text}), Value::Null);
        }
        for text in self.text {
            out += &chunk(json!({"content": text}), Value::Null);
        }
        for (index, (id, name, fragments)) in self.calls.iter().enumerate() {
            out += &chunk(
                json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}),
                Value::Null,
            );
            for text in *fragments {
                out += &chunk(
                    json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}),
                    Value::Null,
                );
            }
        }
        let reason = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        out += &chunk(json!({}), reason.into());
        out += &event(
            "",
            &json!({"id": "r1", "choices": [], "usage": {"prompt_tokens": INPUT + CACHED, "completion_tokens": OUTPUT,
            "total_tokens": INPUT + CACHED + OUTPUT, "prompt_tokens_details": {"cached_tokens": CACHED}}}),
        );
        out + "data: [DONE]\n\n"
    }

    fn responses(&self) -> String {
        let typed = |value: Value| event(value["type"].as_str().unwrap(), &value);
        let mut out = typed(
            json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
        );
        let mut index = 0;
        if !self.thinking.is_empty() {
            let item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
            out += &typed(
                json!({"type": "response.output_item.added", "output_index": index, "item": item}),
            );
            out += &typed(
                json!({"type": "response.reasoning_summary_part.added", "output_index": index, "summary_index": 0}),
            );
            for text in self.thinking {
                out += &typed(
                    json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": 0, "delta": text}),
                );
            }
            let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed-by-openai",
                "summary": [{"type": "summary_text", "text": self.thinking.concat()}]});
            out += &typed(
                json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            );
            index += 1;
        }
        if !self.text.is_empty() {
            out += &typed(
                json!({"type": "response.output_item.added", "output_index": index, "item": {"type": "message", "id": "msg_1", "content": []}}),
            );
            for text in self.text {
                out += &typed(
                    json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text}),
                );
            }
            let item = json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": self.text.concat()}]});
            out += &typed(
                json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            );
            index += 1;
        }
        for (id, name, fragments) in self.calls {
            let item = |arguments: String| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments});
            out += &typed(
                json!({"type": "response.output_item.added", "output_index": index, "item": item(String::new())}),
            );
            for text in *fragments {
                out += &typed(
                    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}),
                );
            }
            out += &typed(
                json!({"type": "response.output_item.done", "output_index": index, "item": item(fragments.concat())}),
            );
            index += 1;
        }
        out + &typed(
            json!({"type": "response.completed", "response": {"id": "r1", "status": "completed", "usage": {
            "input_tokens": INPUT + CACHED, "output_tokens": OUTPUT, "input_tokens_details": {"cached_tokens": CACHED}}}}),
        )
    }

    fn gemini(&self) -> String {
        let chunk = |parts: Value, finish: Value| {
            let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
            if !finish.is_null() {
                candidate["finishReason"] = finish;
            }
            event(
                "",
                &json!({"candidates": [candidate], "responseId": "r1", "usageMetadata": {
                "promptTokenCount": INPUT + CACHED, "cachedContentTokenCount": CACHED, "candidatesTokenCount": OUTPUT}}),
            )
        };
        let mut out = String::new();
        for text in self.thinking {
            out += &chunk(json!([{"text": text, "thought": true}]), Value::Null);
        }
        if !self.thinking.is_empty() {
            out += &chunk(
                json!([{"text": "", "thought": true, "thoughtSignature": "c2lnbmVk"}]),
                Value::Null,
            );
        }
        for text in self.text {
            out += &chunk(json!([{"text": text}]), Value::Null);
        }
        for (n, (id, name, fragments)) in self.calls.iter().enumerate() {
            let args: Value = serde_json::from_str(&fragments.concat()).unwrap();
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": args}});
            if n == 0 {
                part["thoughtSignature"] = "Y2FsbA==".into();
            }
            out += &chunk(json!([part]), Value::Null);
        }
        out + &chunk(json!([{"text": ""}]), "STOP".into())
    }
}
