//! Questions about the whole file, answered line by line in flat memory.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use serde::Deserialize;

use super::bytes::{Bytes, LinesForward};
use super::entry::{Entry, EntryKind};
use super::journal::{CONSUMED_BY_SUMMARY, CONSUMED_BY_TOOLS, Totals};
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

/// Sums over all entries, as [`Totals::count_entry`] of each gives them.
pub(super) fn totals<B: Bytes + ?Sized>(bytes: &B, end: u64) -> io::Result<Totals> {
    let mut totals = Totals::default();
    each_line(bytes, 0..end, |glance, line| {
        let is_result = glance.kind == "message" && glance.role() == "toolResult";
        if is_result {
            // Results are the bulk of a file, and of them only the number matters.
            totals.messages += 1;
            totals.tool_results += 1;
        } else if (glance.kind == "message" || glance.is_consumption())
            && let Some(entry) = Entry::from_line(line)
        {
            totals.count_entry(&entry.kind);
        }
    })?;
    Ok(totals)
}

/// Hands every entry in a range that consumed tokens to `visit`, in append order.
pub(super) fn each_consuming_entry<B: Bytes + ?Sized>(
    bytes: &B,
    range: Range<u64>,
    mut visit: impl FnMut(Entry),
) -> io::Result<()> {
    each_line(bytes, range, |glance, line| {
        let is_answer = glance.kind == "message" && glance.role() == "assistant";
        if (is_answer || glance.is_consumption())
            && let Some(entry) = Entry::from_line(line)
        {
            visit(entry);
        }
    })
}

/// What one must know of a line to decide whether to read it.
#[derive(Deserialize)]
struct LineGlance<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<MessageGlance<'a>>,
    #[serde(borrow, default, rename = "customType")]
    custom_type: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MessageGlance<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
}

impl LineGlance<'_> {
    fn role(&self) -> &str {
        self.message.as_ref().map_or("", |message| &message.role)
    }

    fn is_consumption(&self) -> bool {
        let kinds = [CONSUMED_BY_TOOLS, CONSUMED_BY_SUMMARY];
        let custom_type = self.custom_type.as_deref();
        self.kind == "custom" && custom_type.is_some_and(|name| kinds.contains(&name))
    }
}

/// Hands every message line and its role to `visit`.
fn each_message<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    mut visit: impl FnMut(&str, &[u8]),
) -> io::Result<()> {
    each_line(bytes, 0..end, |glance, line| {
        if glance.kind == "message" {
            visit(glance.role(), line);
        }
    })
}

fn each_line<B: Bytes + ?Sized>(
    bytes: &B,
    range: Range<u64>,
    mut visit: impl FnMut(&LineGlance<'_>, &[u8]),
) -> io::Result<()> {
    let mut lines = LinesForward::within(bytes, range);
    while let Some((_, line, _)) = lines.next()? {
        if let Ok(glance) = serde_json::from_slice::<LineGlance>(trimmed(line)) {
            visit(&glance, line);
        }
    }
    Ok(())
}
