//! Cursors, which are ours: where a client is in the events of a session that it shares, and how it
//! goes on from there over another connection.

use stentor_agent::hub::{Cursor, CursorMissed};
use stentor_wire::edn::EdnWriter;

use super::error::OpError;
use super::live::PsiSession;
use super::params::{OpParams, either};

/// The cursor that a client gives, as `{:epoch "…" :number 7}`.
pub(super) fn given(params: OpParams<'_>) -> Result<Option<Cursor>, OpError> {
    let Some(cursor) = params.get("cursor") else {
        return Ok(None);
    };
    let epoch = either(cursor, "epoch").and_then(|epoch| epoch.as_str());
    let number = either(cursor, "number").and_then(|number| number.as_i64());
    let number = number.and_then(|number| u64::try_from(number).ok());
    let (epoch, number) = epoch
        .zip(number)
        .ok_or_else(|| OpError::params(":cursor must be a map with :epoch and :number"))?;
    let epoch = epoch.into();
    Ok(Some(Cursor { epoch, number }))
}

/// What became of the cursor that a client gave.
pub(super) fn outcome<T>(result: &Result<T, CursorMissed>) -> &'static str {
    match result {
        Ok(_) => "resumed",
        Err(CursorMissed::OtherEpoch) => "other-epoch",
        Err(CursorMissed::TooOld) => "too-old",
    }
}

/// Writes where a session that is shared is now.
pub(super) fn write(data: &mut EdnWriter<'_>, live: &PsiSession, outcome: Option<&str>) {
    if !live.session.is_shared() {
        return;
    }
    let cursor = live.session.cursor();
    data.key("cursor").map(|map| {
        map.field("epoch", &*cursor.epoch)
            .field("number", &cursor.number)
            .field_if_some("outcome", outcome);
    });
}
