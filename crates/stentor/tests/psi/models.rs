//! `/reload-models` reads everything again that models are known from.

use expect_test::expect;

use super::child::{Backend, write};

const OURS: &str = r#"
[providers.acme]
base_url = "http://127.0.0.1:9/v1"
api = "openai-completions"
api_key = "key-0123456789"
models = [{ id = "m" }]
"#;

const PIS: &str = r#"{"providers":{"mine":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"key-0123456789","models":[{"id":"a"}]}}}"#;

const OMPS: &str = "providers:\n  yours:\n    baseUrl: http://127.0.0.1:9\n    api: anthropic-messages\n    apiKey: key-0123456789\n    models:\n      - id: b\n";

#[test]
fn configuration_and_the_files_of_pi_and_omp_are_read_again() {
    let home = tempfile::tempdir().unwrap();
    let config = ".config/stentor/config.toml";
    let mut backend = Backend::ready(home.path(), &["--rpc-edn", "--model", "offline/guide"]);
    let mut seen = Vec::new();
    let mut reload = |text: &str| {
        seen.push(text.to_owned());
        for command in ["/reload-models", "/model acme m"] {
            let params = format!("{{:text {command:?}}}");
            let frames = backend.request("c", "command", &params);
            seen.extend(
                frames
                    .into_iter()
                    .filter(|frame| frame.contains("command-result")),
            );
        }
    };
    reload("nothing changed");
    write(home.path(), config, OURS);
    reload("ours");
    write(home.path(), ".pi/agent/models.json", PIS);
    write(home.path(), ".omp/agent/models.yml", OMPS);
    reload("theirs");
    write(home.path(), config, "modle = 3\n");
    reload("broken");
    write(home.path(), config, "");
    write(home.path(), ".pi/agent/models.json", "{ nonsense");
    reload("gone");
    expect![[r#"
        nothing changed
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: N available."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "Model not found: acme/m"} :id "c" :seq N :ts "TIME"}
        ours
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: N available.\nNew: acme/m"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme m"} :id "c" :seq N :ts "TIME"}
        theirs
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: N available.\nNew: mine/a, yours/b"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme m"} :id "c" :seq N :ts "TIME"}
        broken
        {:kind :event :event "command-result" :data {:type "text" :message "The models stay as they were: HOME/.config/stentor/config.toml:1:1: unknown key `modle`; did you mean `model`?"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme m"} :id "c" :seq N :ts "TIME"}
        gone
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: N available.\nGone: acme/m, mine/a\n⚠ HOME/.pi/agent/models.json cannot be used: key must be a string at line 1 column 3"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "Model not found: acme/m"} :id "c" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn section_9_6_an_id_that_nobody_has_described_is_unknown_however_it_is_chosen() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ".config/stentor/config.toml", OURS);
    let mut backend = Backend::ready(home.path(), &["--rpc-edn", "--model", "acme/m"]);
    let topics = r#"{:topics ["command-result" "session/updated"]}"#;
    backend.ask("s", "subscribe", topics);
    let mut seen = Vec::new();
    for (op, params) in [
        ("set_model", r#"{:provider "acme" :model-id "nope"}"#),
        (
            "set_model",
            r#"{:provider "acme" :model-id "nope" :scope "user"}"#,
        ),
        ("command", r#"{:text "/model acme nope"}"#),
        (
            "frontend_action_result",
            r#"{:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "acme" :id "nope"}}"#,
        ),
        ("set_model", r#"{:provider "acme" :model-id "m"}"#),
    ] {
        seen.push(format!("{op} {params}"));
        seen.extend(backend.request("x", op, params));
    }
    expect![[r#"
        set_model {:provider "acme" :model-id "nope"}
        {:kind :error :error-code "request/unknown-model" :error-message "Model not found: acme/nope" :id "x" :op "set_model"}
        set_model {:provider "acme" :model-id "nope" :scope "user"}
        {:kind :error :error-code "request/unknown-model" :error-message "Model not found: acme/nope" :id "x" :op "set_model"}
        command {:text "/model acme nope"}
        {:kind :event :event "command-result" :data {:type "text" :message "Model not found: acme/nope"} :id "x" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "acme" :model-id "m" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(acme) m" :status-session-line "session: SESSION phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "x" :seq N :ts "TIME"}
        {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        frontend_action_result {:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "acme" :id "nope"}}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "acme" :model-id "m" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(acme) m" :status-session-line "session: SESSION phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "x" :seq N :ts "TIME"}
        {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        set_model {:provider "acme" :model-id "m"}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "acme" :model-id "m" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(acme) m" :status-session-line "session: SESSION phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}"#]].assert_eq(&seen.join("\n"));
    let file = std::fs::read_to_string(home.path().join(".config/stentor/config.toml"));
    assert_eq!(file.unwrap(), OURS);
}
