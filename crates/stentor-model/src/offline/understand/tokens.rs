//! Words, quotations and code blocks of a sentence.

use std::ops::Range;

/// One word, or one quotation that must not be taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Without its quotes.
    pub text: String,
    pub kind: Kind,
    /// Where it lies in the source, quotes included.
    pub span: Range<usize>,
}

/// How a token was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Word,
    Quoted,
    /// A fenced code block; the text is what is inside.
    Fence,
}

impl Token {
    /// The word in lower case without punctuation at its end; empty for a quotation, which is
    /// never a keyword.
    pub fn key(&self) -> String {
        match self.kind {
            Kind::Word => bare(&self.text).to_lowercase(),
            Kind::Quoted | Kind::Fence => String::new(),
        }
    }

    /// The text as a name: a word loses the punctuation of the sentence, a quotation nothing.
    pub fn name(&self) -> &str {
        match self.kind {
            Kind::Word => bare(&self.text),
            Kind::Quoted | Kind::Fence => &self.text,
        }
    }

    /// True when it was quoted or fenced.
    pub fn is_quoted(&self) -> bool {
        self.kind != Kind::Word
    }
}

/// Cuts `source` into tokens.
pub fn tokenise(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let token = fence(rest).or_else(|| quotation(rest));
        let (text, kind, length) = token.unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (rest.get(..end).unwrap_or_default(), Kind::Word, end)
        });
        tokens.push(Token {
            text: text.to_owned(),
            kind,
            span: at..at + length,
        });
        at += length.max(1);
    }
    tokens
}

/// A word without the punctuation a sentence puts around it. `.` and `..` are folders.
fn bare(word: &str) -> &str {
    if word.chars().all(|char| matches!(char, '.' | '/')) {
        return word;
    }
    let word = word.trim_start_matches(['(', '"', '\'', '“', '‘']);
    let end = |char: char| {
        matches!(
            char,
            ',' | '?' | '!' | ':' | ';' | ')' | '"' | '\'' | '.' | '”' | '’'
        )
    };
    word.trim_end_matches(end)
}

/// A fenced code block: its inside and its length.
fn fence(rest: &str) -> Option<(&str, Kind, usize)> {
    let after = rest.strip_prefix("```")?;
    let (_, body) = after.split_once('\n')?;
    let start = rest.len() - body.len();
    let end = body.find("```")?;
    let inside = body.get(..end)?;
    Some((inside, Kind::Fence, start + end + 3))
}

/// A quotation: its inside and its length. An apostrophe inside a word opens none, because words
/// are taken whole; a closing quote must end a word.
fn quotation(rest: &str) -> Option<(&str, Kind, usize)> {
    let open = rest.chars().next()?;
    let close = match open {
        '`' | '"' | '\'' => open,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let body = rest.get(open.len_utf8()..)?;
    let end = body.char_indices().find(|(at, char)| {
        let next = body
            .get(at + char.len_utf8()..)
            .and_then(|after| after.chars().next());
        *char == close
            && (*at > 0 || matches!(close, '"' | '\''))
            && (close == '`' || next.is_none_or(|next| !next.is_alphanumeric()))
    })?;
    let inside = body.get(..end.0)?;
    Some((
        inside,
        Kind::Quoted,
        open.len_utf8() + end.0 + close.len_utf8(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_stay_whole_and_apostrophes_are_letters() {
        let texts = |source: &str| -> Vec<(String, bool)> {
            tokenise(source)
                .into_iter()
                .map(|token| (token.name().to_owned(), token.is_quoted()))
                .collect()
        };
        let word = |text: &str| (text.to_owned(), false);
        let quoted = |text: &str| (text.to_owned(), true);
        for (source, expected) in [
            (
                "run `ls -la`, please",
                vec![word("run"), quoted("ls -la"), word(""), word("please")],
            ),
            (
                "what's in 'my file'?",
                vec![word("what's"), word("in"), quoted("my file"), word("")],
            ),
            (
                "say \"it's\" now",
                vec![word("say"), quoted("it's"), word("now")],
            ),
            ("'don't' stop", vec![quoted("don't"), word("stop")]),
            ("open “a b”", vec![word("open"), quoted("a b")]),
            (
                "an unclosed `quote",
                vec![word("an"), word("unclosed"), word("`quote")],
            ),
            ("read a.txt.", vec![word("read"), word("a.txt")]),
            ("x \"\" y", vec![word("x"), quoted(""), word("y")]),
            ("list ..", vec![word("list"), word("..")]),
            (
                "x ```rs\nfn a() {}\n``` y",
                vec![word("x"), quoted("fn a() {}\n"), word("y")],
            ),
            ("", vec![]),
        ] {
            assert_eq!(texts(source), expected, "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn tokens_lie_in_order_inside_the_source(source in "[ -~\n“”é`']{0,60}") {
            let mut end = 0;
            for token in tokenise(&source) {
                assert!(token.span.start >= end && source.get(token.span.clone()).is_some());
                end = token.span.end;
            }
        }
    }
}
