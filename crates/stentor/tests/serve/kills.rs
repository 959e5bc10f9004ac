//! `kill -9` of clients, relays and the server, at whichever moment: nothing is lost or doubled, and no
//! call runs twice. `STENTOR_KILLS` sets how often.

use std::collections::{HashMap, HashSet};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{acp, acp_alone, file_of, omp_too, prompt, psi_too, server_with, synaps_too};
use crate::server::{Server, start};
use crate::world::Child;

/// How often something is killed, unless somebody wants more.
const KILLS: u64 = 40;

const SCENARIO: &str = "[[turn]]\nwhen = { last_user_contains = \"run \" }\n\
    steps = [{ text = \"I do. \" }, { tool = \"bash\", id = \"call_{{turn}}\", \
    arguments = { command = \"echo {{last_user}} >> ran.txt\" } }]\n\
    [[turn]]\nwhen = { tool = \"bash\" }\ntext = \"It is done.\"\n";

const FLAGS: [&str; 2] = ["--resume-within", "0"];

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }
}

/// Has a client of one dialect join the session and say something; then looks at some lines. True when
/// the session has certainly accepted it.
fn say(server: &Server, session: &str, dialect: u64, text: &str, lines: u64) -> (Child, bool) {
    let (mut client, accepts): (Child, fn(&str) -> bool) = match dialect {
        0 => {
            let mut client = acp_alone(server);
            let resume = json!({
                "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [],
            });
            client.ask_acp(2, "session/resume", resume);
            prompt(&mut client, 3, session, text);
            (client, |line| {
                line.contains(r#""id":3"#) && line.contains("end_turn")
            })
        }
        1 => {
            let mut client = omp_too(server, session);
            let say = json!({ "id": "p", "type": "prompt", "message": text });
            client.send(&say.to_string());
            (client, |line| {
                line.contains(r#""command":"prompt","success":true"#)
            })
        }
        2 => {
            let mut client = psi_too(server, session);
            let say = format!(
                "{{:id \"p\" :kind :request :op \"prompt\" :params {{:message {text:?}}}}}"
            );
            client.send(&say);
            (client, |line| {
                line.contains(":kind :response :op \"prompt\" :ok true")
            })
        }
        _ => {
            let mut client = synaps_too(server, session);
            let say = json!({ "type": "prompt", "id": "p", "message": text });
            client.send(&say.to_string());
            (client, |line| {
                line.contains(r#""command":"prompt","ok":true"#)
            })
        }
    };
    let is_last = |line: &str| {
        line.contains("stopReason")
            || line.contains("agent_settled")
            || line.contains("agent_end")
            || line.contains("\"error\"")
            || line.contains(":kind :error")
            || line.contains("It is done.")
    };
    let mut is_accepted = false;
    for _ in 0..lines {
        let line = client.next();
        is_accepted |= accepts(&line);
        if is_last(&line) {
            break;
        }
    }
    (client, is_accepted)
}

fn again(server: Server) -> Server {
    let Server { world, process, .. } = server;
    kill_process(process.pid(), Signal::KILL).unwrap();
    process.exit_code();
    let (process, ready) = start(&world, &FLAGS);
    Server {
        world,
        process,
        ready,
    }
}

#[test]
fn whatever_is_killed_nothing_is_lost_or_doubled_and_no_call_runs_twice() {
    let kills = std::env::var("STENTOR_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let mut server = server_with(SCENARIO, "permission_mode = \"all\"\n", &FLAGS);
    let (mut first, session) = acp(&server);
    prompt(&mut first, 3, &session, "run 0");
    first.until_answer(3);
    first.end();
    let mut numbers = Numbers(kills);
    let mut accepted = vec!["run 0".to_owned()];
    for n in 1..=kills {
        let text = format!("run {n}");
        let (dialect, lines) = (numbers.below(4), numbers.below(12));
        let (mut client, is_accepted) = say(&server, &session, dialect, &text, lines);
        if is_accepted {
            accepted.push(text);
        }
        match numbers.below(3) {
            // The relay.
            0 => kill_process(client.pid(), Signal::KILL).unwrap(),
            // The client, whose pipes close.
            1 => client.close_stdin(),
            _ => server = again(server),
        }
        drop(client);
    }
    check(&again(server), &session, &accepted);
}

/// How often something is killed of several clients at once, unless somebody wants more: what dies with
/// the server is all of them.
const KILLS_OF_MANY: u64 = 16;

/// The same with an answer by which each run is known.
fn known_runs() -> String {
    SCENARIO.replace("It is done.", "Done with {{last_user}}.")
}

/// A client of each dialect in the session: ACP, omp, psi, synaps.
fn all_join(server: &Server, session: &str) -> [Child; 4] {
    [0, 1, 2, 3].map(|dialect| join(server, session, dialect))
}

fn join(server: &Server, session: &str, dialect: usize) -> Child {
    match dialect {
        0 => {
            let mut client = acp_alone(server);
            let resume = json!({
                "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [],
            });
            client.ask_acp(2, "session/resume", resume);
            client
        }
        1 => omp_too(server, session),
        2 => psi_too(server, session),
        _ => synaps_too(server, session),
    }
}

/// Has a client say something, and waits until the session has certainly accepted it.
fn say_accepted(client: &mut Child, dialect: usize, session: &str, text: &str) {
    let accepted = match dialect {
        0 => {
            prompt(client, 3, session, text);
            "I do. "
        }
        1 => {
            let say = json!({ "id": "p", "type": "prompt", "message": text });
            client.send(&say.to_string());
            r#""command":"prompt","success":true"#
        }
        2 => {
            client.send(&format!(
                "{{:id {text:?} :kind :request :op \"prompt\" :params {{:message {text:?}}}}}"
            ));
            ":kind :response :op \"prompt\" :ok true"
        }
        _ => {
            let say = json!({ "type": "prompt", "id": "p", "message": text });
            client.send(&say.to_string());
            "I do. "
        }
    };
    client.until(|line| line.contains(accepted));
}

#[test]
fn whichever_of_many_clients_is_killed_the_others_see_the_end_or_that_the_server_died() {
    let kills = std::env::var("STENTOR_KILLS").ok();
    let kills = kills.map_or(KILLS_OF_MANY, |kills| kills.parse().unwrap());
    let config = "permission_mode = \"all\"\n";
    let mut server = server_with(&known_runs(), config, &FLAGS);
    let (mut first, session) = acp(&server);
    prompt(&mut first, 3, &session, "run 0");
    first.until_answer(3);
    first.end();
    let mut numbers = Numbers(kills);
    let mut accepted = vec!["run 0".to_owned()];
    let mut clients = all_join(&server, &session);
    for n in 1..=kills {
        let text = format!("run {n}");
        let is_end = |line: &str| line.contains(&format!("Done with {text}."));
        let [who, victim] = [4, 5].map(|most| usize::try_from(numbers.below(most)).unwrap());
        say_accepted(&mut clients[who], who, &session, &text);
        accepted.push(text.clone());
        let mut has_seen_end = false;
        for _ in 0..numbers.below(12) {
            has_seen_end = is_end(&clients[who].next());
            if has_seen_end {
                break;
            }
        }
        if victim == clients.len() {
            server = all_see_its_death(server, clients);
            clients = all_join(&server, &session);
            continue;
        }
        match numbers.below(2) {
            0 => kill_process(clients[victim].pid(), Signal::KILL).unwrap(),
            _ => clients[victim].close_stdin(),
        }
        for (dialect, client) in clients.iter_mut().enumerate() {
            if dialect == victim {
                continue;
            }
            if dialect != who || !has_seen_end {
                client.until(is_end);
            }
            // Idle: whoever is next may say something.
            match dialect {
                0 if who == 0 => drop(client.until_answer(3)),
                1 => drop(client.until_type("agent_settled")),
                2 => drop(client.until(|line| line.contains(":phase \"idle\""))),
                _ => {}
            }
        }
        clients[victim] = join(&server, &session, victim);
    }
    drop(clients);
    check(&again(server), &session, &accepted);
}

/// The next life of a server that was killed. Each of its clients gets an honest last line.
fn all_see_its_death(server: Server, clients: [Child; 4]) -> Server {
    let Server { world, process, .. } = server;
    kill_process(process.pid(), Signal::KILL).unwrap();
    process.exit_code();
    for mut client in clients {
        client.until(|line| line.contains("the server has ended"));
        assert_eq!(client.exit_code(), Some(1));
    }
    let (process, ready) = start(&world, &FLAGS);
    Server {
        world,
        process,
        ready,
    }
}

/// What is on disk, and what the commands did.
fn check(server: &Server, session: &str, accepted: &[String]) {
    // What was interrupted is recorded when the session is opened.
    let mut last = acp_alone(server);
    let load = json!({ "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [] });
    last.ask_acp(2, "session/load", load);
    last.end();
    let file = std::fs::read_to_string(file_of(server, session)).unwrap();
    let entries: Vec<Value> = file
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: HashSet<&str> = entries
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect();
    assert_eq!(ids.len(), entries.len(), "ids are unique");
    let messages = entries.iter().filter(|entry| entry["type"] == "message");
    let messages: Vec<&Value> = messages.map(|entry| &entry["message"]).collect();
    let texts = messages.iter().filter(|message| message["role"] == "user");
    let mut said: HashMap<String, usize> = HashMap::new();
    for message in texts {
        let text = message["content"][0]["text"].as_str().unwrap_or_default();
        *said.entry(text.to_owned()).or_default() += 1;
    }
    assert!(said.values().all(|times| *times == 1), "doubled: {said:?}");
    // What was queued and is yet to be delivered is not lost either.
    let is_queued = |entry: &&Value| entry["customType"] == "stentor.queued";
    let queued = entries.iter().filter(is_queued).map(Value::to_string);
    let queued: String = queued.collect();
    for text in accepted {
        let is_there = said.contains_key(text) || queued.contains(&format!("{text:?}"));
        assert!(is_there, "{text} was lost");
    }
    let ran = std::fs::read_to_string(server.world.path("work/ran.txt")).unwrap();
    let lines: Vec<&str> = ran.lines().collect();
    let once: HashSet<&str> = lines.iter().copied().collect();
    assert_eq!(once.len(), lines.len(), "a call ran twice: {ran}");
    assert!(once.iter().all(|line| said.contains_key(*line)), "{ran}");
    let mut open: HashMap<&str, &str> = HashMap::new();
    for message in &messages {
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "toolCall" {
                let command = block["arguments"]["command"].as_str().unwrap();
                let doubled = open.insert(block["id"].as_str().unwrap(), command);
                assert_eq!(doubled, None, "a call without a result");
            }
        }
        if message["role"] == "toolResult" {
            let command = open.remove(message["toolCallId"].as_str().unwrap());
            let command = command.expect("a result has its call, and a call one result");
            let ended_well = message["isError"] == false;
            let text = command.strip_prefix("echo ").unwrap();
            let text = text.strip_suffix(" >> ran.txt").unwrap();
            assert!(!ended_well || once.contains(text), "{text} did not run");
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
