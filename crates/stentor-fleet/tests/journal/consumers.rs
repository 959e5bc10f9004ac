//! What reading the fleet leaves on the servers: a stream has room for a limited number of consumers.

use async_nats::jetstream;
use stentor_test_support::NatsServer;

use crate::writers::{Machine, said};

async fn consumers(machine: &Machine, stream: &str) -> usize {
    let jetstream = jetstream::new(machine.store.fleet().client().clone());
    let mut stream = jetstream.get_stream(stream).await.unwrap();
    stream.info().await.unwrap().state.consumer_count
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_read_the_directory_or_a_journal_leaves_no_consumer() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (one, two) = (
        Machine::new(&nats, "one").await,
        Machine::new(&nats, "two").await,
    );
    let mut first = one.create("session-1");
    first.append(&said("a", "before")).unwrap();
    first.sync().await.unwrap();
    for _ in 0..3 {
        one.store.fleet().look().await.unwrap();
    }
    let second = two.open("session-1").await.unwrap();
    assert_eq!(second.read_all().unwrap().len(), 1);
    assert_eq!(two.store.fleet().sessions().len(), 1);
    for stream in [
        "KV_stentor_default_nodes",
        "KV_stentor_default_sessions",
        "stentor_default_journals",
    ] {
        assert_eq!(consumers(&one, stream).await, 0, "{stream}");
    }
}
