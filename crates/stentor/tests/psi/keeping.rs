//! A choice of model that is kept: `:scope` of `set_model`, and the word behind `/model` (sections
//! 9.6 and 13.1).

use std::path::Path;

use expect_test::expect;

use super::child::{Backend, write};

const USERS: &str = ".config/stentor/config.toml";
const PROJECTS: &str = ".stentor/config.toml";

const ACME: &str = r#"# mine
model = "offline/guide"   # until I know better

[providers.acme]  # at work
base_url = "http://127.0.0.1:9/v1"
api = "openai-completions"
api_key = "key-0123456789"
models = [{ id = "m" }, { id = "n" }]
"#;

const SCENARIO: &str = "[model]\nid = \"tale\"\n[[turn]]\ntext = \"once\"\n";

/// The answers to some choices, and what became of the files.
struct Seen<'a> {
    home: &'a Path,
    lines: Vec<String>,
}

impl<'a> Seen<'a> {
    fn new(home: &'a Path) -> Self {
        let lines = Vec::new();
        Self { home, lines }
    }

    /// Makes a choice with `set_model`.
    fn set(&mut self, backend: &mut Backend, params: &str) {
        self.lines.push(format!("set_model {params}"));
        let frames = backend.request("s", "set_model", params);
        self.lines.extend(frames);
    }

    /// Makes a choice with `/model`.
    fn model(&mut self, backend: &mut Backend, words: &str) {
        self.lines.push(format!("/model {words}"));
        let params = format!("{{:text \"/model {words}\"}}");
        let frames = backend.request("c", "command", &params);
        self.lines.extend(frames);
    }

    fn file(&mut self, name: &str) {
        let text = std::fs::read_to_string(self.home.join(name));
        let text = text.unwrap_or_else(|error| format!("{}\n", error.kind()));
        self.lines.push(format!("--- {name}\n{text}---"));
    }

    /// What a backend that is started now begins with.
    fn restart(&mut self, words: &[&str]) {
        let mut backend = Backend::start(self.home, words);
        self.lines.push(backend.handshake());
        backend.end();
    }

    fn shows(self, expected: &expect_test::Expect) {
        expected.assert_eq(&self.lines.join("\n"));
    }
}

/// A backend that tells what commands say.
fn listening(home: &Path, words: &[&str]) -> Backend {
    let mut backend = Backend::ready(home, words);
    backend.ask("l", "subscribe", r#"{:topics ["command-result"]}"#);
    backend
}

#[test]
fn a_model_for_the_user_is_kept_in_the_users_file_and_a_restart_begins_with_it() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), USERS, ACME);
    let mut seen = Seen::new(home.path());
    let mut backend = listening(home.path(), &["--rpc-edn"]);
    seen.set(&mut backend, r#"{:provider "acme" :model-id "m"}"#);
    seen.set(
        &mut backend,
        r#"{:provider "acme" :model-id "m" :scope "session"}"#,
    );
    seen.file(USERS);
    seen.set(
        &mut backend,
        r#"{:provider :acme :model-id "m" :scope "user"}"#,
    );
    seen.file(USERS);
    seen.restart(&["--rpc-edn"]);
    seen.model(&mut backend, "acme n session");
    seen.model(&mut backend, "acme n user");
    seen.restart(&["--rpc-edn"]);
    seen.file(PROJECTS);
    seen.shows(&expect![[r#"
        set_model {:provider "acme" :model-id "m"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        set_model {:provider "acme" :model-id "m" :scope "session"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        --- .config/stentor/config.toml
        # mine
        model = "offline/guide"   # until I know better

        [providers.acme]  # at work
        base_url = "http://127.0.0.1:9/v1"
        api = "openai-completions"
        api_key = "key-0123456789"
        models = [{ id = "m" }, { id = "n" }]
        ---
        set_model {:provider :acme :model-id "m" :scope "user"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"} :kept-in "HOME/.config/stentor/config.toml" :without-effect nil}}
        --- .config/stentor/config.toml
        # mine
        model = "acme/m"   # until I know better

        [providers.acme]  # at work
        base_url = "http://127.0.0.1:9/v1"
        api = "openai-completions"
        api_key = "key-0123456789"
        models = [{ id = "m" }, { id = "n" }]
        ---
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "m" :thinking-level "off" :ui-type :emacs}}}
        /model acme n session
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme n"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model acme n user
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme n\nKept in HOME/.config/stentor/config.toml."} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "n" :thinking-level "off" :ui-type :emacs}}}
        --- .stentor/config.toml
        entity not found
        ---"#]]);
}

#[test]
fn a_model_for_the_project_is_kept_in_its_file_which_counts_before_the_users() {
    let home = tempfile::tempdir().unwrap();
    let trusting = format!("trusted_projects = [{:?}]\n{ACME}", home.path());
    write(home.path(), USERS, &trusting);
    let mut seen = Seen::new(home.path());
    let mut backend = listening(home.path(), &["--rpc-edn"]);
    seen.set(
        &mut backend,
        r#"{:provider "acme" :model-id "m" :scope "project"}"#,
    );
    seen.file(PROJECTS);
    seen.restart(&["--rpc-edn"]);
    // The project's file counts before the user's, and the answer says so.
    seen.model(&mut backend, "acme n user");
    // A provider that disagrees would count before the model.
    write(
        home.path(),
        PROJECTS,
        "provider = 'offline' # no network\nthinking = 'low'\n",
    );
    seen.model(&mut backend, "acme n project");
    seen.file(PROJECTS);
    seen.restart(&["--rpc-edn"]);
    seen.shows(&expect![[r#"
        set_model {:provider "acme" :model-id "m" :scope "project"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"} :kept-in "HOME/.stentor/config.toml" :without-effect nil}}
        --- .stentor/config.toml
        model = "acme/m"
        ---
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "m" :thinking-level "off" :ui-type :emacs}}}
        /model acme n user
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme n\nKept in HOME/.config/stentor/config.toml. ⚠ New sessions do not begin with it: they begin with acme/m (chosen by HOME/.stentor/config.toml:1)"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model acme n project
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to acme n\nKept in HOME/.stentor/config.toml."} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        --- .stentor/config.toml
        provider = "acme" # no network
        thinking = 'low'
        model = "acme/n"
        ---
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "n" :thinking-level "off" :ui-type :emacs}}}"#]]);
}

#[test]
fn a_choice_that_does_not_count_is_kept_and_the_answer_says_why() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), USERS, ACME);
    write(home.path(), "tale.toml", SCENARIO);
    let mut seen = Seen::new(home.path());
    let flags = ["--rpc-edn", "--model", "acme/n"];
    let mut backend = listening(home.path(), &flags);
    seen.set(
        &mut backend,
        r#"{:provider "acme" :model-id "m" :scope "user"}"#,
    );
    seen.restart(&flags);
    // Nobody trusts this project.
    let mut backend = listening(home.path(), &["--rpc-edn"]);
    seen.set(
        &mut backend,
        r#"{:provider "script" :model-id "tale.toml" :scope "project"}"#,
    );
    seen.model(&mut backend, "script tale.toml project");
    seen.restart(&["--rpc-edn"]);
    let trusting = format!("trusted_projects = [{:?}]\n{ACME}", home.path());
    write(home.path(), USERS, &trusting);
    seen.model(&mut backend, "script tale.toml project");
    seen.restart(&["--rpc-edn"]);
    seen.shows(&expect![[r#"
        set_model {:provider "acme" :model-id "m" :scope "user"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"} :kept-in "HOME/.config/stentor/config.toml" :without-effect "they begin with acme/n (chosen by --model)"}}
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "n" :thinking-level "off" :ui-type :emacs}}}
        set_model {:provider "script" :model-id "tale.toml" :scope "project"}
        {:id "s" :kind :response :op "set_model" :ok true :data {:model {:provider "script" :id "tale"} :kept-in "HOME/.stentor/config.toml" :without-effect "HOME/.stentor/config.toml:1:9: left out: a scripted model could run commands: only a flag, the environment, your own file or your client can name one"}}
        /model script tale.toml project
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script tale\nKept in HOME/.stentor/config.toml. ⚠ New sessions do not begin with it: HOME/.stentor/config.toml:1:9: left out: a scripted model could run commands: only a flag, the environment, your own file or your client can name one"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "m" :thinking-level "off" :ui-type :emacs}}}
        /model script tale.toml project
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script tale\nKept in HOME/.stentor/config.toml. ⚠ New sessions do not begin with it: HOME/.stentor/config.toml:1:9: left out: a scripted model could run commands: only a flag, the environment, your own file or your client can name one"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "guide" :thinking-level "medium" :ui-type :emacs}}}"#]]);
}

#[test]
fn what_cannot_be_kept_changes_neither_the_session_nor_a_file() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), USERS, ACME);
    write(home.path(), "tale.toml", SCENARIO);
    // Where the project's folder should be there is a file.
    write(home.path(), ".stentor", "in the way");
    let mut seen = Seen::new(home.path());
    let mut backend = listening(home.path(), &["--rpc-edn"]);
    seen.set(
        &mut backend,
        r#"{:provider "acme" :model-id "m" :scope "project"}"#,
    );
    seen.model(&mut backend, "acme m project");
    // Now a link to a folder that is not there, and cannot be made.
    let in_the_way = home.path().join(".stentor");
    std::fs::remove_file(&in_the_way).unwrap();
    std::os::unix::fs::symlink("no/where", &in_the_way).unwrap();
    seen.model(&mut backend, "acme m project");
    seen.set(
        &mut backend,
        r#"{:provider "nobody" :model-id "z" :scope "user"}"#,
    );
    // By this name only those know it that have read the file.
    seen.model(&mut backend, "script tale.toml");
    seen.model(&mut backend, "script tale user");
    seen.model(&mut backend, "offline guide");
    seen.model(&mut backend, "acme m galaxy");
    seen.file(USERS);
    for broken in ["model = \n", "modle = 'a'\n", "model.name = 'a'\n"] {
        write(home.path(), USERS, broken);
        seen.set(
            &mut backend,
            r#"{:provider "acme" :model-id "m" :scope "user"}"#,
        );
        seen.file(USERS);
    }
    let state = r#"{:query "[:psi.agent-session/model]"}"#;
    seen.lines.push(backend.ask("q", "query_eql", state));
    seen.shows(&expect![[r#"
        set_model {:provider "acme" :model-id "m" :scope "project"}
        {:kind :error :error-code "runtime/failed" :error-message "cannot read HOME/.stentor/config.toml: Not a directory (os error 20)" :id "s" :op "set_model"}
        /model acme m project
        {:kind :event :event "command-result" :data {:type "text" :message "The model stays as it was: cannot read HOME/.stentor/config.toml: Not a directory (os error 20)"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model acme m project
        {:kind :event :event "command-result" :data {:type "text" :message "The model stays as it was: HOME/.stentor/config.toml is not changed: it leads out of the project"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        set_model {:provider "nobody" :model-id "z" :scope "user"}
        {:kind :error :error-code "request/unknown-model" :error-message "Model not found: nobody/z" :id "s" :op "set_model"}
        /model script tale.toml
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script tale"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script tale user
        {:kind :event :event "command-result" :data {:type "text" :message "The model stays as it was: HOME/tale is not a scenario file, so later sessions could not find it"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model offline guide
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to offline guide"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model acme m galaxy
        {:kind :event :event "command-result" :data {:type "text" :message "Usage: /model PROVIDER ID [session|project|user]"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        --- .config/stentor/config.toml
        # mine
        model = "offline/guide"   # until I know better

        [providers.acme]  # at work
        base_url = "http://127.0.0.1:9/v1"
        api = "openai-completions"
        api_key = "key-0123456789"
        models = [{ id = "m" }, { id = "n" }]
        ---
        set_model {:provider "acme" :model-id "m" :scope "user"}
        {:kind :error :error-code "runtime/failed" :error-message "HOME/.config/stentor/config.toml:1:9: string values must be quoted, expected literal string" :id "s" :op "set_model"}
        --- .config/stentor/config.toml
        model = 
        ---
        set_model {:provider "acme" :model-id "m" :scope "user"}
        {:kind :error :error-code "runtime/failed" :error-message "HOME/.config/stentor/config.toml:1:1: unknown key `modle`; did you mean `model`?" :id "s" :op "set_model"}
        --- .config/stentor/config.toml
        modle = 'a'
        ---
        set_model {:provider "acme" :model-id "m" :scope "user"}
        {:kind :error :error-code "runtime/failed" :error-message "HOME/.config/stentor/config.toml:1:1: `model` is a table, expected a name" :id "s" :op "set_model"}
        --- .config/stentor/config.toml
        model.name = 'a'
        ---
        {:id "q" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/model {:provider "offline" :id "guide"}}}}"#]]);
}
