//! A page of HTML as Markdown, in one pass over its tags.
//!
//! No tree is built: a page may nest as deep as it likes, leave its tags open or close what it never
//! opened, and costs a time that grows with its length and nothing else. What a reader does not see
//! (scripts, styles, drawings) is left out, and where the page says which part is its main one, so is
//! the rest.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

use super::location::MAX_URL_BYTES;

mod writer;

use writer::MarkdownWriter;

/// A page as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HtmlPage {
    pub title: Option<String>,
    pub markdown: String,
}

/// Elements whose content is not for readers.
const UNSEEN: [&str; 13] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "math",
    "select", "textarea", "audio", "video",
];

/// What a page says in its main part must be at least this much, else the whole page counts.
const MAIN_BYTES: usize = 200;

/// Markdown beyond this is left out: indentation must not make much out of little.
const MAX_MARKDOWN_BYTES: usize = 16 << 20;

/// Titles are one line.
const MAX_TITLE_CHARS: usize = 300;

/// Makes Markdown of a page. Its links are relative to `base`.
pub(super) fn to_markdown(html: &str, base: &Url) -> HtmlPage {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = HtmlReader {
        writer: MarkdownWriter::default(),
        base: base.clone(),
        unseen: None,
        title: None,
        in_title: false,
        main: MainPart::NotSeen,
    };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if page.writer.len() > MAX_MARKDOWN_BYTES {
            break;
        }
    }
    page.finish()
}

/// Where the main part of a page is in what was written.
#[derive(Debug, Clone, Copy)]
enum MainPart {
    NotSeen,
    From(usize),
    Between(usize, usize),
}

struct HtmlReader {
    writer: MarkdownWriter,
    base: Url,
    /// The element whose content is left out, and how many of its name are open.
    unseen: Option<(String, usize)>,
    title: Option<String>,
    in_title: bool,
    main: MainPart,
}

impl HtmlReader {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some((unseen, open)) = &mut self.unseen {
            *open += usize::from(unseen == name && !tag.self_closing);
            return;
        }
        if UNSEEN.contains(&name) {
            if !tag.self_closing {
                self.unseen = Some((name.to_owned(), 1));
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" => self.in_title = self.title.is_none(),
            "base" => {
                let url = attribute(tag, "href").and_then(|to| self.base.join(&to).ok());
                // Every link would repeat it.
                if let Some(url) = url.filter(|url| url.as_str().len() <= MAX_URL_BYTES) {
                    self.base = url;
                }
            }
            "main" => {
                writer.block();
                if matches!(self.main, MainPart::NotSeen) {
                    self.main = MainPart::From(writer.settle());
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => writer.heading(level(name)),
            "ul" => writer.list(None),
            "ol" => {
                let first = attribute(tag, "start").and_then(|text| text.parse().ok());
                writer.list(Some(first.unwrap_or(1)));
            }
            "li" => writer.item(),
            "blockquote" => writer.quote(),
            "pre" => writer.preformatted(language(tag)),
            "code" | "kbd" | "samp" | "tt" => writer.code(language(tag)),
            "b" | "strong" => writer.strong(),
            "i" | "em" => writer.emphasis(),
            "a" => {
                let target = attribute(tag, "href").and_then(|to| self.link(&to));
                self.writer.link(target);
            }
            "img" => {
                let alt = attribute(tag, "alt").unwrap_or_default();
                let source = attribute(tag, "src").and_then(|to| self.link(&to));
                if let (false, Some(source)) = (alt.trim().is_empty(), source) {
                    self.writer.image(&alt, &source);
                }
            }
            "br" => writer.line(),
            "hr" => writer.rule(),
            "table" => writer.table(),
            "tr" => writer.row(),
            "td" | "th" => writer.cell(),
            name if is_block(name) => writer.block(),
            name if is_line(name) => writer.line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((unseen, open)) = &mut self.unseen {
            if unseen == name {
                *open -= 1;
                if *open == 0 {
                    self.unseen = None;
                }
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" => self.in_title = false,
            "main" => {
                writer.block();
                if let MainPart::From(from) = self.main {
                    self.main = MainPart::Between(from, writer.len());
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => writer.block(),
            "ul" | "ol" => writer.end_list(),
            "li" => writer.line(),
            "blockquote" => writer.end_quote(),
            "pre" => writer.end_preformatted(),
            "code" | "kbd" | "samp" | "tt" => writer.end_code(),
            "b" | "strong" => writer.end_strong(),
            "i" | "em" => writer.end_emphasis(),
            "a" => writer.end_link(),
            "table" => writer.end_table(),
            "tr" => writer.end_row(),
            "td" | "th" => writer.end_cell(),
            name if is_block(name) => writer.block(),
            name if is_line(name) => writer.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.unseen.is_some() {
            return;
        }
        if self.in_title {
            let title = self.title.get_or_insert_default();
            let left = MAX_TITLE_CHARS.saturating_sub(title.chars().count());
            title.extend(text.chars().take(left));
            return;
        }
        self.writer.text(text);
    }

    fn finish(self) -> HtmlPage {
        let end = self.writer.len();
        let whole = self.writer.finish();
        let main = match self.main {
            MainPart::NotSeen => None,
            MainPart::From(from) => whole.get(from..),
            MainPart::Between(from, to) => whole.get(from..to.min(end)),
        };
        let main = main.map(str::trim).filter(|main| main.len() >= MAIN_BYTES);
        let title = self.title.map(|title| {
            let words: Vec<&str> = title.split_whitespace().collect();
            words.join(" ")
        });
        HtmlPage {
            title: title.filter(|title| !title.is_empty()),
            markdown: main.unwrap_or(whole.trim()).to_owned(),
        }
    }

    /// Where a link leads, if that is somewhere else on the web.
    fn link(&self, to: &str) -> Option<String> {
        let to = to.trim();
        if to.is_empty() || to.starts_with('#') || to.len() > MAX_URL_BYTES {
            return None;
        }
        let url = self.base.join(to).ok()?;
        let is_web = ["http", "https", "mailto"].contains(&url.scheme());
        is_web.then(|| url.to_string())
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The language of code, as highlighters have it in the class.
fn language(tag: &StartTag<()>) -> Option<String> {
    let class = attribute(tag, "class")?;
    let mut classes = class.split_whitespace();
    let name = classes.find_map(|class| {
        class
            .strip_prefix("language-")
            .or_else(|| class.strip_prefix("lang-"))
            .or_else(|| class.strip_prefix("highlight-source-"))
    })?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+#-_.".contains(c);
    (name.len() <= 20 && name.chars().all(is_plain)).then(|| name.to_owned())
}

fn level(name: &str) -> usize {
    let digit = name.chars().last().and_then(|digit| digit.to_digit(10));
    digit.map_or(1, |digit| digit as usize)
}

/// Elements with a blank line around them.
fn is_block(name: &str) -> bool {
    [
        "p", "div", "section", "article", "header", "footer", "nav", "aside", "form", "fieldset",
        "figure", "dl", "body", "details", "address",
    ]
    .contains(&name)
}

/// Elements that begin a line.
fn is_line(name: &str) -> bool {
    [
        "dt",
        "dd",
        "figcaption",
        "summary",
        "option",
        "legend",
        "caption",
    ]
    .contains(&name)
}

#[cfg(test)]
mod tests;
