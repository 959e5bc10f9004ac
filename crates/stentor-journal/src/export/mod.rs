//! A session as a web page a person likes to read.
//!
//! One file without scripts and without anything from elsewhere: it can be mailed, archived and
//! opened offline. Everything in it comes from outside (people, models, files, programs), so
//! everything is escaped, and the page's own policy forbids scripts and foreign resources besides.

mod block;
mod escape;
pub mod fragment;
mod highlight;
mod markdown;
mod message;
mod plot;
mod session;
mod summary;
mod tool;
mod transcript;

use std::sync::Arc;

use crate::message::Message;

pub use escape::Html;
pub use session::{session_json, session_markdown, session_page};

use message::ExportedConversation;
use summary::Summary;

/// What stands above the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportHeader {
    /// The session's name; without one, the first prompt is the title.
    pub title: Option<String>,
    pub id: String,
    pub cwd: String,
    /// When the session began, in milliseconds since the epoch.
    pub created_ms: Option<u64>,
    /// The model in use, as `provider/id`. The models that answered are found in the messages.
    pub model: Option<String>,
}

/// The page for a conversation.
pub fn render_html(header: &ExportHeader, messages: &[Arc<Message>]) -> String {
    let conversation = ExportedConversation::new(messages);
    let prompts = conversation.prompts();
    let title = title(header, &prompts);
    let mut page = Html::new();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
    page.element("title", "", &title);
    page.raw("\n<style>\n")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
    if prompts.len() > 1 {
        navigation(&mut page, &prompts);
    }
    page.raw("<main>\n<header class=\"page\">\n");
    page.element("h1", "", &title).raw("\n");
    Summary::of(messages).render(header, &mut page);
    plot::render(messages.iter().map(AsRef::as_ref), &mut page);
    page.raw(FILTERS).raw("</header>\n");
    conversation.render(&mut page);
    page.raw("</main>\n</body>\n</html>\n");
    page.finish()
}

/// How it looks.
pub const STYLE: &str = include_str!("style.css");

/// What can be hidden, by the style alone. Everything is in the page, so the browser's own search
/// finds it, and opens what is folded.
const FILTERS: &str = "<p class=\"filters\">\
<label><input type=\"checkbox\" id=\"no-tools\"> hide tool calls</label> \
<label><input type=\"checkbox\" id=\"no-thinking\"> hide thinking</label> \
<label><input type=\"checkbox\" id=\"only-failed\"> only failed calls</label> \
<span>Search with the browser (Ctrl+F).</span></p>\n";

/// A prompt and the anchor it stands at.
struct PromptAnchor {
    anchor: usize,
    text: String,
}

fn title(header: &ExportHeader, prompts: &[PromptAnchor]) -> String {
    let named = header.title.as_deref().map(str::trim);
    let named = named.filter(|title| !title.is_empty());
    let first = prompts.first().map(|prompt| first_line(&prompt.text, 80));
    match (named, first) {
        (Some(title), _) => title.to_owned(),
        (None, Some(first)) if !first.is_empty() => first,
        (None, _) => "Session".to_owned(),
    }
}

fn navigation(page: &mut Html, prompts: &[PromptAnchor]) {
    page.raw("<nav aria-label=\"Prompts\">\n<ol>\n");
    for prompt in prompts {
        page.raw("<li>")
            .raw(&format!("<a href=\"#m{}\">", prompt.anchor))
            .text(&first_line(&prompt.text, 80))
            .raw("</a></li>\n");
    }
    page.raw("</ol>\n</nav>\n");
}

/// The first line that says something, cut where it gets too long.
fn first_line(text: &str, longest: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
