//! Outputs that were kept whole are not kept for ever.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::bash;
use crate::dialects::{self, ALL};
use crate::world::World;

const HOUR: Duration = Duration::from_secs(60 * 60);
const FOLDER: &str = "home/.local/share/stentor/output";

fn output(world: &World, name: &str, hours: u32, bytes: u64) {
    let name = format!("{FOLDER}/{name}");
    world.file(&name, "");
    let file = File::options().write(true).open(world.path(&name)).unwrap();
    // It takes no room on the disk.
    file.set_len(bytes).unwrap();
    file.set_modified(SystemTime::now() - HOUR * hours).unwrap();
}

#[test]
fn old_outputs_and_the_oldest_of_too_many_go_when_a_session_starts() {
    const GIB: u64 = 1 << 30;
    // The command waits for what happens beside it.
    let wait = "cd ~/.local/share/stentor/output; \
        while [ -e bash-old.log ] || [ -e bash-many.log ]; do sleep 0.01; done; ls";
    for dialect in ALL {
        let world = World::new(&bash(wait), "permission_mode = \"all\"\n");
        output(&world, "bash-old.log", 24 * 8, 10);
        output(&world, "bash-many.log", 48, GIB);
        output(&world, "bash-recent.log", 24, GIB);
        output(&world, "bash-new.log", 2, GIB / 2);
        output(&world, "notes.txt", 24 * 30, 10);
        let said = dialects::answer(&world, dialect);
        assert_eq!(
            said, "bash-new.log\nbash-recent.log\nnotes.txt",
            "{dialect}"
        );
    }
}
