//! A person who is asked in the way of each dialect that can ask.

use serde_json::{Value, json};

use crate::world::{Child, World};

/// The dialects in which a person can be asked.
pub const DIALECTS: [Dialect; 3] = [Dialect::Omp, Dialect::Psi, Dialect::Acp];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dialect {
    Omp,
    Psi,
    Acp,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Says {
    Once,
    Always,
    No,
}

/// Someone at a client, in the middle of a run.
pub struct Person {
    dialect: Dialect,
    child: Child,
    /// Every line of the run so far.
    pub seen: Vec<String>,
}

impl Person {
    /// One who has just prompted.
    pub fn prompts(world: &World, dialect: Dialect) -> Self {
        let child = match dialect {
            Dialect::Omp => {
                let mut child = world.omp();
                child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
                child
            }
            Dialect::Psi => {
                let mut child = world.psi();
                child.ask_psi("p", "prompt", r#"{:message "go"}"#);
                child
            }
            Dialect::Acp => {
                let (mut child, session) = world.acp(json!({}));
                let prompt = [json!({ "type": "text", "text": "go" })];
                let params = json!({ "sessionId": session, "prompt": prompt });
                child.request_acp(3, "session/prompt", params);
                child
            }
        };
        Self {
            dialect,
            child,
            seen: Vec::new(),
        }
    }

    /// The line of the next question, if one comes before the run ends.
    pub fn asked(&mut self) -> Option<String> {
        let (question, end) = match self.dialect {
            Dialect::Omp => (
                r#""type":"extension_ui_request""#,
                r#""type":"agent_settled""#,
            ),
            Dialect::Psi => (r#":event "ui/dialog-requested""#, r#":phase "idle""#),
            Dialect::Acp => (
                r#""method":"session/request_permission""#,
                r#""stopReason""#,
            ),
        };
        let fits = |line: &str| line.contains(question) || line.contains(end);
        self.seen.extend(self.child.until(fits));
        let last = self.seen.last().unwrap();
        last.contains(question).then(|| last.clone())
    }

    /// Answers the question of that line with one of the choices it offers.
    pub fn answers(&mut self, question: &str, says: Says) {
        let answer = match self.dialect {
            Dialect::Omp => {
                let question: Value = serde_json::from_str(question).unwrap();
                let choice = match says {
                    Says::Once => &question["options"][0],
                    Says::Always => &question["options"][1],
                    Says::No => &question["options"][2],
                };
                let id = &question["id"];
                json!({ "type": "extension_ui_response", "id": id, "value": choice }).to_string()
            }
            Dialect::Psi => {
                let id = question.split(":dialog-id ").nth(1).unwrap();
                let id = id.split(' ').next().unwrap();
                let value = match says {
                    Says::Once => "allow-once",
                    Says::Always => "allow-always",
                    Says::No => "reject-once",
                };
                let params = format!("{{:dialog-id {id} :result {value:?}}}");
                // The next question may come before the answer to this request, whose id is taken
                // until then.
                format!("{{:id {id} :kind :request :op \"resolve_dialog\" :params {params}}}")
            }
            Dialect::Acp => {
                let question: Value = serde_json::from_str(question).unwrap();
                let choice = match says {
                    Says::Once => "allow_once",
                    Says::Always => "allow_always",
                    Says::No => "reject_once",
                };
                let outcome = json!({ "outcome": "selected", "optionId": choice });
                let result = json!({ "outcome": outcome });
                json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }).to_string()
            }
        };
        self.child.send(&answer);
    }

    /// Reads on until the run ends, whatever the dialect says of its end.
    pub fn runs_to_the_end(&mut self) {
        let ends = match self.dialect {
            Dialect::Omp => [r#""type":"agent_settled""#, r#""type":"agent_settled""#],
            Dialect::Psi => [r#":phase "idle""#, r#":event "error""#],
            Dialect::Acp => [r#""stopReason""#, r#""id":3"#],
        };
        let is_end = |line: &str| ends.iter().any(|end| line.contains(end));
        self.seen.extend(self.child.until(is_end));
    }

    /// Answers every further question with no, until the run ends. The lines of all questions.
    pub fn refuses_the_rest(&mut self) -> Vec<String> {
        let mut questions = Vec::new();
        while let Some(question) = self.asked() {
            self.answers(&question, Says::No);
            questions.push(question);
        }
        questions
    }
}
