//! Colours for code: comments, strings, numbers and keywords, by the few rules most languages share.
//!
//! It does not parse. A mistake costs a colour, never a character: the pieces joined are the text.

use super::escape::Html;

/// What a piece of code is; its name is the class on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeKind {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
}

impl CodeKind {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Comment => "c",
            Self::Text => "s",
            Self::Number => "n",
            Self::Keyword => "k",
        }
    }
}

/// How a family of languages is written.
struct Language {
    names: &'static str,
    line_comment: &'static str,
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    keywords: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        line_comment: "//",
        block_comment: Some(("/*", "*/")),
        quotes: "\"",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if \
                   impl in let loop match mod move mut pub ref return self Self static struct super \
                   trait true type unsafe use where while",
    },
    Language {
        names: "python py",
        line_comment: "#",
        block_comment: Some(("\"\"\"", "\"\"\"")),
        quotes: "\"'",
        keywords: "and as assert async await break class continue def del elif else except False \
                   finally for from global if import in is lambda None nonlocal not or pass raise \
                   return True try while with yield",
    },
    Language {
        names: "javascript js mjs typescript ts tsx jsx java go c h cpp cc hpp csharp cs kotlin swift \
                php scala json",
        line_comment: "//",
        block_comment: Some(("/*", "*/")),
        quotes: "\"'`",
        keywords: "abstract async await bool boolean break case catch char class const continue \
                   default defer delete do double else enum export extends false final float for \
                   from func function go if implements import in int interface let long map new nil \
                   null of package private protected public range return short static string struct \
                   super switch this throw true try type typeof undefined var void while yield",
    },
    Language {
        names: "sh bash shell zsh console toml yaml yml ruby rb makefile dockerfile ini",
        line_comment: "#",
        block_comment: None,
        quotes: "\"'",
        keywords: "begin case class def do done elif else end esac export false fi for function if \
                   in local module nil require return self set then true until while",
    },
    Language {
        names: "clojure clj cljs edn lisp elisp el scheme",
        line_comment: ";",
        block_comment: None,
        quotes: "\"",
        keywords: "def defn defun defmacro let if when cond do fn lambda loop recur ns require nil \
                   true false setq",
    },
    Language {
        names: "sql lua haskell hs",
        line_comment: "--",
        block_comment: None,
        quotes: "\"'",
        keywords: "and as begin by case create delete do else end false from function group if in \
                   insert into is join let local nil not null on or order return select set then \
                   true update values where while SELECT FROM WHERE INSERT INTO UPDATE SET DELETE \
                   CREATE TABLE JOIN ON AND OR NOT NULL ORDER GROUP BY",
    },
];

/// Writes `code` with its colours; without them where the language is not known.
pub(super) fn render(code: &str, language: &str, page: &mut Html) {
    let Some(rules) = of_name(language) else {
        page.text(code);
        return;
    };
    let mut plain = String::new();
    let mut rest = code;
    while let Some((kind, length)) = piece(rest, rules) {
        let Some((text, after)) = rest.split_at_checked(length) else {
            break;
        };
        match kind {
            CodeKind::Plain => plain.push_str(text),
            kind => {
                page.text(&std::mem::take(&mut plain));
                page.element("span", kind.class(), text);
            }
        }
        rest = after;
    }
    page.text(&plain).text(rest);
}

/// The language of a file, by its ending.
pub(super) fn language_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn of_name(name: &str) -> Option<&'static Language> {
    let name = name
        .split([' ', ','])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let known = |language: &&Language| language.names.split_whitespace().any(|one| one == name);
    LANGUAGES.iter().find(known)
}

/// What the code begins with, and how many bytes it takes. `None` at its end.
fn piece(code: &str, rules: &Language) -> Option<(CodeKind, usize)> {
    let first = code.chars().next()?;
    if let Some((open, close)) = rules.block_comment
        && let Some(inside) = code.strip_prefix(open)
    {
        let length = inside
            .find(close)
            .map_or(code.len(), |at| open.len() + at + close.len());
        return Some((CodeKind::Comment, length));
    }
    if code.starts_with(rules.line_comment) {
        return Some((CodeKind::Comment, code.find('\n').unwrap_or(code.len())));
    }
    if rules.quotes.contains(first) {
        return Some((CodeKind::Text, quoted(code, first)));
    }
    if first.is_ascii_digit() {
        let end = code.find(|char: char| !char.is_alphanumeric() && !matches!(char, '.' | '_'));
        return Some((CodeKind::Number, end.unwrap_or(code.len())));
    }
    if first.is_alphabetic() || first == '_' {
        let end = code.find(|char: char| !char.is_alphanumeric() && char != '_');
        let length = end.unwrap_or(code.len());
        let word = code.get(..length).unwrap_or_default();
        let is_keyword = rules
            .keywords
            .split_whitespace()
            .any(|keyword| keyword == word);
        return Some((
            if is_keyword {
                CodeKind::Keyword
            } else {
                CodeKind::Plain
            },
            length,
        ));
    }
    Some((CodeKind::Plain, first.len_utf8()))
}

/// The length of a text in quotes; one that does not end on its line is only its quote.
fn quoted(code: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, char) in code.char_indices().skip(1) {
        match char {
            '\n' if quote != '`' => return quote.len_utf8(),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return at + char.len_utf8(),
            _ => {}
        }
    }
    quote.len_utf8()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn coloured(code: &str, language: &str) -> String {
        let mut page = Html::new();
        render(code, language, &mut page);
        page.finish()
    }

    #[test]
    fn comments_texts_numbers_and_keywords_have_their_colours() {
        expect![[r#"
            <span class="k">fn</span> f(x: &amp;<span class="k">mut</span> u8) { g(<span class="s">&quot;a \&quot; b&quot;</span>, <span class="n">1_0.5</span>); } <span class="c">// why</span>
            <span class="c">/* x
            y */</span> it&#39;s"#]]
        .assert_eq(&coloured(
            "fn f(x: &mut u8) { g(\"a \\\" b\", 1_0.5); } // why\n/* x\ny */ it's",
            "rust",
        ));
        expect![[r#"<span class="k">def</span> f(): <span class="s">&#39;x&#39;</span> <span class="c"># y</span>"#]]
            .assert_eq(&coloured("def f(): 'x' # y", "python"));
        assert_eq!(coloured("<fn>", "klingon"), "&lt;fn&gt;");
        assert_eq!(
            coloured("\"open\nfn", "rs"),
            "&quot;open\n<span class=\"k\">fn</span>"
                .replace("&quot;", "<span class=\"s\">&quot;</span>")
        );
    }
}
