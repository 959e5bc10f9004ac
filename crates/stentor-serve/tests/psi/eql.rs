//! Section 12: queries.

use expect_test::expect;
use stentor_wire::edn;

use super::client::Client;
use super::world::{OK, World};

fn query(client: &mut Client, text: &str) -> String {
    client.answer("query_eql", &format!("{{:query {text:?}}}"))
}

#[test]
fn three_ways_to_go_wrong_are_three_errors() {
    let mut client = Client::ready(World::new(&[OK]));
    for (params, code) in [
        ("{}", "request/invalid-params"),
        ("{:query 3}", "request/invalid-params"),
        (r#"{:query " "}"#, "request/invalid-params"),
        (r#"{:query "[:a"}"#, "request/invalid-query"),
        (r#"{:query "{:a 1}"}"#, "request/invalid-query"),
        (r#"{:query "foo"}"#, "request/invalid-query"),
        (r#"{:query "[1]"}"#, "request/invalid-query"),
        (
            r#"{:query "[(no.such/mutation {:a 1})]"}"#,
            "runtime/query-failed",
        ),
    ] {
        let answer = client.answer("query_eql", params);
        assert!(answer.contains(code), "{params}: {answer}");
    }
}

#[test]
fn the_originals_test_asks_for_the_graph_and_the_memory() {
    let mut client = Client::ready(World::new(&[OK]));
    expect![[r#"{:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.graph/domain-coverage [{:domain :ai :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :history :operation-count 3 :resolver-count 3 :mutation-count 0} {:domain :agent-session :operation-count 6 :resolver-count 6 :mutation-count 0} {:domain :introspection :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :ui :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :git :operation-count 1 :resolver-count 1 :mutation-count 0} {:domain :memory :operation-count 1 :resolver-count 1 :mutation-count 0}] :psi.memory/status :ready}}}"#]].assert_eq(&query(
        &mut client,
        "[:psi.graph/domain-coverage :psi.memory/status :no.such/attribute]",
    ));
}

#[test]
fn every_attribute_the_client_asks_for_has_a_value() {
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
    let mut seen = String::new();
    for text in [
        "[:psi.extension/command-names :psi.agent-session/prompt-templates]",
        "[:psi.ui/widget-specs]",
        "[:psi.agent-session/model-catalog :psi.agent-session/authenticated-providers]",
        "[{:psi.session/list [:psi.session-info/path :psi.session-info/name :psi.session-info/worktree-path :psi.session-info/first-message :psi.session-info/modified]}]",
        "[{:psi.persisted-session/list [:psi.session-info/first-message]}]",
        "[{:psi.agent-session/tool-lifecycle-summaries [:psi.tool-lifecycle.summary/tool-id :psi.tool-lifecycle.summary/tool-name :psi.tool-lifecycle.summary/parsed-args :psi.tool-lifecycle.summary/result-text :psi.tool-lifecycle.summary/is-error :psi.tool-lifecycle.summary/completed?]}]",
        "[:psi.turn/phase\n :psi.turn/is-streaming :psi.turn/text {:psi.turn/tool-calls [:id :name :arguments]}\n :psi.turn/tool-call-count]",
        "[{:psi.agent-session/context-sessions [:psi.session-info/id :psi.agent-session/phase]} :psi.agent-session/context-session-count]",
        "[:psi.agent-session/phase :psi.agent-session/thinking-level :psi.agent-session/is-idle :psi.agent-session/message-count]",
        "[{[:psi.agent-session/session-id \"nobody\"] [:psi.agent-session/session-id]} [:k 1]]",
    ] {
        seen.push_str(&format!("{text}\n    {}\n", query(&mut client, text)));
    }
    expect![[r#"
        [:psi.extension/command-names :psi.agent-session/prompt-templates]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.extension/command-names [] :psi.agent-session/prompt-templates [{:name "greet" :description "Greets" :content "Say hello." :source :project :file-path "ROOT/home/work/.stentor/prompts/greet.md"}]}}}
        [:psi.ui/widget-specs]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.ui/widget-specs []}}}
        [:psi.agent-session/model-catalog :psi.agent-session/authenticated-providers]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/model-catalog [{:provider "script" :id "script-0" :name "Scenario script-0" :reasoning true}] :psi.agent-session/authenticated-providers ["script"]}}}
        [{:psi.session/list [:psi.session-info/path :psi.session-info/name :psi.session-info/worktree-path :psi.session-info/first-message :psi.session-info/modified]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.session/list [{:psi.session-info/path "FILE" :psi.session-info/name nil :psi.session-info/worktree-path "ROOT/home/work" :psi.session-info/first-message "hello" :psi.session-info/modified "TIME"}]}}}
        [{:psi.persisted-session/list [:psi.session-info/first-message]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.persisted-session/list [{:psi.session-info/first-message "hello"}]}}}
        [{:psi.agent-session/tool-lifecycle-summaries [:psi.tool-lifecycle.summary/tool-id :psi.tool-lifecycle.summary/tool-name :psi.tool-lifecycle.summary/parsed-args :psi.tool-lifecycle.summary/result-text :psi.tool-lifecycle.summary/is-error :psi.tool-lifecycle.summary/completed?]}]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/tool-lifecycle-summaries [{:psi.tool-lifecycle.summary/tool-id "t1" :psi.tool-lifecycle.summary/tool-name "bash" :psi.tool-lifecycle.summary/parsed-args {"command" "echo hi"} :psi.tool-lifecycle.summary/result-text "hi\n" :psi.tool-lifecycle.summary/is-error false :psi.tool-lifecycle.summary/completed? true}]}}}
        [:psi.turn/phase
         :psi.turn/is-streaming :psi.turn/text {:psi.turn/tool-calls [:id :name :arguments]}
         :psi.turn/tool-call-count]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.turn/phase :done :psi.turn/is-streaming false :psi.turn/text "done" :psi.turn/tool-calls [] :psi.turn/tool-call-count 0}}}
        [{:psi.agent-session/context-sessions [:psi.session-info/id :psi.agent-session/phase]} :psi.agent-session/context-session-count]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/context-sessions [{:psi.session-info/id "S1" :psi.agent-session/phase :idle}] :psi.agent-session/context-session-count 1}}}
        [:psi.agent-session/phase :psi.agent-session/thinking-level :psi.agent-session/is-idle :psi.agent-session/message-count]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/phase :idle :psi.agent-session/thinking-level :medium :psi.agent-session/is-idle true :psi.agent-session/message-count 4}}}
        [{[:psi.agent-session/session-id "nobody"] [:psi.agent-session/session-id]} [:k 1]]
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {[:psi.agent-session/session-id "nobody"] {:psi.agent-session/session-id "nobody"} [:k 1] {:k 1}}}}
    "#]].assert_eq(&seen);
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
fn notes_are_remembered_searched_and_survive_the_process() {
    let mut client = Client::ready(World::new(&[OK]));
    client.request("c", "command", r#"{:text "/remember tests run with just"}"#);
    client.request("c", "command", r#"{:text "/remember deploys need a tag"}"#);
    let found = query(
        &mut client,
        "[:psi.memory/entry-count {(:psi.memory/search-results {:query \"deploy\"}) [:text]} :psi.memory.remember/captures]",
    );
    assert!(
        found.ends_with(r#"{:psi.memory/entry-count 2 :psi.memory/search-results [{:text "deploys need a tag"}] :psi.memory.remember/captures 2}}}"#),
        "{found}"
    );
    let mut world = World::new(&[OK]);
    world.with_memory = false;
    let mut without = Client::ready(world);
    let status = query(&mut without, "[:psi.memory/status :psi.memory/entry-count]");
    assert!(
        status.contains(":psi.memory/status :unavailable :psi.memory/entry-count 0"),
        "{status}"
    );
}

#[test]
fn an_entity_is_a_start_and_a_wrong_one_is_ignored() {
    let mut client = Client::ready(World::new(&[OK]));
    for (entity, expected) in [
        ("{:a 1}", "{:result {:a 1}}}"),
        ("{:a", "{:result {}}}"),
        ("[1]", "{:result {}}}"),
    ] {
        let params = format!("{{:query \"[:a]\" :entity {entity:?}}}");
        let answer = client.answer("query_eql", &params);
        assert!(answer.ends_with(expected), "{answer}");
    }
}
