//! A prompt as words, quoted ones kept whole.

/// A word of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWord<'a> {
    /// The word without its quotes.
    pub text: &'a str,
    /// Was in quotes or backticks, so it means itself.
    pub quoted: bool,
    /// Where it begins in the prompt, its quotes included.
    pub start: usize,
    /// Where it ends in the prompt, its quotes included.
    pub end: usize,
}

impl PromptWord<'_> {
    /// True when the word is not quoted and one of these (`the|a|an`), in any case.
    pub fn is(&self, words: &str) -> bool {
        let same = |word: &str| self.text.eq_ignore_ascii_case(word);
        !self.quoted && words.split('|').any(same)
    }

    /// True when it can only be the name of a file or folder.
    pub fn is_path(&self) -> bool {
        self.quoted || self.text.contains(['.', '/', '*', '_'])
    }
}

/// The words of a prompt. A quote counts at the beginning of a word, so `don't` is one word.
pub fn split(prompt: &str) -> Vec<PromptWord<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(rest) = prompt.get(at..).filter(|rest| !rest.is_empty()) {
        let start = at + (rest.len() - rest.trim_start().len());
        let Some(rest) = prompt.get(start..).filter(|rest| !rest.is_empty()) else {
            break;
        };
        let word = quoted(rest, start).unwrap_or_else(|| plain(rest, start));
        at = word.end;
        if !word.text.is_empty() || word.quoted {
            words.push(word);
        }
    }
    // What ends a sentence is no part of its last word.
    if let Some(last) = words.last_mut()
        && !last.quoted
    {
        let ends = if last.text.trim_end_matches('.').is_empty() {
            &['?', '!'][..]
        } else {
            &['?', '!', '.']
        };
        last.text = last.text.trim_end_matches(ends);
    }
    words.retain(|word| !word.text.is_empty() || word.quoted);
    words
}

fn quoted(rest: &str, start: usize) -> Option<PromptWord<'_>> {
    let quote = rest
        .chars()
        .next()
        .filter(|first| "'\"`“".contains(*first))?;
    let close = if quote == '“' { '”' } else { quote };
    let inner = rest.get(quote.len_utf8()..)?;
    // An apostrophe inside a word does not close it: 'it's here'.
    let end = inner.match_indices(close).map(|(at, _)| at).find(|at| {
        let after = inner.get(at + close.len_utf8()..).unwrap_or_default();
        !after.starts_with(char::is_alphanumeric)
    })?;
    Some(PromptWord {
        text: inner.get(..end)?,
        quoted: true,
        start,
        end: start + quote.len_utf8() + end + close.len_utf8(),
    })
}

fn plain(rest: &str, start: usize) -> PromptWord<'_> {
    let text = rest.split(char::is_whitespace).next().unwrap_or_default();
    PromptWord {
        text: text.trim_end_matches([',', ';']),
        quoted: false,
        start,
        end: start + text.len(),
    }
}
