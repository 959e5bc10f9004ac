//! What a node makes on the servers, and what it does not accept there.

use std::time::Duration;

use async_nats::jetstream::{self, stream};
use rustix::process::{Pid, Signal, kill_process};
use stentor_fleet::settings::FleetSecret;
use stentor_fleet::{Fleet, FleetError, FleetSettings, NodeId, NodeRecord};
use stentor_journal::store::{JournalStore, StoreError};
use stentor_test_support::{NatsCluster, NatsServer};

use crate::writers::{Machine, said};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

const SYNC: &str = "sync_interval: always";
const LAZY: &str = "max_mem: 64M";

fn settings(url: &str) -> FleetSettings {
    FleetSettings {
        url: Some(url.to_owned()),
        node: Some("one".to_owned()),
        ..FleetSettings::default()
    }
}

async fn refused(settings: FleetSettings) -> String {
    match Fleet::connect(settings, "life").await {
        Ok(_) => panic!("it was accepted"),
        Err(why) => why.to_string(),
    }
}

async fn client_of(nats: &NatsServer) -> jetstream::Context {
    jetstream::new(async_nats::connect(&nats.url).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_somebody_made_otherwise_is_not_used() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let made = stream::Config {
        name: "stentor_default_journals".to_owned(),
        subjects: vec!["stentor.default.journal.*".to_owned()],
        storage: stream::StorageType::Memory,
        max_age: Duration::from_secs(60),
        ..stream::Config::default()
    };
    client_of(&nats).await.create_stream(made).await.unwrap();
    let why = refused(settings(&nats.url)).await;
    assert!(why.contains("`stentor_default_journals`"), "{why}");
    assert!(why.contains("in memory only"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_acknowledges_before_it_stores_is_not_used() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let made = stream::Config {
        name: "stentor_default_journals".to_owned(),
        subjects: vec!["stentor.default.journal.*".to_owned()],
        persist_mode: Some(stream::PersistenceMode::Async),
        ..stream::Config::default()
    };
    client_of(&nats).await.create_stream(made).await.unwrap();
    let why = refused(settings(&nats.url)).await;
    assert!(why.contains("`persist_mode`"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_whose_names_come_to_the_same_do_not_share_what_they_have() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let tenant = |prefix: &str, tenant: &str| FleetSettings {
        prefix: prefix.to_owned(),
        tenant: tenant.to_owned(),
        ..settings(&nats.url)
    };
    Fleet::connect(tenant("p", "x_y"), "life").await.unwrap();
    let why = refused(tenant("p_x", "y")).await;
    assert!(why.contains("`p_x_y_journals`"), "{why}");
    assert!(why.contains("p.x_y.journal.*"), "{why}");
    // Who only looks sees nothing of it either.
    let Err(why) = Fleet::open(tenant("p_x", "y")).await else {
        panic!("it was accepted");
    };
    assert!(matches!(why, FleetError::OtherTenant { .. }), "{why}");
    Fleet::open(tenant("p", "x_y")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_looks_makes_nothing() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let Err(why) = Fleet::open(settings(&nats.url)).await else {
        panic!("there is no fleet yet");
    };
    assert!(matches!(why, FleetError::NoFleet { .. }), "{why}");
    let info = client_of(&nats).await.query_account().await.unwrap();
    assert_eq!(info.streams, 0);
    Fleet::connect(settings(&nats.url), "life").await.unwrap();
    Fleet::open(settings(&nats.url)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_of_a_fleet_have_one_lease_and_it_changes_when_no_other_is_there() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let lease = async |seconds| {
        let settings = FleetSettings {
            lease_seconds: seconds,
            ..settings(&nats.url)
        };
        let fleet = Fleet::connect(settings, "life").await.unwrap();
        fleet.lease().as_secs()
    };
    assert_eq!(lease(2).await, 2);
    assert_eq!(lease(200).await, 200);
    let bucket = client_of(&nats).await;
    let bucket = bucket.get_key_value("stentor_default_nodes").await.unwrap();
    assert_eq!(bucket.status().await.unwrap().max_age().as_secs(), 200);
    let other = NodeRecord {
        id: NodeId {
            name: "other".to_owned(),
            life: "1".to_owned(),
        },
        places: Vec::new(),
        folders: [].into(),
        recipes: [].into(),
        capacity: 1,
        sessions: 0,
        draining: false,
        version: String::new(),
        started_ms: 0,
    };
    let record = serde_json::to_vec(&other).unwrap();
    bucket.put("other", record.into()).await.unwrap();
    assert_eq!(lease(100).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_server_that_holds_journals_must_be_seen_to_sync() {
    for (jetstream, is_synced) in [([SYNC; 3], true), ([SYNC, LAZY, LAZY], false)] {
        let Some(nats) = NatsCluster::with(jetstream) else {
            return;
        };
        let (one, _) = nats.monitors.split_once(',').unwrap();
        let checked = async |monitor: &str| {
            let settings = FleetSettings {
                replicas: Some(3),
                monitor: Some(monitor.to_owned()),
                ..settings(&nats.url)
            };
            // The servers may be choosing a leader.
            let fleet = loop {
                match Fleet::connect(settings.clone(), "life").await {
                    Ok(fleet) => break fleet,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            };
            loop {
                match fleet.check_durability().await {
                    Err(FleetError::Nats { .. }) => tokio::time::sleep(PAUSE).await,
                    checked => return checked.map_err(|why| why.to_string()),
                }
            }
        };
        let why = checked(one).await.unwrap_err();
        assert!(why.contains("holds journals"), "{why}");
        match checked(&nats.monitors).await {
            Ok(()) => assert!(is_synced),
            Err(why) => assert!(!is_synced && why.contains("on its disk"), "{why}"),
        }
    }
}

/// The permissions that the documentation gives a user.
fn permissions(tenant: &str) -> String {
    let text = include_str!("../../../../docs/fleet.md");
    let (_, text) = text.split_once("```text\npermissions {").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    format!("permissions {{{}", text.replace("TENANT", tenant))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_of_the_documentation_are_enough_and_end_at_the_tenant() {
    let users = format!(
        "authorization {{ users: [ {{ user: u, password: p, {} }}, {{ user: v, password: p, {} }} ] }}",
        permissions("t"),
        permissions("v")
    );
    let Some(nats) = NatsServer::configured(SYNC, &users, &[]) else {
        return;
    };
    let user = |user: &str, tenant: &str| FleetSettings {
        user: Some(user.to_owned()),
        password: Some(FleetSecret::new("p".to_owned())),
        tenant: tenant.to_owned(),
        ..settings(&nats.url)
    };
    let one = Machine::with(user("u", "t"), "one").await;
    let two = Machine::with(user("u", "t"), "two").await;
    let mut first = one.create("session-1");
    first.append(&said("a", "before")).unwrap();
    first.sync().await.unwrap();
    // Whoever follows the directory sees it.
    let follow = tokio::spawn({
        let fleet = two.store.fleet().clone();
        async move { fleet.follow().await }
    });
    while two.store.fleet().session("session-1").is_none() {
        tokio::time::sleep(PAUSE).await;
    }
    follow.abort();
    let second = two.open("session-1").await.unwrap();
    assert_eq!(second.read_all().unwrap().len(), 1);
    let path = second.path().unwrap().to_owned();
    drop((first, second));
    let store = two.store.clone();
    let removed = tokio::task::spawn_blocking(move || store.remove(&path));
    removed.await.unwrap().unwrap();

    let client = async_nats::ConnectOptions::new()
        .user_and_password("v".to_owned(), "p".to_owned())
        .custom_inbox_prefix("_INBOX.stentor.v")
        .request_timeout(Some(Duration::from_secs(1)));
    let client = client.connect(&nats.url).await.unwrap();
    let foreign = jetstream::new(client);
    assert!(foreign.get_stream("stentor_t_journals").await.is_err());
    Fleet::connect(user("v", "v"), "life").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_that_the_fleet_does_not_acknowledge_is_refused() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let short = FleetSettings {
        lease_seconds: 1,
        ..settings(&nats.url)
    };
    let machine = Machine::with(short, "one").await;
    let pid = Pid::from_raw(i32::try_from(nats.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let Err(why) = machine.try_create("session-1") else {
        panic!("nothing has acknowledged it");
    };
    assert!(matches!(why, StoreError::Unacknowledged { .. }), "{why}");
    kill_process(pid, Signal::CONT).unwrap();
    // The connection may have to be made anew.
    let mut tries = (2..).map(|number| machine.try_create(&format!("session-{number}")));
    tries.find_map(Result::ok).unwrap().sync().await.unwrap();
}
