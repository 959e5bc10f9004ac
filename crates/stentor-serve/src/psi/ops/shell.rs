//! Commands of the user.

use crate::psi::connection::{Ask, Connection, Done, Handled};
use crate::psi::payload;

/// Runs a command of the user; nothing waits for it.
pub(in crate::psi) async fn bash(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let command = ask.params.filled("command")?.to_owned();
    let excluded = ask
        .params
        .get("exclude-from-context")
        .is_some_and(|value| value.is_truthy());
    let live = connection.target(ask).await?;
    ask.answerer.later(async move {
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

pub(in crate::psi) async fn abort_bash(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    live.session.abort_bash().await?;
    Done::accepted().of(&live).into()
}
