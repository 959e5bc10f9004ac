//! Tool calls: their order, their failures, their results.

use expect_test::expect;
use serde_json::json;
use stentor_model::script::{Scenario, ScriptTurn};

use crate::stage::with;

#[tokio::test(start_paused = true)]
async fn a_tool_call_is_run_and_its_result_goes_to_the_next_turn() {
    let scenario = Scenario::new()
        .tool("act", json!({"say":"hey","ms":5}))
        .text("done");
    let mut stage = with(scenario).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "go"
            #2 answer
              0 call act call_1_1
              0 += "{\"say\":\"hey\",\"ms\":5}"
              0 ended {"say":"hey","ms":5}
            #2 ended: assistant [act call_1_1] toolUse
            act call_1_1 starts
            act call_1_1 ended after 5 ms: "hey"
            #3 started
            #3 ended: result of call_1_1: "hey"
          turn ended: toolUse, 1 results
          turn
            #4 answer
              0 text
              0 += "done"
              0 ended
            #4 ended: assistant ["done"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result assistant]
        settled
    "#]]
    .assert_eq(&stage.run("go").await);
    expect![[r#"
        user "go"
        assistant [act call_1_1] toolUse
        result of call_1_1: "hey""#]]
    .assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn calls_that_read_run_together_and_their_results_keep_the_order_of_the_calls() {
    let calls = ScriptTurn::new()
        .tool("look", json!({"say":"slow","ms":30}))
        .tool("look", json!({"say":"quick","ms":10}))
        .tool("look", json!({"say":"middle","ms":20}));
    let mut stage = with(Scenario::new().turn(calls).text("done")).start();
    let begun = tokio::time::Instant::now();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "go"
            #2 answer
              0 call look call_1_1
              0 += "{\"say\":\"slow\",\"ms\":30}"
              0 ended {"say":"slow","ms":30}
              1 call look call_1_2
              1 += "{\"say\":\"quick\",\"ms\":10}"
              1 ended {"say":"quick","ms":10}
              2 call look call_1_3
              2 += "{\"say\":\"middle\",\"ms\":20}"
              2 ended {"say":"middle","ms":20}
            #2 ended: assistant [look call_1_1, look call_1_2, look call_1_3] toolUse
            look call_1_1 starts
            look call_1_2 starts
            look call_1_3 starts
            look call_1_2 ended after 10 ms: "quick"
            look call_1_3 ended after 20 ms: "middle"
            look call_1_1 ended after 30 ms: "slow"
            #3 started
            #3 ended: result of call_1_1: "slow"
            #4 started
            #4 ended: result of call_1_2: "quick"
            #5 started
            #5 ended: result of call_1_3: "middle"
          turn ended: toolUse, 3 results
          turn
            #6 answer
              0 text
              0 += "done"
              0 ended
            #6 ended: assistant ["done"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result result result assistant]
        settled
    "#]]
    .assert_eq(&stage.run("go").await);
    assert_eq!(begun.elapsed().as_millis(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_more_than_read_runs_alone() {
    let calls = ScriptTurn::new()
        .tool("look", json!({"say":"a","ms":10}))
        .tool("act", json!({"say":"b","ms":10}))
        .tool("look", json!({"say":"c","ms":10}))
        .tool("look", json!({"say":"d","ms":10}));
    let mut stage = with(Scenario::new().turn(calls).text("done")).start();
    let begun = tokio::time::Instant::now();
    let seen = stage.run("go").await;
    let lines: Vec<&str> = seen
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("starts") || line.contains("after"))
        .collect();
    expect![[r#"
            look call_1_1 starts
            look call_1_1 ended after 10 ms: "a"
            act call_1_2 starts
            act call_1_2 ended after 10 ms: "b"
            look call_1_3 starts
            look call_1_4 starts
            look call_1_3 ended after 10 ms: "c"
            look call_1_4 ended after 10 ms: "d""#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(begun.elapsed().as_millis(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_failing_call_is_a_result_and_never_ends_the_run() {
    let calls = ScriptTurn::new()
        .tool("nosuch", json!({}))
        .tool("act", json!("{\"say\": "))
        .tool("act", json!("[1]"))
        .tool("explode", json!({}))
        .tool("touchy", json!({}))
        .tool("act", json!({"say":"fine"}));
    let mut stage = with(Scenario::new().turn(calls).text("done")).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "go"
            #2 answer
              0 call nosuch call_1_1
              0 += "{}"
              0 ended {}
              1 call act call_1_2
              1 += "{\"say\": "
              1 ended {}
              2 call act call_1_3
              2 += "[1]"
              2 ended {}
              3 call explode call_1_4
              3 += "{}"
              3 ended {}
              4 call touchy call_1_5
              4 += "{}"
              4 ended {}
              5 call act call_1_6
              5 += "{\"say\":\"fine\"}"
              5 ended {"say":"fine"}
            #2 ended: assistant [nosuch call_1_1, act call_1_2, act call_1_3, explode call_1_4, touchy call_1_5, act call_1_6] toolUse
            nosuch call_1_1 starts
            nosuch call_1_1 ended after 0 ms: "Tool nosuch not found" error
            #3 started
            #3 ended: result of call_1_1: "Tool nosuch not found" error
            act call_1_2 starts
            act call_1_2 ended after 0 ms: "Validation failed for tool \"act\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8" error
            #4 started
            #4 ended: result of call_1_2: "Validation failed for tool \"act\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8" error
            act call_1_3 starts
            act call_1_3 ended after 0 ms: "Validation failed for tool \"act\":\n  - the arguments are not a JSON object" error
            #5 started
            #5 ended: result of call_1_3: "Validation failed for tool \"act\":\n  - the arguments are not a JSON object" error
            explode call_1_4 starts
            explode call_1_4 ended after 0 ms: "Tool explode had an internal error: this is a bug" error
            #6 started
            #6 ended: result of call_1_4: "Tool explode had an internal error: this is a bug" error
            touchy call_1_5 starts
            touchy call_1_5 ended after 0 ms: "Tool touchy had an internal error: this is a bug" error
            #7 started
            #7 ended: result of call_1_5: "Tool touchy had an internal error: this is a bug" error
            act call_1_6 starts
            act call_1_6 ended after 0 ms: "fine"
            #8 started
            #8 ended: result of call_1_6: "fine"
          turn ended: toolUse, 6 results
          turn
            #9 answer
              0 text
              0 += "done"
              0 ended
            #9 ended: assistant ["done"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result result result result result result assistant]
        settled
    "#]].assert_eq(&stage.run("go").await);
    assert_eq!(stage.runs.all(), ["explode done", "act fine"]);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_reports_how_far_it_is() {
    let mut stage = with(Scenario::new().tool("report", json!({})).text("done")).start();
    let seen = stage.run("go").await;
    let lines: Vec<&str> = seen
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("report call"))
        .collect();
    expect![[r#"
        0 call report call_1_1
        #2 ended: assistant [report call_1_1] toolUse
        report call_1_1 starts
        report call_1_1 reports "1 of 3"
        report call_1_1 reports "2 of 3"
        report call_1_1 reports "3 of 3"
        report call_1_1 ended after 30 ms: "done""#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_keeps_the_plan_of_the_session() {
    let mut stage = with(Scenario::new().tool("plan", json!({})).text("done")).start();
    let seen = stage.run("go").await;
    assert!(seen.contains("plan: 1 tasks"), "{seen}");
    assert_eq!(
        stage.session.state().await.unwrap().plan,
        crate::props::the_plan()
    );
}
