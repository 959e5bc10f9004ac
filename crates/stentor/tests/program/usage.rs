//! `stentor usage`: what the stored sessions consumed.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::World;

/// A session file with these entries, each with its id, its time and what it is.
fn session(id: &str, cwd: &str, entries: &[(&str, &str, Value)]) -> String {
    let header = json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-11-01T00:00:00.000Z", "cwd": cwd });
    let entries = entries.iter().map(|(id, time, content)| {
        let mut entry = json!({ "id": id, "parentId": null, "timestamp": time });
        let fields = content.as_object().unwrap().clone();
        entry.as_object_mut().unwrap().extend(fields);
        entry
    });
    let lines = std::iter::once(header).chain(entries);
    lines.map(|line| format!("{line}\n")).collect()
}

fn answer(model: &str, tokens: u64, cost: Value) -> Value {
    let usage = json!({ "input": tokens, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens + 10, "cost": cost });
    json!({ "type": "message", "message": { "role": "assistant", "content": [], "api": "a", "provider": "p",
        "model": model, "usage": usage, "stopReason": "stop", "timestamp": 1 } })
}

fn priced(total: f64) -> Value {
    json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": total })
}

/// Two sessions of one folder, one of them a fork of the other, one of another folder, and a file
/// that is none.
fn world() -> World {
    let world = World::new();
    let first = (
        "aaaaaaaa",
        "2026-11-02T08:00:00.000Z",
        answer("large", 20_000, priced(2.0)),
    );
    let by_subagents = json!({ "type": "custom", "customType": "stentor.consumedByTools",
        "data": { "input": 500, "output": 5, "totalTokens": 505, "cost": { "total": 0.5 } } });
    let by_tools_of_small = json!({ "type": "custom", "customType": "stentor.consumedByTools",
        "data": { "model": "p/small", "input": 30, "output": 1, "totalTokens": 31, "cost": { "total": 0.002 } } });
    let summary = json!({ "type": "custom", "customType": "stentor.consumedBySummary",
        "data": { "input": 100, "output": 5, "totalTokens": 105, "cost": { "total": 0.25 } } });
    let original = [
        first.clone(),
        ("bbbbbbbb", "2026-11-02T23:59:59.999Z", by_subagents),
        ("cccccccc", "2026-11-03T00:00:00.000Z", summary),
    ];
    let fork = [
        first,
        (
            "dddddddd",
            "2026-11-03T10:00:00.000Z",
            answer("small", 300, priced(0.001)),
        ),
        ("eeeeeeee", "2026-11-03T10:00:01.000Z", by_tools_of_small),
    ];
    let other = [(
        "aaaaaaaa",
        "2026-11-05T10:00:00.000Z",
        answer("local", 1_500_000, json!({ "unknown": true, "total": 0 })),
    )];
    world.file("kept/1_one.jsonl", &session("one", "/src/shop", &original));
    world.file("kept/2_two.jsonl", &session("two", "/src/shop", &fork));
    world.file(
        "kept/3_three.jsonl",
        &session("three", "/src/other", &other),
    );
    world.file("kept/4_four.jsonl", "no session\n");
    world
}

fn usage(world: &World, more: &[&str]) -> String {
    usage_in("UTC", world, more)
}

/// The same for somebody in this time zone.
fn usage_in(zone: &str, world: &World, more: &[&str]) -> String {
    let words = ["usage", "--all-time", "--session-dir", "../kept"];
    let mut command = world.command(&[&words[..], more].concat());
    world.finish(command.env("TZ", zone).output().unwrap()).ok()
}

#[test]
fn days_are_those_of_the_time_zone() {
    let days = |zone: &str| {
        let report = usage_in(zone, &world(), &["--json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let days = report["days"].as_array().unwrap().iter();
        let days = days.map(|day| json!([day["day"], day["usage"]["input"]]));
        days.collect::<Vec<_>>()
    };
    let fifth = json!(["2026-11-05", 1_500_000]);
    let east = [json!(["2026-11-02", 20_000]), json!(["2026-11-03", 930])];
    assert_eq!(
        days("EAST-2"),
        [&east[..], std::slice::from_ref(&fifth)].concat()
    );
    let west = [json!(["2026-11-01", 20_000]), json!(["2026-11-02", 600])];
    let west = [&west[..], &[json!(["2026-11-03", 330]), fifth]].concat();
    assert_eq!(days("WEST+9"), west);
    let shown = usage_in("WEST+9", &world(), &[]);
    assert!(shown.starts_with("By day\n  2026-11-01 "), "{shown}");
}

#[test]
fn usage_is_summed_by_day_model_and_folder_and_a_fork_counts_once() {
    expect![[r#"
        By day
          2026-11-02  ████████████████████    20.5k in      15 out  $2.50
          2026-11-03  ██▌                       430 in      16 out  $0.25
          2026-11-05                           1.5M in      10 out  price unknown

        By model
          p/large  ████████████████████    20.1k in      15 out  $2.25
          tools    ████▌                     500 in       5 out  $0.50
          p/small  ▌                         330 in      11 out  $0.0030
          p/local                           1.5M in      10 out  price unknown

        By folder
          /src/shop   ████████████████████    20.9k in      31 out  $2.75
          /src/other                           1.5M in      10 out  price unknown

        Together so far: 1.5M in, 41 out, 6 calls in 3 sessions, at least $2.75
        1 session could not be read and is not in here; `stentor sessions --all` says why.
    "#]]
    .assert_eq(&usage(&world(), &[]));
}

#[test]
fn usage_as_json_has_the_same_sums() {
    let world = world();
    let report: Value = serde_json::from_str(&usage(&world, &["--json"])).unwrap();
    let spent = |list: &str| -> Vec<Value> {
        let sums = report[list].as_array().unwrap().iter();
        let name = list.trim_end_matches('s');
        sums.map(|sum| {
            json!([
                sum[name],
                sum["usage"]["input"],
                sum["calls"],
                sum["sessions"]
            ])
        })
        .collect()
    };
    assert_eq!(
        json!([spent("days"), spent("models"), spent("folders")]),
        json!([
            [
                ["2026-11-02", 20_500, 2, 2],
                ["2026-11-03", 430, 3, 2],
                ["2026-11-05", 1_500_000, 1, 1],
            ],
            [
                ["p/large", 20_100, 2, 2],
                ["p/local", 1_500_000, 1, 1],
                ["p/small", 330, 2, 1],
                ["tools", 500, 1, 1],
            ],
            [["/src/other", 1_500_000, 1, 1], ["/src/shop", 20_930, 5, 2]],
        ])
    );
    assert_eq!(report["unreadableSessions"], 1);
    assert_eq!(report["since"], Value::Null);
    assert_eq!(report["total"]["usage"]["cost"]["unknown"], true);
}

#[test]
fn usage_of_no_sessions_or_of_no_days_is_answered_in_words() {
    let world = World::new();
    assert_eq!(
        world.run(&["usage"]).ok(),
        "Nothing was consumed in the last 30 days.\n"
    );
    assert_eq!(
        world.run(&["usage", "--days", "1"]).ok(),
        "Nothing was consumed today.\n"
    );
    let refused = world.run(&["usage", "--days", "0"]);
    assert_eq!(refused.status, Some(2), "{}", refused.err);
}
