//! NATS that is gone for a while, between a client of one node and its session on another: the client
//! sees everything, once.

use std::time::Duration;

use serde_json::{Value, json};
use stentor_test_support::{NatsCluster, TemporaryFolder};

use crate::nodes::{Fleet, Node, answer, load, new_session, prompt};
use crate::world::{Child, World};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

/// How many words the long answer has.
const WORDS: usize = 150;

/// It is longer than a server takes to come back.
const SCENARIO: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\nwhen = { last_user_contains = \"long\" }\n\
    steps = [{ text = \"w{{n}} \", repeat = 150, chunk_wait_ms = 20 }]\n\
    [[turn]]\nwhen = { last_user_contains = \"run\" }\ntool = \"bash\"\n\
    arguments = { command = \"echo {{last_user}} >> ran.txt\" }\n\
    [[turn]]\ntext = \"Answered.\"\n";

/// Two nodes on a server that can be killed, and a session of the first.
struct Interrupted {
    nats: NatsCluster,
    shared: TemporaryFolder,
    two: Node,
    session: String,
    /// The client that began it, on the first node.
    first: Child,
    /// Ends when it is dropped.
    _one: Node,
}

impl Interrupted {
    fn new() -> Option<Self> {
        let nats = NatsCluster::with(["sync_interval: always"])?;
        let shared = TemporaryFolder::with(&["work"]);
        let node = |name: &str| {
            let config = format!(
                "permission_mode = \"all\"\n[fleet]\nurl = {:?}\nmonitor = {:?}\nnode = {name:?}\n\
                 lease_seconds = 30\n[fleet.places]\nwork = {:?}\n",
                nats.url,
                nats.monitors,
                shared.path("work"),
            );
            let world = World::new(SCENARIO, &config);
            let socket = world.path("s").display().to_string();
            let mut process = world.child(&["serve", "--socket", &socket, "--fleet"]);
            assert_eq!(process.json()["type"], "ready");
            Node { world, process }
        };
        let (one, two) = (node("one"), node("two"));
        let mut first = one.acp();
        let session = new_session(&mut first, &shared.path("work"));
        prompt(&mut first, 9, &session, "hello");
        first.until_answer(9);
        two.when_owned_by(&session, "one");
        Some(Self {
            nats,
            shared,
            two,
            session,
            first,
            _one: one,
        })
    }

    /// Kills the server and starts it again.
    fn interrupt(&mut self) {
        self.nats.kill(0);
        self.nats.start_one(0);
    }

    fn omp(&self) -> Child {
        let session = self.session.clone();
        self.two.omp_in(&self.shared.path("work"), &session)
    }

    fn acp(&self) -> Child {
        let mut client = self.two.acp();
        load(&mut client, &self.session, &self.shared.path("work"));
        client
    }
}

/// The long answer.
fn long_answer() -> String {
    (1..=WORDS).map(|n| format!("w{n} ")).collect()
}

/// The text that a client of ACP is sent, among other things.
fn text_of(lines: &[String]) -> String {
    let frames = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let updates = frames.map(|frame| frame["params"]["update"].clone());
    let texts = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    texts
        .map(|update| update["content"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_answer_arrives_once_and_whole_when_nats_is_gone_for_a_while() {
    let Some(mut pair) = Interrupted::new() else {
        return;
    };
    let (mut omp, mut acp) = (pair.omp(), pair.acp());
    let mut synaps = pair.two.client_in(
        &pair.shared.path("work"),
        &["rpc", "--continue", &pair.session],
    );
    synaps.json();
    prompt(&mut acp, 5, &pair.session, "long");
    for _ in 0..2 {
        let mut seen = acp.until(|line| line.contains("w9 "));
        pair.interrupt();
        // What the client asks meanwhile arrives once, too.
        omp.send(r#"{"id":"q","type":"follow_up","message":"and then"}"#);
        seen.extend(acp.until_answer(5));
        assert_eq!(answer(&seen)["result"]["stopReason"], "end_turn");
        let said = text_of(&seen);
        assert!(said.starts_with(&long_answer()), "{said}");
        assert_eq!(said.matches("w150 ").count(), 1, "{said}");
        assert_eq!(said.matches("Answered.").count(), 1, "{said}");

        let frames = omp.until_type("agent_settled");
        let of_kind = |kind: &str| frames.iter().filter(|frame| frame["type"] == kind).count();
        assert_eq!(of_kind("agent_end"), 1, "{frames:#?}");
        assert_eq!(of_kind("notice"), 0, "{frames:#?}");
        let deltas = frames
            .iter()
            .map(|frame| &frame["assistantMessageEvent"])
            .filter(|event| event["type"] == "text_delta");
        let said: String = deltas
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        assert_eq!(said, format!("{}Answered.", long_answer()));

        let lines = synaps.until(|line| line.contains(r#""type":"agent_end""#));
        assert!(!lines.concat().contains(r#""type":"error""#), "{lines:#?}");
        assert_eq!(lines.concat().matches("w150 ").count(), 1, "{lines:#?}");
        prompt(&mut acp, 5, &pair.session, "long");
    }
}

#[test]
fn what_a_client_asks_while_nats_is_gone_is_done_once() {
    let Some(mut pair) = Interrupted::new() else {
        return;
    };
    let mut acp = pair.acp();
    for n in 0..3 {
        pair.nats.kill(0);
        prompt(&mut acp, 5, &pair.session, &format!("run {n}"));
        pair.nats.start_one(0);
        let answered = answer(&acp.until_answer(5));
        assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    }
    let ran = std::fs::read_to_string(pair.shared.path("work/ran.txt")).unwrap();
    assert_eq!(ran, "run 0\nrun 1\nrun 2\n");
    // The session was on its node all the time.
    let owner = pair.two.when(&pair.session, |_| true);
    assert_eq!(
        owner["owner"],
        json!({ "name": "one", "life": owner["owner"]["life"], "gone": false })
    );
    prompt(&mut pair.first, 10, &pair.session, "hello");
    let answered = answer(&pair.first.until_answer(10));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
}

#[test]
fn a_run_goes_on_for_a_client_whose_node_was_cut_off_for_longer_than_its_lease() {
    let Some(fleet) = Fleet::new() else { return };
    let gate = fleet.work().join("gate");
    let scenario = format!(
        "on_exhausted = \"repeat-last\"\n[[turn]]\nwhen = {{ last_user_contains = \"wait\" }}\n\
         steps = [{{ text = \"Begun \" }}, {{ wait_for = {gate:?} }}, {{ text = \"ended.\" }}]\n\
         [[turn]]\ntext = \"Answered.\"\n"
    );
    let link = fleet.link();
    let one = fleet.node("one", &scenario);
    let two = fleet.node_behind(&link, "two", &scenario);
    let mut first = one.acp();
    let session = new_session(&mut first, &fleet.work());
    prompt(&mut first, 9, &session, "hello");
    first.until_answer(9);
    two.when_owned_by(&session, "one");
    let mut omp = two.omp_in(&fleet.work(), &session);
    prompt(&mut first, 10, &session, "wait");
    omp.until(|line| line.contains("Begun"));
    link.cut();
    // Until its node has given it up.
    let socket = one.world.path("s").display().to_string();
    let status = ["serve", "status", "--json", "--socket", &socket];
    while one.world.asked(&status).contains("\"omp\"") {
        std::thread::sleep(PAUSE);
    }
    link.mend();
    // It is said why, and the client is in the session again.
    let mut lines = omp.until(|line| line.contains("the connection to the node one broke"));
    omp.send(r#"{"id":"g","type":"get_state"}"#);
    lines.extend(omp.until(|line| line.contains(r#""id":"g""#)));
    std::fs::write(&gate, "").unwrap();
    lines.extend(omp.until(|line| line.contains("agent_settled")));
    let said = lines.concat();
    assert_eq!(
        said.matches(r#"{"type":"agent_end""#).count(),
        1,
        "{lines:#?}"
    );
    assert!(said.contains("ended."), "{lines:#?}");
    let answered = answer(&first.until_answer(10));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
}
