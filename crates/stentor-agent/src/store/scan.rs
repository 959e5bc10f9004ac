//! Questions about the whole file, answered line by line in flat memory.

use std::borrow::Cow;
use std::io;

use serde::Deserialize;

use super::bytes::{Bytes, LinesForward};
use super::entry::{Entry, EntryKind};
use super::journal::Totals;
use super::line::trimmed;

/// Hands every entry before `end` to `visit`, in append order.
pub(super) fn each_entry<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    mut visit: impl FnMut(Entry),
) -> io::Result<()> {
    let mut lines = LinesForward::until(bytes, end);
    while let Some((_, line, _)) = lines.next()? {
        if let Some(entry) = Entry::from_line(line) {
            visit(entry);
        }
    }
    Ok(())
}

/// Id and text of every user message that has text.
pub(super) fn user_messages<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
) -> io::Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    each_message(bytes, end, |role, line| {
        if role == "user"
            && let Some(entry) = Entry::from_line(line)
            && let EntryKind::Message { message } = &entry.kind
            && let Some(user) = message.as_user()
        {
            let text = user.content.text();
            if !text.is_empty() {
                texts.push((entry.id, text));
            }
        }
    })?;
    Ok(texts)
}

/// Sums over all messages, as [`Totals::count`] of each gives them.
pub(super) fn totals<B: Bytes + ?Sized>(bytes: &B, end: u64) -> io::Result<Totals> {
    let mut totals = Totals::default();
    each_message(bytes, end, |role, line| match role {
        // Results are the bulk of a file, and of them only the number matters.
        "toolResult" => {
            totals.messages += 1;
            totals.tool_results += 1;
        }
        _ => {
            if let Some(entry) = Entry::from_line(line)
                && let EntryKind::Message { message } = &entry.kind
            {
                totals.count(message);
            }
        }
    })?;
    Ok(totals)
}

/// Hands every message line and its role to `visit`.
fn each_message<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    mut visit: impl FnMut(&str, &[u8]),
) -> io::Result<()> {
    #[derive(Deserialize)]
    struct Glance<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(borrow)]
        message: MessageGlance<'a>,
    }
    #[derive(Deserialize)]
    struct MessageGlance<'a> {
        #[serde(borrow)]
        role: Cow<'a, str>,
    }
    let mut lines = LinesForward::until(bytes, end);
    while let Some((_, line, _)) = lines.next()? {
        if let Ok(glance) = serde_json::from_slice::<Glance>(trimmed(line))
            && glance.kind == "message"
        {
            visit(&glance.message.role, line);
        }
    }
    Ok(())
}
