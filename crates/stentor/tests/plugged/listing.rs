//! Looking for a session reads those that are shown, however many there are.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::fs::inotify;
use serde_json::{Value, json};

use crate::world::World;

/// Far more than any list shows.
const STORED: u64 = 300;

/// A world with stored sessions. The newest has the number 0, and each is named by its number.
struct Stored {
    world: World,
    folder: PathBuf,
    /// Tells which files are opened.
    opened: OwnedFd,
}

impl Stored {
    fn new() -> Self {
        let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
        let first = one_session(&world);
        let folder = first.parent().unwrap().to_path_buf();
        let text = fs::read_to_string(&first).unwrap();
        let name = first.file_name().unwrap().to_str().unwrap();
        let (time, id) = name
            .strip_suffix(".jsonl")
            .and_then(|name| name.rsplit_once('_'))
            .unwrap();
        fs::remove_file(&first).unwrap();
        let now = SystemTime::now();
        for n in 0..STORED {
            let other = format!("{}{n:04}", &id[..id.len() - 4]);
            let name = json!({ "type": "session_info", "id": "feedface", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z", "name": format!("number {n}") });
            let text = format!("{}{name}\n", text.replace(id, &other));
            let path = folder.join(format!("{time}_{other}.jsonl"));
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(1 + n)).unwrap();
        }
        let opened = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&opened, &folder, inotify::WatchFlags::OPEN).unwrap();
        Self {
            world,
            folder,
            opened,
        }
    }

    /// The numbers of the sessions that were looked into since the last time.
    fn looked_into(&self) -> BTreeSet<u64> {
        let mut space = [MaybeUninit::uninit(); 64 * 1024];
        let mut events = inotify::Reader::new(&self.opened, &mut space);
        let mut numbers = BTreeSet::new();
        while let Ok(event) = events.next() {
            let name = event.file_name().and_then(|name| name.to_str().ok());
            let name = name.and_then(|name| name.strip_suffix(".jsonl"));
            numbers.extend(name.map(|name| name[name.len() - 4..].parse::<u64>().unwrap()));
        }
        numbers
    }
}

/// Asks something, and returns the file that it was kept in.
fn one_session(world: &World) -> PathBuf {
    world.asked(&["-p", "hi"]);
    let mut folders = vec![world.path("home")];
    while let Some(folder) = folders.pop() {
        for child in fs::read_dir(folder).unwrap() {
            let path = child.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                return path;
            }
        }
    }
    panic!("nothing was kept");
}

fn numbers(range: std::ops::RangeInclusive<u64>) -> BTreeSet<u64> {
    range.collect()
}

#[test]
fn acp_reads_the_page_it_lists_and_the_one_behind_it() {
    let stored = Stored::new();
    let mut child = stored.world.child(&["acp"]);
    child.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let cwd = stored.world.path("work");
    stored.looked_into();
    let page = child.ask_acp(2, "session/list", json!({ "cwd": cwd }));
    let page: Value = serde_json::from_str(page.last().unwrap()).unwrap();
    assert_eq!(page["result"]["sessions"].as_array().unwrap().len(), 50);
    assert_eq!(stored.looked_into(), numbers(0..=50));
    let next = json!({ "cwd": cwd, "cursor": page["result"]["nextCursor"] });
    let page = child.ask_acp(3, "session/list", next);
    let page: Value = serde_json::from_str(page.last().unwrap()).unwrap();
    assert_eq!(page["result"]["sessions"][0]["title"], "number 50");
    assert_eq!(stored.looked_into(), numbers(50..=100));
    child.end();
}

#[test]
fn the_command_line_goes_on_with_the_newest_and_reads_no_other() {
    let stored = Stored::new();
    stored.world.asked(&["-p", "hi", "-c"]);
    assert_eq!(stored.looked_into(), numbers(0..=0));
}

#[test]
fn psi_reads_as_many_as_it_offers() {
    let stored = Stored::new();
    let mut child = stored.world.child(&["--rpc-edn"]);
    child.shake_hands_psi();
    let topics = r#"{:topics ["ui/frontend-action-requested"]}"#;
    child.ask_psi("t", "subscribe", topics);
    stored.looked_into();
    let lines = child.ask_psi("c", "command", r#"{:text "/resume"}"#);
    let offered = lines.concat();
    assert!(offered.contains("number 199\""), "{offered}");
    assert!(!offered.contains("number 200\""), "{offered}");
    assert_eq!(stored.looked_into(), numbers(0..=199));
    let query = r#"{:query "[{:psi.persisted-session/list [:psi.session-info/name]}]"}"#;
    let listed = child.ask_psi("q", "query_eql", query);
    assert_eq!(listed.concat().matches("number ").count(), 200);
    assert_eq!(stored.looked_into(), numbers(0..=199));
    child.end();
}

#[test]
fn synaps_finds_a_name_without_reading_what_is_older() {
    let stored = Stored::new();
    let words = ["rpc", "--continue", "number 3"];
    let mut child = stored.world.child(&words);
    assert_eq!(child.json()["type"], "ready");
    assert_eq!(stored.looked_into(), numbers(0..=3));
    child.end();
    assert!(stored.folder.is_dir());
}
