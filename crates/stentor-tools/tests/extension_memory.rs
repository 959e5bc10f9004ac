//! What an extension that floods costs. Alone in its process, so that the memory is its own.
#![cfg(target_os = "linux")]

#[cfg(test)]
#[expect(
    dead_code,
    reason = "the stage is shared with the other tests of extensions"
)]
#[path = "extensions/stage.rs"]
mod stage;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::stage::{Stage, fault, runs};

    /// Far below the 45 MB that the extension writes.
    const MOST_BYTES: usize = 24 * 1024 * 1024;

    #[tokio::test]
    async fn a_line_without_end_is_dropped_as_it_comes() {
        let mut spec = fault("no-newline");
        // It answers nothing until all of it has been read.
        spec.timeout = Duration::from_secs(60);
        let mut stage = Stage::new(runs("echo fine"), vec![spec]);
        let before = most_resident_bytes();
        let seen = stage.run("go").await;
        assert_eq!(seen.answer(), "It said: fine\n");
        // All of it was read, and the hook that waited meanwhile was not left waiting.
        let failures = seen.failures();
        let at: Vec<&str> = failures.iter().map(|(event, _)| event.as_str()).collect();
        assert_eq!(at, ["output", "prompt/before"], "{failures:?}");
        assert!(failures[0].1.contains("longer than 4194304 bytes"));
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
