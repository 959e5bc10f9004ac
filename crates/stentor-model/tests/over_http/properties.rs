//! What holds for any stream, however damaged.

use proptest::prelude::*;
use stentor_agent::model::ModelEvent;
use stentor_model::answer::AnswerBuilder;
use stentor_wire::sse::SseDecoder;

use crate::scripts::Script;
use crate::setup::WIRES;

const SCRIPT: Script = Script {
    thinking: &["Let me ", "look."],
    text: &["I will ", "check."],
    calls: &[
        ("call_1", "read", &["{\"path\":", "\"a.rs\"}"]),
        ("call_2", "list", &["{}"]),
    ],
};

/// Takes events out, doubles them, swaps them, or cuts and overwrites bytes.
#[derive(Debug, Clone)]
enum Damage {
    Drop(usize),
    Double(usize),
    Swap(usize, usize),
    Overwrite(usize, u8),
    CutAt(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Double),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Overwrite(at, byte)),
        any::<usize>().prop_map(Damage::CutAt),
    ]
}

fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut events: Vec<String> = text.split_inclusive("\n\n").map(str::to_owned).collect();
    for damage in damages {
        let count = events.len().max(1);
        match damage {
            Damage::Drop(at) if !events.is_empty() => drop(events.remove(at % count)),
            Damage::Double(at) if !events.is_empty() => {
                let event = events[at % count].clone();
                events.insert(at % count, event);
            }
            Damage::Swap(a, b) if !events.is_empty() => events.swap(a % count, b % count),
            _ => {}
        }
    }
    let mut bytes = events.concat().into_bytes();
    for damage in damages {
        let count = bytes.len().max(1);
        match damage {
            Damage::Overwrite(at, byte) if !bytes.is_empty() => bytes[at % count] = *byte,
            Damage::CutAt(at) => bytes.truncate(at % count),
            _ => {}
        }
    }
    bytes
}

proptest! {
    #[test]
    fn blocks_come_one_after_the_other_and_nothing_follows_the_end(
        wire in 0usize..4,
        damages in proptest::collection::vec(damage(), 0..6),
    ) {
        let wire = WIRES[wire].0;
        let mut stream = SseDecoder::new(1 << 20);
        stream.push(&damaged(&SCRIPT.in_words_of(wire), &damages));
        stream.finish();
        let mut decoder = wire.decoder();
        let mut answer = AnswerBuilder::new();
        let mut failed = false;
        while let Ok(Some(event)) = stream.next_event() {
            if answer.is_finished() {
                break;
            }
            if decoder.event(event.name, event.data, &mut answer).is_err() {
                failed = true;
                break;
            }
        }
        if !failed && !answer.is_finished() {
            failed = decoder.closed(&mut answer).is_err();
        }
        let mut started = false;
        let mut open = false;
        let mut finished = false;
        while let Some(event) = answer.pop() {
            prop_assert!(!finished, "{event:?} follows the end");
            match event {
                ModelEvent::Started { .. } => {
                    prop_assert!(!started);
                    started = true;
                }
                ModelEvent::BlockStarted(_) => {
                    prop_assert!(started && !open);
                    open = true;
                }
                ModelEvent::Delta(text) => prop_assert!(open && !text.is_empty()),
                ModelEvent::BlockEnded { .. } => {
                    prop_assert!(open);
                    open = false;
                }
                ModelEvent::Usage(_)
                | ModelEvent::Intent(_)
                | ModelEvent::Became(_)
                | ModelEvent::Titled(_)
                | ModelEvent::Nothing => {}
                ModelEvent::Finished(_) => {
                    prop_assert!(started && !open);
                    finished = true;
                }
            }
        }
        prop_assert!(finished || failed);
    }
}
