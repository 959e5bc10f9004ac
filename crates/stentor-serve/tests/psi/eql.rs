//! Section 12: queries.

use expect_test::expect;
use stentor_wire::edn;

use super::client::{Client, shows};
use super::world::{OK, World};

fn query(client: &mut Client, text: &str) -> String {
    client.answer("query_eql", &format!("{{:query {text:?}}}"))
}

/// Each query with its answer below it.
fn queries(client: &mut Client, texts: &[&str]) -> String {
    let mut seen = String::new();
    for text in texts {
        seen.push_str(&format!("{text}\n    {}\n", query(client, text)));
    }
    seen
}

#[test]
fn section_9_2_not_edn_not_a_vector_and_a_failing_resolver_are_three_errors() {
    let world = World::new(&[OK]);
    // The notes are a folder: what is in them cannot be read.
    std::fs::create_dir(world.root().join("notes.jsonl")).unwrap();
    let mut client = Client::ready(world);
    let seen = client.table(&[
        ("query_eql", "{}"),
        ("query_eql", "{:query 3}"),
        ("query_eql", r#"{:query " "}"#),
        ("query_eql", r#"{:query "[:a"}"#),
        ("query_eql", r#"{:query "[:a] [:b]"}"#),
        ("query_eql", r#"{:query "{:a 1}"}"#),
        ("query_eql", r#"{:query "foo"}"#),
        ("query_eql", r#"{:query "[1]"}"#),
        ("query_eql", r#"{:query "[:psi.memory/entries]"}"#),
        (
            "query_eql",
            r#"{:query "[{[:psi.session-info/path \"/no/such.jsonl\"] [:psi.session-info/all-messages-text]}]"}"#,
        ),
        ("query_eql", r#"{:query "[(no.such/mutation {:a 1})]"}"#),
        // How the notes are can be said all the same.
        (
            "query_eql",
            r#"{:query "[:psi.memory/status :psi.memory/entry-count :psi.memory.remember/status]"}"#,
        ),
    ]);
    expect![[r#"
        query_eql {}
            {:kind :error :error-code "request/invalid-params" :error-message ":query is missing" :id "x" :op "query_eql"}
        query_eql {:query 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":query must be a string, found an integer" :id "x" :op "query_eql"}
        query_eql {:query " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":query must not be blank" :id "x" :op "query_eql"}
        query_eql {:query "[:a"}
            {:kind :error :error-code "request/invalid-query" :error-message "the query is not EDN: vector is not closed at byte 0" :id "x" :op "query_eql"}
        query_eql {:query "[:a] [:b]"}
            {:kind :error :error-code "request/invalid-query" :error-message "the query is not EDN: a second form at byte 5" :id "x" :op "query_eql"}
        query_eql {:query "{:a 1}"}
            {:kind :error :error-code "request/invalid-query" :error-message "the query must be a vector, found a map" :id "x" :op "query_eql"}
        query_eql {:query "foo"}
            {:kind :error :error-code "request/invalid-query" :error-message "the query must be a vector, found a symbol" :id "x" :op "query_eql"}
        query_eql {:query "[1]"}
            {:kind :error :error-code "request/invalid-query" :error-message "an integer is not an element of a query; use attributes, joins and calls" :id "x" :op "query_eql"}
        query_eql {:query "[:psi.memory/entries]"}
            {:kind :error :error-code "runtime/query-failed" :error-message "the notes cannot be read: ROOT/notes.jsonl: Is a directory (os error 21)" :id "x" :op "query_eql"}
        query_eql {:query "[{[:psi.session-info/path \"/no/such.jsonl\"] [:psi.session-info/all-messages-text]}]"}
            {:kind :error :error-code "runtime/query-failed" :error-message "the stored session cannot be read: cannot look at /no/such.jsonl: No such file or directory (os error 2)" :id "x" :op "query_eql"}
        query_eql {:query "[(no.such/mutation {:a 1})]"}
            {:kind :error :error-code "runtime/query-failed" :error-message "there is no mutation no.such/mutation" :id "x" :op "query_eql"}
        query_eql {:query "[:psi.memory/status :psi.memory/entry-count :psi.memory.remember/status]"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.memory/status :unavailable :psi.memory/entry-count 0 :psi.memory.remember/status :unavailable}}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_12_1_the_originals_test_asks_for_the_graph_and_the_memory() {
    let mut client = Client::ready(World::new(&[OK]));
    let asked = "[:psi.graph/domain-coverage :psi.memory/status :no.such/attribute]";
    expect![[r#"{:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/domain-coverage [{:domain :ai :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :history :operation-count 4 :resolver-count 4 :mutation-count 0} {:domain :agent-session :operation-count 6 :resolver-count 6 :mutation-count 0} {:domain :introspection :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :ui :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :git :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :memory :operation-count 2 :resolver-count 2 :mutation-count 0}] :psi.memory/status :ready}}}"#]].assert_eq(&query(&mut client, asked));
}

#[test]
fn section_12_1_properties_joins_parameters_and_idents() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("hello");
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    let first = client.session(1);
    let of_first = format!(
        "[{{[:psi.agent-session/session-id {first:?}] [:psi.agent-session/session-display-name {{:psi.agent-session/model [:id]}}]}}]"
    );
    let mut seen = queries(
        &mut client,
        &[
            "[]",
            "[:psi.agent-session/is-idle :psi.agent-session/is-idle]",
            "[{:psi.agent-session/context-sessions [:psi.session-info/display-name :psi.agent-session/phase]}]",
            "[{:psi.agent-session/model [:id {:no-such [:x]}]}]",
            "[({:psi.agent-session/model [:id]} {:ignored 1})]",
            "[[:psi.agent-session/session-id \"nobody\"]]",
            "[{[:psi.agent-session/session-id \"nobody\"] [:psi.agent-session/session-id :psi.agent-session/phase :psi.memory/status]} [:k 1]]",
            "[#_:a :psi.turn/phase ; a comment\n]",
        ],
    );
    seen.push_str(&query(&mut client, &of_first));
    expect![[r#"
        []
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {}}}
        [:psi.agent-session/is-idle :psi.agent-session/is-idle]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/is-idle true}}}
        [{:psi.agent-session/context-sessions [:psi.session-info/display-name :psi.agent-session/phase]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/context-sessions [{:psi.session-info/display-name nil :psi.agent-session/phase :idle} {:psi.session-info/display-name "hello" :psi.agent-session/phase :idle}]}}}
        [{:psi.agent-session/model [:id {:no-such [:x]}]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/model {:id "m-1"}}}}
        [({:psi.agent-session/model [:id]} {:ignored 1})]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/model {:id "m-1"}}}}
        [[:psi.agent-session/session-id "nobody"]]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {[:psi.agent-session/session-id "nobody"] {:psi.agent-session/session-id "nobody"}}}}
        [{[:psi.agent-session/session-id "nobody"] [:psi.agent-session/session-id :psi.agent-session/phase :psi.memory/status]} [:k 1]]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {[:psi.agent-session/session-id "nobody"] {:psi.agent-session/session-id "nobody" :psi.memory/status :ready} [:k 1] {:k 1}}}}
        [#_:a :psi.turn/phase ; a comment
        ]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.turn/phase nil}}}
        {:id "x" :kind :response :op "query_eql" :ok true :data {:result {[:psi.agent-session/session-id "S1"] {:psi.agent-session/session-display-name "hello" :psi.agent-session/model {:id "m-1"}}}}}"#]].assert_eq(&seen);
    let mut deep = "[:a]".to_owned();
    for _ in 0..40 {
        deep = format!("[{{:psi.agent-session/model {deep}}}]");
    }
    expect![[r#"{:kind :error :error-code "runtime/query-failed" :error-message "joins nest deeper than 32" :id "x" :op "query_eql"}"#]].assert_eq(&query(&mut client, &deep));
}

#[test]
fn section_12_2_every_attribute_the_client_asks_for_has_a_value() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "echo hi" } } ]
[[turn]]
steps = [ { text = "done" } ]
"#;
    let world = World::new(&[script]);
    world.file(
        ".stentor/prompts/greet.md",
        "---\ndescription: Greets\n---\nSay hello.",
    );
    let mut client = Client::ready(world);
    client.run("hello");
    let seen = queries(
        &mut client,
        &[
            "[:psi.extension/command-names :psi.agent-session/prompt-templates]",
            "[:psi.agent-session/builtin-command-specs]",
            "[:psi.ui/widget-specs]",
            "[:psi.agent-session/model-catalog :psi.agent-session/authenticated-providers]",
            "[{:psi.session/list [:psi.session-info/path :psi.session-info/name :psi.session-info/worktree-path :psi.session-info/first-message :psi.session-info/modified]}]",
            "[{:psi.persisted-session/list [:psi.session-info/id :psi.session-info/message-count :psi.session-info/all-messages-text]}]",
            "[{:psi.agent-session/tool-lifecycle-summaries [:psi.tool-lifecycle.summary/tool-id :psi.tool-lifecycle.summary/tool-name :psi.tool-lifecycle.summary/arguments :psi.tool-lifecycle.summary/parsed-args :psi.tool-lifecycle.summary/result-text :psi.tool-lifecycle.summary/is-error :psi.tool-lifecycle.summary/completed? :psi.tool-lifecycle.summary/event-count :psi.tool-lifecycle.summary/last-event-kind]}]",
            "[:psi.turn/phase\n :psi.turn/is-streaming :psi.turn/text {:psi.turn/tool-calls [:id :name :arguments]}\n :psi.turn/tool-call-count]",
        ],
    );
    expect![[r#"
        [:psi.extension/command-names :psi.agent-session/prompt-templates]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.extension/command-names [] :psi.agent-session/prompt-templates [{:name "greet" :description "Greets" :content "Say hello." :source :project :file-path "ROOT/home/work/.stentor/prompts/greet.md"}]}}}
        [:psi.agent-session/builtin-command-specs]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/builtin-command-specs [{:name "help" :description "Show the commands there are"} {:name "new" :description "Start a new session"} {:name "resume" :description "Choose a stored session, or load the one in a file"} {:name "tree" :description "Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames"} {:name "rewind" :description "Go back to the point before a message: files, conversation or both"} {:name "plan" :description "Plan first: only read until you have accepted a plan"} {:name "model" :description "Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too"} {:name "thinking" :description "Choose a thinking level; /thinking LEVEL sets it"} {:name "effort" :description "The same as /thinking"} {:name "status" :description "Show how the session is"} {:name "history" :description "Show the message history"} {:name "prompts" :description "List the prompt templates"} {:name "skills" :description "List the skills"} {:name "worktree" :description "Show the working folder and its repository"} {:name "delegate" :description "Give a task to an agent: /delegate AGENT TASK; alone it lists the agents"} {:name "jobs" :description "List background jobs; /jobs STATUS… lists others than running ones"} {:name "job" :description "Show a background job"} {:name "cancel-job" :description "Stop a background job"} {:name "remember" :description "Keep a note across sessions"} {:name "login" :description "Log in at a provider"} {:name "logout" :description "Log out"} {:name "reload-models" :description "Look for models again"} {:name "reload-prompts" :description "Read the prompt templates and skills again"} {:name "reload-extension-installs" :description "Show the extensions' commands, and how to look for extensions again"} {:name "project-repl" :description "Talk to the project's REPL"} {:name "quit" :description "Leave"} {:name "exit" :description "Leave"}]}}}
        [:psi.ui/widget-specs]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.ui/widget-specs []}}}
        [:psi.agent-session/model-catalog :psi.agent-session/authenticated-providers]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/model-catalog [{:provider "script" :id "script-0" :name "Scenario script-0" :reasoning true}] :psi.agent-session/authenticated-providers ["script"]}}}
        [{:psi.session/list [:psi.session-info/path :psi.session-info/name :psi.session-info/worktree-path :psi.session-info/first-message :psi.session-info/modified]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.session/list [{:psi.session-info/path "FILE" :psi.session-info/name nil :psi.session-info/worktree-path "ROOT/home/work" :psi.session-info/first-message "hello" :psi.session-info/modified "TIME"}]}}}
        [{:psi.persisted-session/list [:psi.session-info/id :psi.session-info/message-count :psi.session-info/all-messages-text]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.persisted-session/list [{:psi.session-info/id "S1" :psi.session-info/message-count 4 :psi.session-info/all-messages-text "hello\ndone"}]}}}
        [{:psi.agent-session/tool-lifecycle-summaries [:psi.tool-lifecycle.summary/tool-id :psi.tool-lifecycle.summary/tool-name :psi.tool-lifecycle.summary/arguments :psi.tool-lifecycle.summary/parsed-args :psi.tool-lifecycle.summary/result-text :psi.tool-lifecycle.summary/is-error :psi.tool-lifecycle.summary/completed? :psi.tool-lifecycle.summary/event-count :psi.tool-lifecycle.summary/last-event-kind]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/tool-lifecycle-summaries [{:psi.tool-lifecycle.summary/tool-id "t1" :psi.tool-lifecycle.summary/tool-name "bash" :psi.tool-lifecycle.summary/arguments "{\"command\":\"echo hi\"}" :psi.tool-lifecycle.summary/parsed-args {"command" "echo hi"} :psi.tool-lifecycle.summary/result-text "hi\n" :psi.tool-lifecycle.summary/is-error false :psi.tool-lifecycle.summary/completed? true :psi.tool-lifecycle.summary/event-count 3 :psi.tool-lifecycle.summary/last-event-kind :tool-result}]}}}
        [:psi.turn/phase
         :psi.turn/is-streaming :psi.turn/text {:psi.turn/tool-calls [:id :name :arguments]}
         :psi.turn/tool-call-count]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.turn/phase :done :psi.turn/is-streaming false :psi.turn/text "done" :psi.turn/tool-calls [] :psi.turn/tool-call-count 0}}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_12_3_the_attributes_of_a_session_its_messages_and_its_statistics() {
    let script = r#"
usage = { input = 800, output = 30 }
[model]
id = "m-1"
[[turn]]
steps = [ { text = "done" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    client.run("hello");
    let session = "session-id session-file session-name session-display-name worktree-path git-branch phase is-streaming is-compacting is-idle model model-provider model-id model-reasoning thinking-level effective-reasoning-effort pending-message-count has-pending-messages steering-messages follow-up-messages retry-attempt auto-retry-enabled auto-compaction-enabled scoped-models context-tokens context-window context-fraction usage-input usage-output usage-cache-read usage-cache-write usage-cost-total skills message-history background-jobs context-session-count context-sessions rpc-trace-enabled rpc-trace-file ui-type";
    let names: Vec<String> = session
        .split(' ')
        .map(|name| format!(":psi.agent-session/{name}"))
        .collect();
    let whole = query(&mut client, &format!("[{}]", names.join(" ")));
    expect![[r#"{:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/session-id "S1" :psi.agent-session/session-file "FILE" :psi.agent-session/session-name nil :psi.agent-session/session-display-name "hello" :psi.agent-session/worktree-path "ROOT/home/work" :psi.agent-session/git-branch nil :psi.agent-session/phase :idle :psi.agent-session/is-streaming false :psi.agent-session/is-compacting false :psi.agent-session/is-idle true :psi.agent-session/model {:provider "script" :id "m-1"} :psi.agent-session/model-provider "script" :psi.agent-session/model-id "m-1" :psi.agent-session/model-reasoning true :psi.agent-session/thinking-level :medium :psi.agent-session/effective-reasoning-effort "medium" :psi.agent-session/pending-message-count 0 :psi.agent-session/has-pending-messages false :psi.agent-session/steering-messages [] :psi.agent-session/follow-up-messages [] :psi.agent-session/retry-attempt 0 :psi.agent-session/auto-retry-enabled true :psi.agent-session/auto-compaction-enabled false :psi.agent-session/scoped-models [] :psi.agent-session/context-tokens 830 :psi.agent-session/context-window 200000 :psi.agent-session/context-fraction 0.00415 :psi.agent-session/usage-input 800 :psi.agent-session/usage-output 30 :psi.agent-session/usage-cache-read 0 :psi.agent-session/usage-cache-write 0 :psi.agent-session/usage-cost-total 0.0 :psi.agent-session/skills [] :psi.agent-session/message-history [{:role "user" :content [{:type :text :text "hello"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "done"}] :stop-reason :stop :usage {:input-tokens 800 :output-tokens 30 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 830 :cost {:input 0.0 :output 0.0 :cache-read 0.0 :cache-write 0.0 :total 0.0}} :timestamp "TIME"}] :psi.agent-session/background-jobs [] :psi.agent-session/context-session-count 1 :psi.agent-session/context-sessions [{:psi.session-info/id "S1" :psi.session-info/path "FILE" :psi.session-info/worktree-path "ROOT/home/work" :psi.session-info/name nil :psi.session-info/display-name "hello" :psi.session-info/parent-session-id nil :psi.session-info/parent-session-path nil :psi.session-info/created "TIME" :psi.session-info/modified "TIME"}] :psi.agent-session/rpc-trace-enabled false :psi.agent-session/rpc-trace-file nil :psi.agent-session/ui-type :emacs}}}"#]].assert_eq(&whole);
    let git =
        "[:git.worktree/list :git.worktree/current :git.worktree/count :git.worktree/inside-repo?]";
    expect![[r#"{:id "x" :kind :response :op "query_eql" :ok true :data {:result {:git.worktree/list [] :git.worktree/current nil :git.worktree/count 0 :git.worktree/inside-repo? false}}}"#]].assert_eq(&query(&mut client, git));
}

#[test]
fn section_12_3_the_graph_describes_itself() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = queries(
        &mut client,
        &[
            "[:psi.graph/resolver-count :psi.graph/mutation-count :psi.graph/mutation-syms :psi.graph/env-built :psi.graph/root-seeds]",
            "[:psi.graph/resolver-syms]",
            "[:psi.graph/root-queryable-attrs]",
            "[{:psi.graph/capabilities [:id :domain :operation-symbols]}]",
        ],
    );
    expect![[r#"
        [:psi.graph/resolver-count :psi.graph/mutation-count :psi.graph/mutation-syms :psi.graph/env-built :psi.graph/root-seeds]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/resolver-count 16 :psi.graph/mutation-count 0 :psi.graph/mutation-syms #{} :psi.graph/env-built true :psi.graph/root-seeds [:psi.agent-session/session-id]}}}
        [:psi.graph/resolver-syms]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/resolver-syms #{psi.agent-session/session psi.agent-session/statistics psi.agent-session/commands psi.agent-session/background-jobs psi.history/messages psi.history/tool-calls psi.agent-session/turn psi.agent-session/context psi.session/stored psi.session/stored-text psi.ai/models psi.ui/state git.worktree/state psi.memory/state psi.memory/notes psi.graph/description}}}}
        [:psi.graph/root-queryable-attrs]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/root-queryable-attrs [:git.worktree/count :git.worktree/current :git.worktree/inside-repo? :git.worktree/list :psi.agent-session/assistant-message-count :psi.agent-session/authenticated-providers :psi.agent-session/auto-compaction-enabled :psi.agent-session/auto-retry-enabled :psi.agent-session/background-jobs :psi.agent-session/builtin-command-specs :psi.agent-session/context-active-session-id :psi.agent-session/context-fraction :psi.agent-session/context-session-count :psi.agent-session/context-sessions :psi.agent-session/context-tokens :psi.agent-session/context-window :psi.agent-session/effective-reasoning-effort :psi.agent-session/follow-up-messages :psi.agent-session/git-branch :psi.agent-session/has-pending-messages :psi.agent-session/interrupt-pending :psi.agent-session/is-compacting :psi.agent-session/is-idle :psi.agent-session/is-streaming :psi.agent-session/message-count :psi.agent-session/message-history :psi.agent-session/model :psi.agent-session/model-call-count :psi.agent-session/model-catalog :psi.agent-session/model-id :psi.agent-session/model-provider :psi.agent-session/model-reasoning :psi.agent-session/parent-session-id :psi.agent-session/parent-session-path :psi.agent-session/pending-message-count :psi.agent-session/phase :psi.agent-session/prompt-templates :psi.agent-session/retry-attempt :psi.agent-session/rpc-trace-enabled :psi.agent-session/rpc-trace-file :psi.agent-session/sandbox :psi.agent-session/scoped-models :psi.agent-session/session-display-name :psi.agent-session/session-file :psi.agent-session/session-id :psi.agent-session/session-name :psi.agent-session/skills :psi.agent-session/steering-messages :psi.agent-session/thinking-level :psi.agent-session/tool-call-count :psi.agent-session/tool-lifecycle-summaries :psi.agent-session/tool-result-count :psi.agent-session/ui-type :psi.agent-session/usage-cache-read :psi.agent-session/usage-cache-write :psi.agent-session/usage-cost-total :psi.agent-session/usage-input :psi.agent-session/usage-output :psi.agent-session/user-message-count :psi.agent-session/worktree-path :psi.extension/command-names :psi.graph/attr-index :psi.graph/capabilities :psi.graph/domain-coverage :psi.graph/edges :psi.graph/env-built :psi.graph/mutation-count :psi.graph/mutation-syms :psi.graph/nodes :psi.graph/resolver-count :psi.graph/resolver-index :psi.graph/resolver-syms :psi.graph/root-queryable-attrs :psi.graph/root-seeds :psi.memory.remember/captures :psi.memory.remember/last-capture-at :psi.memory.remember/last-error :psi.memory.remember/status :psi.memory/by-tag :psi.memory/capability-history :psi.memory/entries :psi.memory/entry-count :psi.memory/graph-deltas :psi.memory/graph-snapshots :psi.memory/index-stats :psi.memory/recent-entries :psi.memory/recoveries :psi.memory/recovery-count :psi.memory/search-results :psi.memory/status :psi.persisted-session/list :psi.session/list :psi.turn/is-streaming :psi.turn/phase :psi.turn/text :psi.turn/tool-call-count :psi.turn/tool-calls :psi.ui/active-dialog :psi.ui/dialog-queue-empty? :psi.ui/pending-dialog-count :psi.ui/statuses :psi.ui/visible-notifications :psi.ui/widget-specs :psi.ui/widgets]}}}
        [{:psi.graph/capabilities [:id :domain :operation-symbols]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/capabilities [{:id :ai :domain :ai :operation-symbols [psi.ai/models]} {:id :history :domain :history :operation-symbols [psi.history/messages psi.history/tool-calls psi.session/stored psi.session/stored-text]} {:id :agent-session :domain :agent-session :operation-symbols [psi.agent-session/session psi.agent-session/statistics psi.agent-session/commands psi.agent-session/background-jobs psi.agent-session/turn psi.agent-session/context]} {:id :introspection :domain :introspection :operation-symbols [psi.graph/description]} {:id :ui :domain :ui :operation-symbols [psi.ui/state]} {:id :git :domain :git :operation-symbols [git.worktree/state]} {:id :memory :domain :memory :operation-symbols [psi.memory/state psi.memory/notes]}]}}}
    "#]].assert_eq(&seen);
    // Every resolver is a node, and every attribute stands behind an edge.
    let whole = query(
        &mut client,
        "[:psi.graph/nodes :psi.graph/edges :psi.graph/resolver-index :psi.graph/attr-index]",
    );
    for part in [
        "{:id psi.memory/notes :type :resolver :domain :memory}",
        "{:id :psi.memory/entries :type :attribute}",
        "{:from psi.memory/notes :to :psi.memory/entries :type :output}",
        "{:from :psi.session-info/path :to psi.session/stored-text :type :input}",
        ":psi.memory/entries [psi.memory/notes]",
    ] {
        assert!(whole.contains(part), "{part}");
    }
}

#[test]
fn every_attribute_the_graph_promises_is_answered() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("hello");
    let graph = client.raw_answer(
        "query_eql",
        r#"{:query "[:psi.graph/root-queryable-attrs]"}"#,
    );
    let frame = edn::read_one(&graph).unwrap();
    let attributes: Vec<String> = frame
        .get("data")
        .and_then(|data| {
            data.get("result")?
                .get("psi.graph/root-queryable-attrs")?
                .as_items()
        })
        .unwrap()
        .iter()
        .map(|name| name.as_keyword().unwrap().to_owned())
        .collect();
    assert!(attributes.len() > 90, "{}", attributes.len());
    let all: Vec<String> = attributes.iter().map(|name| format!(":{name}")).collect();
    let query = format!("[{}]", all.join(" "));
    let answer = client.raw_answer("query_eql", &format!("{{:query {query:?}}}"));
    let frame = edn::read_one(&answer).unwrap();
    let result = frame
        .get("data")
        .and_then(|data| data.get("result"))
        .unwrap();
    for name in attributes {
        assert!(result.get(&name).is_some(), "{name}");
    }
}

#[test]
fn section_12_3_notes_are_remembered_searched_and_described() {
    let mut client = Client::ready(World::new(&[OK]));
    let mut seen = vec![query(
        &mut client,
        "[:psi.memory/status :psi.memory/entries]",
    )];
    seen.extend(client.request("c", "command", r#"{:text "/remember tests run with just"}"#));
    seen.extend(client.request("c", "command", r#"{:text "/remember deploys need a tag"}"#));
    seen.push(query(
        &mut client,
        "[:psi.memory/status :psi.memory/entry-count :psi.memory/entries {(:psi.memory/search-results {:query \"deploy\" :limit 1}) [:text]} {:psi.memory/recent-entries [:text]} :psi.memory/by-tag :psi.memory/index-stats :psi.memory/recovery-count :psi.memory.remember/status :psi.memory.remember/captures :psi.memory.remember/last-capture-at :psi.memory.remember/last-error]",
    ));
    shows(
        &seen,
        &expect![[r#"
        {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.memory/status :ready :psi.memory/entries []}}}
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Remembered as E1."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:kind :event :event "command-result" :data {:type "text" :message "✓ Remembered as E2."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.memory/status :ready :psi.memory/entry-count 2 :psi.memory/entries [{:id "E1" :timestamp "TIME" :text "tests run with just" :tags [] :session-id "S1" :worktree-path "ROOT/home/work"} {:id "E2" :timestamp "TIME" :text "deploys need a tag" :tags [] :session-id "S1" :worktree-path "ROOT/home/work"}] :psi.memory/search-results [{:text "deploys need a tag"}] :psi.memory/recent-entries [{:text "deploys need a tag"} {:text "tests run with just"}] :psi.memory/by-tag {} :psi.memory/index-stats {:entry-count 2 :tag-count 0} :psi.memory/recovery-count 0 :psi.memory.remember/status :ready :psi.memory.remember/captures 2 :psi.memory.remember/last-capture-at "TIME" :psi.memory.remember/last-error nil}}}"#]],
    );
    let mut world = World::new(&[OK]);
    world.with_memory = false;
    let mut without = Client::ready(world);
    let asked = "[:psi.memory/status :psi.memory/entry-count :psi.memory/entries]";
    let mut seen = vec![query(&mut without, asked)];
    seen.extend(without.request("c", "command", r#"{:text "/remember x"}"#));
    shows(
        &seen,
        &expect![[r#"
        {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.memory/status :unavailable :psi.memory/entry-count 0 :psi.memory/entries []}}}
        {:kind :event :event "command-result" :data {:type "text" :message "Nothing is remembered: no memory is configured."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}"#]],
    );
}

#[test]
fn section_9_2_an_entity_is_a_start_and_a_wrong_one_is_ignored() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.table(&[
        ("query_eql", r#"{:query "[:a]" :entity "{:a 1}"}"#),
        ("query_eql", r#"{:query "[:a]" :entity "{:a"}"#),
        ("query_eql", r#"{:query "[:a]" :entity "[1]"}"#),
        // The session of the request is always in it.
        (
            "query_eql",
            r#"{:query "[:psi.agent-session/session-id]" :entity "{:a 1}"}"#,
        ),
    ]);
    expect![[r#"
        query_eql {:query "[:a]" :entity "{:a 1}"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:a 1}}}
        query_eql {:query "[:a]" :entity "{:a"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {}}}
        query_eql {:query "[:a]" :entity "[1]"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {}}}
        query_eql {:query "[:psi.agent-session/session-id]" :entity "{:a 1}"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/session-id "S1"}}}
    "#]].assert_eq(&seen);
}
