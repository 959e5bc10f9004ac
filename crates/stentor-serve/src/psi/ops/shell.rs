//! Commands of the user.

use crate::psi::payload;
use crate::psi::request::{Call, Done, Handled};

/// Runs a command of the user; nothing waits for it.
pub(in crate::psi) async fn bash(call: &mut Call<'_>) -> Handled {
    let command = call.params.filled("command")?.to_owned();
    let excluded = call
        .params
        .get("exclude-from-context")
        .is_some_and(|value| value.is_truthy());
    let live = call.target().await?;
    call.answerer.later(async move {
        let ran = live.session.bash(command, excluded).await;
        let result = ran?.result;
        let file = result.full_output_path.as_ref();
        let data = payload::map(|data| {
            data.field("output", &result.output)
                .field("exit-code", &result.exit_code)
                .field("cancelled", &result.cancelled)
                .field("truncated", &result.truncated)
                .field("full-output-path", &file.map(|file| file.to_string_lossy()));
        });
        Ok(Done::data(data).of(&live))
    })
}

pub(in crate::psi) async fn abort_bash(call: &mut Call<'_>) -> Handled {
    let live = call.target().await?;
    live.session.abort_bash().await?;
    call.accept(&live)
}
