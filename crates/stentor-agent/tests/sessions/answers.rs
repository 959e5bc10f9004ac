//! Plain answers: text, thinking, usage, failures before the first token.

use expect_test::expect;
use stentor_agent::model::ModelErrorKind;
use stentor_model::script::{Scenario, ScriptTurn};

use crate::stage::with;

#[tokio::test(start_paused = true)]
async fn a_text_answer_is_one_turn_of_one_run() {
    let mut stage = with(Scenario::new().turn(ScriptTurn::new().chunks(["Hel", "lo"]))).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 text
              0 += "Hello"
              0 ended
            #2 ended: assistant ["Hello"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant]
        settled
    "#]]
    .assert_eq(&stage.run("hi").await);
}

#[tokio::test(start_paused = true)]
async fn thinking_comes_before_the_text_as_a_block_of_its_own() {
    let mut stage =
        with(Scenario::new().turn(ScriptTurn::new().thinking("hm").text("yes"))).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 thinking
              0 += "hm"
              0 ended
              1 text
              1 += "yes"
              1 ended
            #2 ended: assistant [thinking "hm", "yes"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant]
        settled
    "#]]
    .assert_eq(&stage.run("hi").await);
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_first_token_is_an_empty_answer_with_the_error() {
    let mut stage = with(Scenario::new().error(ModelErrorKind::Auth)).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
            #2 ended: assistant [] error (script/one: wrong credentials (the scenario says so))
          turn ended: error, 0 results
        run ended: failed Auth script/one: wrong credentials (the scenario says so) [user assistant]
        settled
    "#]]
    .assert_eq(&stage.run("hi").await);
    assert!(!stage.session.state().await.unwrap().is_running);
}
