//! Commands of the user.

use crate::psi::request::{OpCall, OpDone, OpResult};

/// Runs a command of the user; nothing waits for it.
pub async fn bash(call: &mut OpCall<'_>) -> OpResult {
    let command = call.params.filled("command")?.to_owned();
    let excluded = call.params.get("exclude-from-context");
    let excluded = excluded.is_some_and(|value| value.is_truthy());
    let live = call.target().await?;
    call.answerer.later(async move {
        let result = live.session.bash(command, excluded).await?.result;
        let file = result.full_output_path.as_ref();
        let done = OpDone::map(&[
            ("output", &result.output),
            ("exit-code", &result.exit_code),
            ("cancelled", &result.cancelled),
            ("truncated", &result.truncated),
            ("full-output-path", &file.map(|file| file.to_string_lossy())),
        ]);
        Ok(done.of(&live))
    })
}

pub async fn abort_bash(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    live.session.abort_bash().await?;
    OpDone::accepted().of(&live).into()
}
