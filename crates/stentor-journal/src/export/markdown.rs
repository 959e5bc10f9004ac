//! Markdown from people and models, as HTML that can do no harm.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

use super::escape::Html;
use super::highlight;

/// Renders Markdown. Raw HTML shows as text, pictures become links, and a link goes nowhere but to
/// the web or to mail.
pub(super) fn render(markdown: &str, page: &mut Html) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let clean: String = markdown
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    let mut code: Option<CodeBlock> = None;
    let events = Parser::new_ext(&clean, options).filter_map(|event| match (event, &mut code) {
        (Event::Start(Tag::CodeBlock(kind)), _) => {
            code = Some(CodeBlock::new(&kind));
            None
        }
        (Event::Text(text), Some(block)) => {
            block.text.push_str(&text);
            None
        }
        (Event::End(TagEnd::CodeBlock), block) => {
            let block = block.take()?;
            Some(Event::Html(block.render().into()))
        }
        (event, _) => Some(tame(event)),
    });
    let mut rendered = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut rendered, events);
    page.raw("<div class=\"md\">")
        .raw(&with_classes(rendered))
        .raw("</div>\n");
}

/// The cells of a table with a class for how they are aligned: the live page allows no style that is
/// written into it. Text has no `<`, so nothing but a cell begins like one.
fn with_classes(html: String) -> String {
    const STYLE: &str = "style=\"text-align: ";
    if !html.contains(STYLE) {
        return html;
    }
    let mut classed = html;
    for cell in ["td", "th"] {
        for side in ["left", "center", "right"] {
            classed = classed.replace(
                &format!("<{cell} {STYLE}{side}\">"),
                &format!("<{cell} class=\"{side}\">"),
            );
        }
    }
    classed
}

/// A block of code, whose text comes in pieces.
struct CodeBlock {
    language: String,
    text: String,
}

impl CodeBlock {
    fn new(kind: &CodeBlockKind<'_>) -> Self {
        let language = match kind {
            CodeBlockKind::Fenced(language) => language.to_string(),
            CodeBlockKind::Indented => String::new(),
        };
        Self {
            language,
            text: String::new(),
        }
    }

    fn render(&self) -> String {
        let mut html = Html::new();
        html.raw("<pre><code");
        if !self.language.is_empty() {
            html.raw(" class=\"language-")
                .text(&self.language)
                .raw("\"");
        }
        html.raw(">");
        highlight::render(&self.text, &self.language, &mut html);
        html.raw("</code></pre>\n");
        html.finish()
    }
}

fn tame(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            ..
        }) => link(link_type, dest_url),
        // A picture from elsewhere would tell its server who reads the page.
        Event::Start(Tag::Image { dest_url, .. }) => link(LinkType::Inline, dest_url),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: below_the_page(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below_the_page(level))),
        other => other,
    }
}

fn link<'a>(link_type: LinkType, dest_url: CowStr<'a>) -> Event<'a> {
    let harmless = link_type == LinkType::Email || is_harmless(&dest_url);
    Event::Start(Tag::Link {
        link_type,
        dest_url: if harmless {
            dest_url
        } else {
            CowStr::Borrowed("#")
        },
        title: CowStr::Borrowed(""),
        id: CowStr::Borrowed(""),
    })
}

fn is_harmless(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// The page has the first two levels for itself.
fn below_the_page(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(markdown: &str, expected: &Expect) {
        let mut page = Html::new();
        render(markdown, &mut page);
        expected.assert_eq(&page.finish());
    }

    #[test]
    fn common_markdown_is_rendered() {
        check(
            "# Title\n\nSome *text* with `code<T>`.\n\n```rust\nfn f<T>() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n",
            &expect![[r#"
                <div class="md"><h3>Title</h3>
                <p>Some <em>text</em> with <code>code&lt;T&gt;</code>.</p>
                <pre><code class="language-rust"><span class="k">fn</span> f&lt;T&gt;() {}
                </code></pre>
                <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
                <tr><td>1</td><td>2</td></tr>
                </tbody></table>
                <ul>
                <li><input disabled="" type="checkbox" checked=""/>
                done</li>
                </ul>
                </div>
            "#]],
        );
    }

    #[test]
    fn cells_are_aligned_by_classes_and_text_that_looks_like_a_cell_stays_as_it_is() {
        check(
            "| a | b | c | d |\n|---|:--|:-:|--:|\n| 1 | 2 | 3 | <td style=\"text-align: right\"> |\n",
            &expect![[r#"
                <div class="md"><table><thead><tr><th>a</th><th class="left">b</th><th class="center">c</th><th class="right">d</th></tr></thead><tbody>
                <tr><td>1</td><td class="left">2</td><td class="center">3</td><td class="right">&lt;td style="text-align: right"&gt;</td></tr>
                </tbody></table>
                </div>
            "#]],
        );
    }

    #[test]
    fn raw_html_shows_as_text() {
        check(
            "a <b onclick=\"x()\">b</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n",
            &expect![[r#"
                <div class="md"><p>a &lt;b onclick="x()"&gt;b&lt;/b&gt;</p>
                <p>&lt;script&gt;alert(1)&lt;/script&gt;
                </p>
                <p>&lt;img src=x onerror=alert(1)&gt;
                </p>
                </div>
            "#]],
        );
    }

    #[test]
    fn links_go_to_the_web_or_nowhere_and_pictures_are_not_loaded() {
        check(
            "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](https://example.org/?a=1&b=\"2\") ![e](https://example.org/x.png \"t\\\" onload=x\") <https://example.org> <a@example.org> [f](file:///etc/passwd) [g](\tjavascript:x)\n",
            &expect![[r##"
                <div class="md"><p><a href="#">a</a> <a href="#">b</a> <a href="#">c</a> <a href="https://example.org/?a=1&amp;b=%222%22">d</a> <a href="https://example.org/x.png">e</a> <a href="https://example.org">https://example.org</a> <a href="mailto:a@example.org">a@example.org</a> <a href="#">f</a> <a href="#">g</a></p>
                </div>
            "##]],
        );
    }

    #[test]
    fn a_code_blocks_language_cannot_break_out() {
        check(
            "```\"><script>alert(1)</script>\nx\n```\n",
            &expect![[r#"
            <div class="md"><pre><code class="language-&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">x
            </code></pre>
            </div>
        "#]],
        );
    }
}
