//! HTML that is written piece by piece, text always escaped.

use std::fmt::Write;

/// A piece of a page in the making.
#[derive(Debug, Default)]
pub struct Html {
    buffer: String,
}

impl Html {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Markup of our own. Never give it anything that came from outside.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.buffer.push_str(markup);
        self
    }

    /// Text from anywhere, for use between tags or in a quoted attribute.
    pub fn text(&mut self, text: &str) -> &mut Self {
        escape_into(text, &mut self.buffer);
        self
    }

    /// An element with text in it; an empty class is left out.
    pub fn element(&mut self, tag: &str, class: &str, text: &str) -> &mut Self {
        self.open(tag, class).text(text).close(tag)
    }

    /// Begins an element.
    pub fn open(&mut self, tag: &str, class: &str) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = match class {
            "" => write!(self.buffer, "<{tag}>"),
            class => write!(self.buffer, "<{tag} class=\"{class}\">"),
        };
        self
    }

    /// Ends an element.
    pub fn close(&mut self, tag: &str) -> &mut Self {
        let _ = write!(self.buffer, "</{tag}>");
        self
    }

    /// The markup.
    pub fn finish(self) -> String {
        self.buffer
    }
}

/// Escapes for text and for quoted attributes, and drops what HTML cannot hold: control characters
/// and the colour sequences of terminals.
fn escape_into(text: &str, into: &mut String) {
    into.reserve(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(c),
            '\u{1b}' if chars.peek() == Some(&'[') => {
                // A control sequence ends with its first letter (or another of @ to ~).
                chars.next();
                while let Some(&part) = chars.peek() {
                    if !(' '..='~').contains(&part) {
                        break;
                    }
                    chars.next();
                    if ('@'..='~').contains(&part) {
                        break;
                    }
                }
            }
            c if c.is_control() => {}
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        for (text, html) in [
            (
                "<script>alert('x')</script>",
                "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
            ),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("a & b &amp; c", "a &amp; b &amp;amp; c"),
            ("line\n\ttab", "line\n\ttab"),
            ("\u{0}\u{8}\r\u{7f}x", "x"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[12\u{1b}[0mx", "x"),
            ("\u{1b}[", ""),
            ("\u{1b}[é", "é"),
            ("\u{1b}]0;t\u{7}", "]0;t"),
        ] {
            let mut out = Html::new();
            out.text(text);
            assert_eq!(out.finish(), html, "{text:?}");
        }
    }
}
