//! What an MCP server that floods costs. Alone in its process, so that the memory is its own.
#![cfg(target_os = "linux")]

#[cfg(test)]
#[expect(
    dead_code,
    reason = "the stage is shared with the other tests of MCP servers"
)]
#[path = "mcp/stage.rs"]
mod stage;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::stage::{Stage, asked, server};
    use stentor_model::script::Scenario;

    /// The longest message a server may send, and what is held of it while it is read.
    const MOST_BYTES: usize = 40 * 1024 * 1024;

    #[tokio::test]
    async fn floods_are_dropped_as_they_come() {
        let before = most_resident_bytes();
        // 200 kB in a second and as much as it can write in a second are the same here.
        let (_, seen) = asked(server("floods"), "mcp__s__echo", json!({})).await;
        assert_eq!(seen.answer(), "It said: echo: {}");
        for mode in ["line-without-end", "only-garbage", "million-tools-at-once"] {
            let mut server = server(mode);
            server.restarts = 0;
            let stage = Stage::new(Scenario::new().text("hello"));
            let mut play = stage.play(vec![server]);
            play.warned("given up").await;
        }
        let grown = most_resident_bytes() - before;
        assert!(grown < MOST_BYTES, "{grown}");
    }

    /// The most memory this process ever held.
    fn most_resident_bytes() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        kilobytes.unwrap().parse::<usize>().unwrap() * 1024
    }
}
