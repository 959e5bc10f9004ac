//! Messages that arrive while something runs.

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_agent::session::{QueueKind, SessionError};
use stentor_model::script::{Scenario, ScriptStep, ScriptTurn, ScriptedText, Speech};

use crate::stage::{say, with};

fn slow_text() -> ScriptTurn {
    ScriptTurn::new().step(ScriptStep::Text(Speech {
        text: ScriptedText::Chunks(vec!["w0 ".into(), "w1 ".into(), "w2".into()]),
        chunk_wait_ms: 100,
        new_block: false,
    }))
}

fn three_calls() -> ScriptTurn {
    ScriptTurn::new()
        .tool("act", json!({"say":"first","ms":100}))
        .tool("act", json!({"say":"second","ms":100}))
        .tool("act", json!({"say":"third","ms":100}))
}

#[tokio::test(start_paused = true)]
async fn steering_skips_the_calls_that_have_not_started() {
    let mut stage = with(Scenario::new().turn(three_calls()).text("understood")).start();
    stage.prompt("run three").await;
    stage.until_tool_started().await;
    stage.steer("do something else").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "run three"
            #2 answer
              0 call act call_1_1
              0 += "{\"say\":\"first\",\"ms\":100}"
              0 ended {"say":"first","ms":100}
              1 call act call_1_2
              1 += "{\"say\":\"second\",\"ms\":100}"
              1 ended {"say":"second","ms":100}
              2 call act call_1_3
              2 += "{\"say\":\"third\",\"ms\":100}"
              2 ended {"say":"third","ms":100}
            #2 ended: assistant [act call_1_1, act call_1_2, act call_1_3] toolUse
            act call_1_1 starts
        queues: steering ["do something else"] follow-up []
            act call_1_1 ended after 100 ms: "first"
            #3 started
            #3 ended: result of call_1_1: "first"
            act call_1_2 starts
            act call_1_2 ended after 0 ms: "Skipped due to queued user message." error
            #4 started
            #4 ended: result of call_1_2: "Skipped due to queued user message." error
            act call_1_3 starts
            act call_1_3 ended after 0 ms: "Skipped due to queued user message." error
            #5 started
            #5 ended: result of call_1_3: "Skipped due to queued user message." error
          turn ended: toolUse, 3 results
          turn
        queues: steering [] follow-up []
            #6 started
            #6 ended: user "do something else"
            #7 answer
              0 text
              0 += "understood"
              0 ended
            #7 ended: assistant ["understood"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result result result user assistant]
        settled
    "#]]
    .assert_eq(&stage.settled().await);
    assert_eq!(stage.runs.all(), ["act first"]);
}

#[tokio::test(start_paused = true)]
async fn steering_that_waits_is_delivered_when_the_turn_ends() {
    let mut stage = with(Scenario::new().turn(three_calls()).text("understood"))
        .options(|options| options.interrupt_mode = InterruptMode::Wait)
        .start();
    stage.prompt("run three").await;
    stage.until_tool_started().await;
    stage.steer("do something else").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "run three"
            #2 answer
              0 call act call_1_1
              0 += "{\"say\":\"first\",\"ms\":100}"
              0 ended {"say":"first","ms":100}
              1 call act call_1_2
              1 += "{\"say\":\"second\",\"ms\":100}"
              1 ended {"say":"second","ms":100}
              2 call act call_1_3
              2 += "{\"say\":\"third\",\"ms\":100}"
              2 ended {"say":"third","ms":100}
            #2 ended: assistant [act call_1_1, act call_1_2, act call_1_3] toolUse
            act call_1_1 starts
        queues: steering ["do something else"] follow-up []
            act call_1_1 ended after 100 ms: "first"
            #3 started
            #3 ended: result of call_1_1: "first"
            act call_1_2 starts
            act call_1_2 ended after 100 ms: "second"
            #4 started
            #4 ended: result of call_1_2: "second"
            act call_1_3 starts
            act call_1_3 ended after 100 ms: "third"
            #5 started
            #5 ended: result of call_1_3: "third"
          turn ended: toolUse, 3 results
          turn
        queues: steering [] follow-up []
            #6 started
            #6 ended: user "do something else"
            #7 answer
              0 text
              0 += "understood"
              0 ended
            #7 ended: assistant ["understood"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result result result user assistant]
        settled
    "#]]
    .assert_eq(&stage.settled().await);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_mode_that_is_set_during_the_calls_holds_at_once() {
    let mut stage = with(Scenario::new().turn(three_calls()).text("understood"))
        .options(|options| options.interrupt_mode = InterruptMode::Wait)
        .start();
    stage.prompt("run three").await;
    stage.until_tool_started().await;
    stage.steer("do something else").await;
    stage
        .session
        .set_interrupt_mode(InterruptMode::Immediate)
        .await
        .unwrap();
    stage.settled().await;
    assert_eq!(stage.runs.all(), ["act first"]);
}

#[tokio::test(start_paused = true)]
async fn steering_while_text_streams_does_not_cut_it() {
    let mut stage = with(Scenario::new().turn(slow_text()).text("understood")).start();
    stage.prompt("talk").await;
    stage.until_said("w1").await;
    stage.steer("something else").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "talk"
            #2 answer
              0 text
              0 += "w0 w1 "
        queues: steering ["something else"] follow-up []
              0 += "w2"
              0 ended
            #2 ended: assistant ["w0 w1 w2"] stop
          turn ended: stop, 0 results
          turn
        queues: steering [] follow-up []
            #3 started
            #3 ended: user "something else"
            #4 answer
              0 text
              0 += "understood"
              0 ended
            #4 ended: assistant ["understood"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant user assistant]
        settled
    "#]]
    .assert_eq(&stage.settled().await);
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_steering_and_follow_ups_is_one_run() {
    let mut stage = with(
        Scenario::new()
            .turn(slow_text())
            .text("a")
            .text("b")
            .text("c")
            .text("d"),
    )
    .start();
    stage.prompt("talk").await;
    stage.until_said("w0").await;
    stage.follow_up("then this").await;
    stage.steer("first this").await;
    stage.steer("and this").await;
    stage.follow_up("at last this").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "talk"
            #2 answer
              0 text
              0 += "w0 "
        queues: steering [] follow-up ["then this"]
        queues: steering ["first this"] follow-up ["then this"]
        queues: steering ["first this", "and this"] follow-up ["then this"]
        queues: steering ["first this", "and this"] follow-up ["then this", "at last this"]
              0 += "w1 w2"
              0 ended
            #2 ended: assistant ["w0 w1 w2"] stop
          turn ended: stop, 0 results
          turn
        queues: steering ["and this"] follow-up ["then this", "at last this"]
            #3 started
            #3 ended: user "first this"
            #4 answer
              0 text
              0 += "a"
              0 ended
            #4 ended: assistant ["a"] stop
          turn ended: stop, 0 results
          turn
        queues: steering [] follow-up ["then this", "at last this"]
            #5 started
            #5 ended: user "and this"
            #6 answer
              0 text
              0 += "b"
              0 ended
            #6 ended: assistant ["b"] stop
          turn ended: stop, 0 results
          turn
        queues: steering [] follow-up ["at last this"]
            #7 started
            #7 ended: user "then this"
            #8 answer
              0 text
              0 += "c"
              0 ended
            #8 ended: assistant ["c"] stop
          turn ended: stop, 0 results
          turn
        queues: steering [] follow-up []
            #9 started
            #9 ended: user "at last this"
            #10 answer
              0 text
              0 += "d"
              0 ended
            #10 ended: assistant ["d"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant user assistant user assistant user assistant user assistant]
        settled
    "#]].assert_eq(&stage.settled().await);
}

#[tokio::test(start_paused = true)]
async fn in_mode_all_the_whole_queue_is_delivered_at_once() {
    let mut stage = with(Scenario::new().turn(slow_text()).text("a").text("b")).start();
    stage
        .session
        .set_steering_mode(QueueMode::All)
        .await
        .unwrap();
    stage
        .session
        .set_follow_up_mode(QueueMode::All)
        .await
        .unwrap();
    stage.prompt("talk").await;
    stage.until_said("w0").await;
    for text in ["s1", "s2"] {
        stage.steer(text).await;
    }
    for text in ["f1", "f2"] {
        stage.follow_up(text).await;
    }
    stage.settled().await;
    expect![[r#"
        user "talk"
        assistant ["w0 w1 w2"] stop
        user "s1"
        user "s2"
        assistant ["a"] stop
        user "f1"
        user "f2"
        assistant ["b"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_keeps_steering_for_after_the_next_prompts_own_message() {
    let mut stage = with(Scenario::new().text("both heard").text("more")).start();
    stage.steer("remember this").await;
    stage.steer("and this").await;
    assert_eq!(stage.session.state().await.unwrap().message_count, 0);
    expect![[r#"
        queues: steering ["remember this"] follow-up []
        queues: steering ["remember this", "and this"] follow-up []
        run
          turn
            #1 started
            #1 ended: user "now"
        queues: steering ["and this"] follow-up []
            #2 started
            #2 ended: user "remember this"
            #3 answer
              0 text
              0 += "both heard"
              0 ended
            #3 ended: assistant ["both heard"] stop
          turn ended: stop, 0 results
          turn
        queues: steering [] follow-up []
            #4 started
            #4 ended: user "and this"
            #5 answer
              0 text
              0 += "more"
              0 ended
            #5 ended: assistant ["more"] stop
          turn ended: stop, 0 results
        run ended: completed [user user assistant user assistant]
        settled
    "#]]
    .assert_eq(&stage.run("now").await);
    expect![[r#"
        user "now"
        user "remember this"
        assistant ["both heard"] stop
        user "and this""#]]
    .assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_keeps_follow_ups_for_the_end_of_the_next_run() {
    let mut stage = with(Scenario::new().text("a").text("b")).start();
    stage.follow_up("later").await;
    stage.run("now").await;
    expect![[r#"
        user "now"
        assistant ["a"] stop
        user "later"
        assistant ["b"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_during_a_run_is_refused_and_changes_nothing() {
    let mut stage = with(Scenario::new().turn(slow_text())).start();
    stage.prompt("talk").await;
    stage.until_said("w0").await;
    let refused = stage.session.prompt(say("me too")).await;
    assert!(matches!(refused, Err(SessionError::Busy)));
    stage.settled().await;
    assert_eq!(stage.messages().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn waiting_messages_can_be_taken_back_and_promoted() {
    let mut stage = with(Scenario::new().text("ok").text("ok")).start();
    for text in ["s1", "s2"] {
        stage.steer(text).await;
    }
    for text in ["f1", "f2", "f3"] {
        stage.follow_up(text).await;
    }
    let session = &stage.session;
    assert!(
        session
            .remove_queued(QueueKind::Steering, "s1")
            .await
            .unwrap()
    );
    assert!(
        !session
            .remove_queued(QueueKind::Steering, "s1")
            .await
            .unwrap()
    );
    assert!(session.promote_queued("f2").await.unwrap());
    assert!(!session.promote_queued("f2").await.unwrap());
    expect![[r#"
        queues: steering ["s1"] follow-up []
        queues: steering ["s1", "s2"] follow-up []
        queues: steering ["s1", "s2"] follow-up ["f1"]
        queues: steering ["s1", "s2"] follow-up ["f1", "f2"]
        queues: steering ["s1", "s2"] follow-up ["f1", "f2", "f3"]
        queues: steering ["s2"] follow-up ["f1", "f2", "f3"]
        queues: steering ["s2", "f2"] follow-up ["f1", "f3"]
    "#]]
    .assert_eq(&stage.so_far());
    let cleared = stage.session.clear_queues().await.unwrap();
    assert_eq!(
        (cleared.steering, cleared.follow_up),
        (
            vec!["s2".to_owned(), "f2".to_owned()],
            vec!["f1".to_owned(), "f3".to_owned()]
        )
    );
    stage.run("go").await;
    assert_eq!(stage.messages().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_and_promoting_into_it_loses_nothing() {
    let stage = with(Scenario::new()).start();
    stage.follow_up("mine").await;
    for _ in 0..1000 {
        stage.steer("x").await;
    }
    let refused = stage.session.steer(say("one more")).await;
    assert!(matches!(refused, Err(SessionError::QueueFull)));
    let refused = stage.session.promote_queued("mine").await;
    assert!(matches!(refused, Err(SessionError::QueueFull)));
    assert_eq!(
        stage.session.state().await.unwrap().queues.follow_up,
        ["mine"]
    );
}
