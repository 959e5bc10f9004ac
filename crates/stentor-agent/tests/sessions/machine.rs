//! Random commands in random bursts against random answers: what must hold, holds.

use std::time::Duration;

use futures_util::future::join_all;
use proptest::prelude::*;
use serde_json::json;
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_agent::model::ModelErrorKind;
use stentor_agent::session::{Accepted, SessionError};
use stentor_model::script::{Scenario, ScriptTurn};
use tempfile::tempdir;
use tokio::time::{sleep, timeout};

use crate::grammar::Grammar;
use crate::stage::{Stage, say, with};

/// Something a client does.
#[derive(Debug, Clone)]
enum Act {
    /// With `hold` the acceptance is let go only after the burst.
    Prompt {
        hold: bool,
    },
    Steer,
    FollowUp,
    Abort,
    AbortRetry,
    AbortAndPrompt,
    Steering(QueueMode),
    FollowUps(QueueMode),
    Interrupt(InterruptMode),
    Bash,
}

/// Acts that are sent without waiting for each other, and the time that passes afterwards.
#[derive(Debug, Clone)]
struct Burst {
    acts: Vec<Act>,
    then_ms: u64,
}

/// An answer of the model.
#[derive(Debug, Clone)]
enum Says {
    Text { wait_ms: u64 },
    Calls(Vec<(&'static str, u64)>),
    Fails { begun: bool },
    Hangs,
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => any::<bool>().prop_map(|hold| Act::Prompt { hold }),
        3 => Just(Act::Steer),
        3 => Just(Act::FollowUp),
        3 => Just(Act::Abort),
        1 => Just(Act::AbortRetry),
        1 => Just(Act::AbortAndPrompt),
        1 => prop_oneof![Just(QueueMode::All), Just(QueueMode::OneAtATime)].prop_map(Act::Steering),
        1 => prop_oneof![Just(QueueMode::All), Just(QueueMode::OneAtATime)].prop_map(Act::FollowUps),
        1 => prop_oneof![Just(InterruptMode::Immediate), Just(InterruptMode::Wait)].prop_map(Act::Interrupt),
        1 => Just(Act::Bash),
    ]
}

fn bursts() -> impl Strategy<Value = Vec<Burst>> {
    let time = prop_oneof![Just(0), 1_u64..60, Just(200), Just(2_500)];
    let burst = (prop::collection::vec(acts(), 1..5), time);
    let burst = burst.prop_map(|(acts, then_ms)| Burst { acts, then_ms });
    prop::collection::vec(burst, 1..12)
}

fn answers() -> impl Strategy<Value = Vec<Says>> {
    let wait = prop_oneof![Just(0), 1_u64..80];
    let tool = (
        prop_oneof![Just("look"), Just("act"), Just("deaf"), Just("nosuch")],
        wait.clone(),
    );
    let says = prop_oneof![
        4 => wait.prop_map(|wait_ms| Says::Text { wait_ms }),
        4 => prop::collection::vec(tool, 1..4).prop_map(Says::Calls),
        1 => any::<bool>().prop_map(|begun| Says::Fails { begun }),
        1 => Just(Says::Hangs),
    ];
    prop::collection::vec(says, 0..12)
}

fn scenario(answers: &[Says]) -> Scenario {
    answers.iter().fold(Scenario::new(), |scenario, says| {
        scenario.turn(match says {
            Says::Text { wait_ms } => ScriptTurn::new().text("so ").wait(*wait_ms).text("it is"),
            Says::Calls(calls) => calls.iter().fold(ScriptTurn::new(), |turn, (name, ms)| {
                turn.tool(*name, json!({ "ms": ms }))
            }),
            Says::Fails { begun: false } => ScriptTurn::new().error(ModelErrorKind::Overloaded),
            Says::Fails { begun: true } => ScriptTurn::new()
                .text("half")
                .tool("act", json!("{\"ms\""))
                .error(ModelErrorKind::Server),
            Says::Hangs => ScriptTurn::new().text("well").hang(),
        })
    })
}

/// What was accepted, by the way it went in, in order.
#[derive(Default)]
struct AcceptedTexts {
    next: u32,
    prompts: Vec<String>,
    steering: Vec<String>,
    follow_ups: Vec<String>,
}

/// What became of an act.
enum Did {
    Prompted(String, Result<Accepted, SessionError>, bool),
    Steered(String, Result<(), SessionError>),
    FollowedUp(String, Result<(), SessionError>),
    Nothing,
}

async fn perform(stage: &Stage, act: Act, text: String) -> Did {
    let session = &stage.session;
    match act {
        Act::Prompt { hold } => {
            let accepted = session.prompt(say(&text)).await;
            return Did::Prompted(text, accepted, hold);
        }
        Act::AbortAndPrompt => {
            let accepted = session.abort_and_prompt(say(&text)).await;
            return Did::Prompted(text, accepted, false);
        }
        Act::Steer => {
            let steered = session.steer(say(&text)).await;
            return Did::Steered(text, steered);
        }
        Act::FollowUp => {
            let followed = session.follow_up(say(&text)).await;
            return Did::FollowedUp(text, followed);
        }
        Act::Abort => session.abort().await.unwrap(),
        Act::AbortRetry => session.abort_retry().await.unwrap(),
        Act::Steering(mode) => session.set_steering_mode(mode).await.unwrap(),
        Act::FollowUps(mode) => session.set_follow_up_mode(mode).await.unwrap(),
        Act::Interrupt(mode) => session.set_interrupt_mode(mode).await.unwrap(),
        Act::Bash => drop(session.bash("echo x".to_owned(), false).await.unwrap()),
    }
    Did::Nothing
}

impl AcceptedTexts {
    fn text(&mut self) -> String {
        self.next += 1;
        format!("message {}", self.next)
    }

    /// Notes what was accepted and returns what is still being held.
    fn note(&mut self, did: Vec<Did>) -> Vec<Accepted> {
        let mut held = Vec::new();
        for did in did {
            match did {
                Did::Prompted(text, Ok(accepted), hold) => {
                    self.prompts.push(text);
                    held.extend(hold.then_some(accepted));
                }
                Did::Prompted(_, Err(SessionError::Busy), _) | Did::Nothing => {}
                Did::Prompted(_, Err(error), _) => panic!("{error}"),
                Did::Steered(text, done) => {
                    done.unwrap();
                    self.steering.push(text);
                }
                Did::FollowedUp(text, done) => {
                    done.unwrap();
                    self.follow_ups.push(text);
                }
            }
        }
        held
    }

    /// Each way in keeps its order, and what was told and what waits is all there is.
    fn check(&self, told: &[String], steering: &[String], follow_up: &[String]) {
        let went = |accepted: &[String], waiting: &[String]| {
            let mut all: Vec<String> = told
                .iter()
                .filter(|text| accepted.contains(text))
                .cloned()
                .collect();
            all.extend_from_slice(waiting);
            assert_eq!(all, accepted, "told: {told:?}");
        };
        went(&self.prompts, &[]);
        went(&self.steering, steering);
        went(&self.follow_ups, follow_up);
        let accepted = self.prompts.len() + self.steering.len() + self.follow_ups.len();
        assert_eq!(told.len() + steering.len() + follow_up.len(), accepted);
    }
}

fn read(stage: &mut Stage, grammar: &mut Grammar) {
    while let Some(event) = stage.events.try_next() {
        grammar.accept(&event);
    }
}

async fn idle(stage: &Stage) {
    let session = &stage.session;
    sleep(Duration::from_secs(60)).await;
    let abort = timeout(Duration::from_secs(86_400), session.abort());
    abort.await.unwrap().unwrap();
    assert!(!session.state().await.unwrap().is_running);
}

async fn play(answers: Vec<Says>, bursts: Vec<Burst>) {
    let folder = tempdir().unwrap();
    let mut stage = with(scenario(&answers)).in_folder(folder.path()).start();
    stage.events = stage.session.subscribe_since(0).unwrap();
    let mut grammar = Grammar::default();
    let mut accepted = AcceptedTexts::default();
    for burst in bursts {
        let acts = burst.acts.into_iter().map(|act| (act, accepted.text()));
        let acts: Vec<_> = acts.map(|(act, text)| perform(&stage, act, text)).collect();
        let did = timeout(Duration::from_secs(86_400), join_all(acts))
            .await
            .unwrap();
        let held = accepted.note(did);
        read(&mut stage, &mut grammar);
        drop(held);
        sleep(Duration::from_millis(burst.then_ms)).await;
        read(&mut stage, &mut grammar);
    }
    idle(&stage).await;
    // Whatever happened, the session takes a prompt and comes to rest again.
    let settled = grammar.settled;
    let text = accepted.text();
    drop(stage.session.prompt(say(&text)).await.unwrap());
    accepted.prompts.push(text);
    idle(&stage).await;
    read(&mut stage, &mut grammar);
    assert!(grammar.settled > settled);

    let state = stage.session.state().await.unwrap();
    accepted.check(
        &grammar.told,
        &state.queues.steering,
        &state.queues.follow_up,
    );
    for (call, counts) in &grammar.calls {
        assert_eq!(*counts, [1; 4], "{call}: made, started, ended, answered");
    }
    let said = stage.session.messages().await.unwrap();
    let users = said
        .iter()
        .filter_map(|message| Some(message.as_user()?.content.text()));
    assert_eq!(users.collect::<Vec<_>>(), grammar.told);
    stage.session.close().await;
    let resumed = with(Scenario::new()).resume(&state.file.unwrap());
    assert_eq!(resumed.session.messages().await.unwrap(), said);
    let again = resumed.session.state().await.unwrap();
    assert_eq!((again.queues, again.leaf), (state.queues, state.leaf));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_clients_do_nothing_is_lost_doubled_or_out_of_order(
        answers in answers(),
        bursts in bursts(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(answers, bursts));
    }
}
