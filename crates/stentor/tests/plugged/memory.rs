//! What many open sessions take.

use serde_json::json;

use crate::world::World;

const SESSIONS: usize = 300;

/// What an open session may take. Schemas of tools and other things all sessions have are shared.
const SESSION_BYTES: usize = 100 * 1024;

#[test]
fn acp_sessions_share_what_they_have_alike() {
    let world = World::new("[[turn]]\ntext = \"hi\"\n", "");
    let (mut child, _) = world.acp(json!({}));
    let before = child.resident();
    for id in 10..10 + SESSIONS as u64 {
        let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
        child.ask_acp(id, "session/new", new);
    }
    let grown = child.resident().saturating_sub(before);
    assert!(grown < SESSIONS * SESSION_BYTES, "{grown} bytes");
    child.end();
}
