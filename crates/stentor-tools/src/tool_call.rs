//! From the arguments of a call to its outcome: what all tools do the same way.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stentor_agent::tasks;
use stentor_agent::tool::{ToolFuture, ToolOutput};
use tokio_util::sync::CancellationToken;

use crate::tool_error::ToolError;

/// Makes the outcome of a call out of work that may fail.
pub(crate) fn outcome(
    work: impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
) -> ToolFuture {
    Box::pin(async move { work.await.unwrap_or_else(ToolOutput::from) })
}

/// The arguments in the tool's own type.
pub(crate) fn arguments<T: DeserializeOwned>(
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        ToolError::refused(format!("Invalid arguments for tool \"{tool}\": {error}"))
    })
}

/// Runs `work` where it may block, and does not wait for it once the call is cancelled.
///
/// Work that can take long looks at the token itself, so that its thread comes free soon after.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if cancel.is_cancelled() {
        return Err(ToolError::Aborted);
    }
    let work = tasks::spawn_blocking(work);
    tokio::select! {
        () = cancel.cancelled() => Err(ToolError::Aborted),
        done = work => match done {
            Ok(result) => result,
            Err(error) => Err(ToolError::refused(format!("the tool failed: {error}"))),
        },
    }
}

/// A count or line number a model gave, which may have come as a fraction.
pub(crate) fn whole_number(
    name: &str,
    number: Option<f64>,
    least: u64,
) -> Result<Option<u64>, ToolError> {
    let Some(number) = number else {
        return Ok(None);
    };
    if !number.is_finite() || number.floor() < least as f64 {
        return Err(ToolError::refused(format!(
            "Invalid {name}: {number}. It must be a number of at least {least}."
        )));
    }
    // A float beyond u64 saturates, which is as good as endless here.
    Ok(Some(number.floor() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_down_and_nonsense_is_refused() {
        for (given, expected) in [
            (None, Ok(None)),
            (Some(3.0), Ok(Some(3))),
            (Some(3.9), Ok(Some(3))),
            (Some(1e300), Ok(Some(u64::MAX))),
            (
                Some(0.5),
                Err("Invalid limit: 0.5. It must be a number of at least 1."),
            ),
            (
                Some(-2.0),
                Err("Invalid limit: -2. It must be a number of at least 1."),
            ),
        ] {
            let result = whole_number("limit", given, 1).map_err(|fault| fault.to_string());
            assert_eq!(result, expected.map_err(str::to_owned));
        }
    }
}
