//! What a person wants: a small table of verbs, and the arguments after them.
//!
//! There is no grammar here. A sentence begins with a verb of the table (politeness aside), and
//! every word after it has its place, or the sentence is not understood.

use super::words::{Word, split};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    List {
        path: Option<String>,
    },
    Read {
        path: String,
        lines: Option<(u64, u64)>,
    },
    /// Files by name; the pattern is a glob.
    Find {
        pattern: String,
        path: Option<String>,
    },
    /// Text in files.
    Search {
        text: String,
        path: Option<String>,
    },
    Run {
        command: String,
    },
    /// `sure` when the text was marked as such, so that it may replace a file.
    Write {
        path: String,
        content: String,
        sure: bool,
    },
    Replace {
        path: String,
        old: String,
        new: String,
    },
    /// A file or a folder; the working folder when there is none.
    Summarise {
        path: Option<String>,
    },
    Test,
    Help,
    Unknown,
}

#[derive(Clone, Copy)]
enum Verb {
    List,
    Read,
    Find,
    Search,
    Run,
    Write,
    Replace,
    Summarise,
    Test,
    Diff,
    Status,
    Help,
}

/// The verbs and their synonyms. Of several that fit, the longest counts.
const VERBS: &[(Verb, &str)] = &[
    (Verb::List, "list|ls|dir|what files are|which files are"),
    (
        Verb::Read,
        "read|show|open|cat|print|display|view|look at|what is in|what's in",
    ),
    (Verb::Find, "find|locate|where is|where are|where's"),
    (Verb::Search, "search|grep|look for|which files contain"),
    (Verb::Run, "run|execute"),
    (Verb::Write, "write|create|save"),
    (Verb::Replace, "replace|change|substitute"),
    (
        Verb::Summarise,
        "summarise|summarize|sum up|summary|overview|give me an overview",
    ),
    (Verb::Summarise, "describe|explain|outline|tell me about"),
    (Verb::Summarise, "what does|what is this|what's this"),
    (
        Verb::Test,
        "test|tests|run test|run tests|run the test|run the tests",
    ),
    (
        Verb::Test,
        "run all tests|run all the tests|do the tests pass",
    ),
    (
        Verb::Diff,
        "diff|show diff|show the diff|show me the diff|show git diff|show the git diff",
    ),
    (
        Verb::Diff,
        "show changes|show the changes|what changed|what has changed|what did i change",
    ),
    (
        Verb::Status,
        "status|show git status|show the git status|what is the git status",
    ),
    (Verb::Help, "help|hello|hi|what can you do|who are you"),
];

/// Politeness before a verb.
const POLITE: &str = "please|hey|ok|okay|now|just|could|can|would|you|i|want|to|let's|i'd|like";

/// Programs whose name is no English word: a line that begins with one is a command.
const PROGRAMS: &str = "git|cargo|npm|npx|pnpm|pytest|python|python3|pip|uv|pwd|wc|echo|uname|\
                        whoami|rustc|gcc|clojure|mvn";

/// Words that do not say which file or folder is meant.
const FILLERS: &str = "the|a|an|all|me|my|of|this|here|there|current|file|files|folder|directory|\
                       content|contents|named|called|please|project|repo|repository|code|codebase|\
                       everything|about|it|is|do|does|in|inside|from|under";

/// Words around what is searched for.
const SEARCH_FILLERS: &str = "for|the|all|any|text|word|string|function|occurrences|mentions|uses|\
                              comments|of|files|containing|contain|used|defined|called";

/// Kinds of files as people call them.
const KINDS: &[(&str, &str)] = &[
    ("rust", "*.rs"),
    ("python", "*.py"),
    ("javascript", "*.js"),
    ("typescript", "*.ts"),
    ("markdown", "*.md"),
    ("yaml", "*.{yaml,yml}"),
    ("shell", "*.sh"),
    ("toml|json|html|css|go|java", ""),
];

impl Request {
    /// What `prompt` asks for. What comes after a request in a paragraph of its own, such as standard
    /// input, is material that the guide cannot use.
    pub fn parse(prompt: &str) -> Self {
        let prompt = prompt.trim();
        match (Self::of(prompt), prompt.split_once("\n\n")) {
            (Self::Unknown, Some((first, _))) => Self::of(first.trim()),
            (request, _) => request,
        }
    }

    fn of(prompt: &str) -> Self {
        if let Some(command) = as_command(prompt) {
            return Self::Run { command };
        }
        let words = split(prompt);
        let polite = words.iter().take_while(|word| word.is(POLITE)).count();
        let words = words.get(polite..).unwrap_or_default();
        let Some((verb, length)) = verb_of(words) else {
            return if words.is_empty() {
                Self::Help
            } else {
                Self::Unknown
            };
        };
        let rest = words.get(length..).unwrap_or_default();
        let request = match verb {
            Verb::List => list(rest),
            Verb::Read => read(rest),
            Verb::Find => find(rest),
            Verb::Search => search(rest),
            Verb::Run => run(rest, prompt),
            Verb::Write => write(rest, prompt),
            Verb::Replace => replace(rest, prompt),
            Verb::Summarise => path_of(rest).map(|path| Self::Summarise { path }),
            Verb::Test => only(rest, "suite|please", Self::Test),
            Verb::Diff => only(rest, "please", command("git diff")),
            Verb::Status => only(rest, "please", command("git status")),
            Verb::Help => only(rest, "me|there|stentor", Self::Help),
        };
        request.unwrap_or(Self::Unknown)
    }
}

/// A line that is a command as it stands: `!ls`, `$ ls`, one in backticks, one of a known program.
fn as_command(prompt: &str) -> Option<String> {
    let marked = prompt
        .strip_prefix('!')
        .or_else(|| prompt.strip_prefix("$ "));
    let inner = marked.unwrap_or(prompt).trim();
    let bare = inner
        .strip_prefix('`')
        .and_then(|inner| inner.strip_suffix('`'))
        .filter(|inner| !inner.contains('`'));
    let first = prompt.split_whitespace().next().unwrap_or_default();
    let known = PROGRAMS.split('|').any(|program| program == first) && !prompt.ends_with('?');
    (marked.is_some() || bare.is_some() || known)
        .then(|| bare.unwrap_or(inner).trim().to_owned())
        .filter(|command| !command.is_empty())
}

/// The verb at the beginning and how many words it takes.
fn verb_of(words: &[Word]) -> Option<(Verb, usize)> {
    let length = |phrase: &str| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let given = words.get(..parts.len())?;
        let fits = given.iter().zip(&parts).all(|(word, part)| word.is(part));
        fits.then_some(parts.len())
    };
    let fitting = VERBS.iter().filter_map(|(verb, phrases)| {
        let longest = phrases.split('|').filter_map(length).max()?;
        Some((*verb, longest))
    });
    fitting.max_by_key(|(_, length)| *length)
}

fn command(command: &str) -> Request {
    Request::Run {
        command: command.to_owned(),
    }
}

/// `request`, if nothing but these words follows.
fn only(rest: &[Word], allowed: &str, request: Request) -> Option<Request> {
    rest.iter().all(|word| word.is(allowed)).then_some(request)
}

/// The one path that is named, if one is. `None` when there is more that is not understood.
fn path_of(words: &[Word]) -> Option<Option<String>> {
    let mut named = words.iter().filter(|word| !word.is(FILLERS));
    match (named.next(), named.next()) {
        (None, _) => Some(None),
        (Some(path), None) => Some(Some(path.text.to_owned())),
        (Some(_), Some(_)) => None,
    }
}

/// Splits at the last `in`: what, and where.
fn what_and_where<'w, 'a>(words: &'w [Word<'a>]) -> Option<(&'w [Word<'a>], Option<String>)> {
    match words.iter().rposition(|word| word.is("in|inside|under")) {
        Some(at) => Some((words.get(..at)?, path_of(words.get(at + 1..)?)?)),
        None => Some((words, None)),
    }
}

fn list(rest: &[Word]) -> Option<Request> {
    let flags = |word: &&Word| !word.text.starts_with('-') || word.quoted;
    let rest: Vec<Word> = rest.iter().filter(flags).cloned().collect();
    if rest
        .iter()
        .any(|word| word.text.contains('*') || kind_of(word).is_some())
    {
        return find(&rest);
    }
    path_of(&rest).map(|path| Request::List { path })
}

fn read(rest: &[Word]) -> Option<Request> {
    let is_list = rest.iter().any(|word| word.is("files|folder|directory"));
    let (rest, lines) = line_numbers(rest)?;
    match (path_of(&rest)?, lines) {
        (path, None) if is_list || path.is_none() => Some(Request::List { path }),
        (None, Some(_)) => None,
        (Some(path), Some(Lines::Last(count))) => Some(Request::Run {
            command: format!("tail -n {count} -- {}", shell_word(&path)),
        }),
        (Some(path), Some(Lines::Range(first, last))) => Some(Request::Read {
            path,
            lines: Some((first, last)),
        }),
        (Some(path), None) => Some(Request::Read { path, lines: None }),
        (None, None) => Some(Request::List { path: None }),
    }
}

enum Lines {
    Range(u64, u64),
    Last(u64),
}

/// Takes `lines 3 to 9`, `lines 3-9`, `first 9 lines` or `last 9 lines` out of the words.
fn line_numbers<'a>(words: &[Word<'a>]) -> Option<(Vec<Word<'a>>, Option<Lines>)> {
    if !words.iter().any(|word| word.is("line|lines")) {
        return Some((words.to_vec(), None));
    }
    let mut numbers = Vec::new();
    let mut rest = Vec::new();
    for word in words {
        let parts: Result<Vec<u64>, _> = word.text.split(['-', '–']).map(str::parse).collect();
        match parts {
            Ok(parts) if !word.quoted => numbers.extend(parts),
            _ if word.is("line|lines|to|-|first|last|and|from") => {}
            _ => rest.push(word.clone()),
        }
    }
    let last = words.iter().any(|word| word.is("last"));
    let first = words.iter().any(|word| word.is("first"));
    let lines = match numbers.as_slice() {
        [count] if last => Lines::Last(*count),
        [] if last => Lines::Last(1),
        [count] if first => Lines::Range(1, *count),
        [] if first => Lines::Range(1, 1),
        [line] => Lines::Range(*line, *line),
        [from, to] if from <= to => Lines::Range(*from, *to),
        _ => return None,
    };
    Some((rest, Some(lines)))
}

fn kind_of(word: &Word) -> Option<String> {
    let (_, pattern) = KINDS.iter().find(|(names, _)| word.is(names))?;
    Some(match *pattern {
        "" => format!("*.{}", word.text.to_lowercase()),
        pattern => pattern.to_owned(),
    })
}

fn find(rest: &[Word]) -> Option<Request> {
    let (what, path) = what_and_where(rest)?;
    let about_files = what.iter().any(|word| word.is("file|files"));
    let about_text = what
        .iter()
        .any(|word| word.is("containing|contain|used|defined"));
    let named: Vec<&Word> = what.iter().filter(|word| !word.is(FILLERS)).collect();
    match named.as_slice() {
        [name] if about_files && !about_text => {
            let pattern = kind_of(name).unwrap_or_else(|| name_pattern(name));
            Some(Request::Find { pattern, path })
        }
        [name] if name.text.contains(['.', '*']) && !name.quoted => Some(Request::Find {
            pattern: name.text.to_owned(),
            path,
        }),
        _ => search(rest),
    }
}

/// A whole name means itself, a part of one any name with it.
fn name_pattern(name: &Word) -> String {
    match name.text {
        text if text.contains(['.', '*', '?']) => text.to_owned(),
        text => format!("*{text}*"),
    }
}

fn search(rest: &[Word]) -> Option<Request> {
    let flags = |word: &&Word| !word.text.starts_with('-') || word.quoted;
    let rest: Vec<Word> = rest.iter().filter(flags).cloned().collect();
    // `search src for panic`, `grep panic src`
    let (rest, path) = match rest.as_slice() {
        [place, by, what @ ..] if by.is("for") && !place.is(SEARCH_FILLERS) => {
            (what, Some(place.text.to_owned()))
        }
        [what @ .., place]
            if what.len() == 1 && !place.quoted && place.text.contains(['/', '.']) =>
        {
            (what, Some(place.text.to_owned()))
        }
        all => (all, None),
    };
    let (what, path) = match path {
        Some(path) => (rest, Some(path)),
        None => what_and_where(rest)?,
    };
    let text = match what.iter().find(|word| word.quoted) {
        Some(quoted) => quoted.text.to_owned(),
        None => {
            let kept: Vec<&str> = what
                .iter()
                .filter(|word| !word.is(SEARCH_FILLERS))
                .map(|word| word.text)
                .collect();
            kept.join(" ")
        }
    };
    // A long sentence is a question, not something to look for.
    let is_short = what.iter().any(|word| word.quoted) || what.len() <= 5;
    (!text.is_empty() && is_short).then_some(Request::Search { text, path })
}

/// The command is what follows the verb, to the letter, or what is in backticks.
fn run(rest: &[Word], prompt: &str) -> Option<Request> {
    let skipped = rest
        .iter()
        .take_while(|word| word.is("the|command"))
        .count();
    let rest = rest.get(skipped..)?;
    let first = rest.first()?;
    let text = match rest {
        [only] if only.quoted => only.text,
        [only, please] if only.quoted && please.is("please") => only.text,
        _ => prompt.get(first.start..)?.trim(),
    };
    // Without marks, prose is no command: `run this project`, `run the numbers again`.
    let prose = first.is("this|that|it|my|our|a|an|all|some")
        || !first.quoted && skipped > 0 && rest.len() > 1;
    (!text.is_empty() && !prose).then(|| command(text))
}

fn write(rest: &[Word], prompt: &str) -> Option<Request> {
    let fillers = "a|an|the|new|empty|file|named|called";
    // `a file notes.md with the content: …`
    let skipped = rest.iter().take_while(|word| word.is(fillers)).count();
    let named = rest.get(skipped..)?;
    if let [path, with, content @ ..] = named
        && path.is_path()
        && with.is("with|containing|saying|with:|containing:")
    {
        let marks = "the|content|contents|text|content:|contents:|text:|:";
        let skipped = content.iter().take_while(|word| word.is(marks)).count();
        let first = content.get(skipped)?;
        let text = match content.get(skipped..)? {
            [only] if only.quoted => only.text,
            _ => prompt.get(first.start..)?,
        };
        return Some(Request::Write {
            path: path.text.to_owned(),
            content: whole_lines(unfenced(text)),
            sure: first.quoted || skipped > 0,
        });
    }
    // `'hello' to a.txt`
    if let Some(to) = rest.iter().rposition(|word| word.is("to|into|in")) {
        let path = path_of(rest.get(to + 1..)?)??;
        let what = rest.get(..to)?;
        let (first, last) = (what.first()?, what.last()?);
        let content = match what {
            [only] if only.quoted => only.text,
            _ if first.is("a|an|the|some|me") => return None,
            _ => prompt.get(first.start..last.end)?,
        };
        return Some(Request::Write {
            path,
            content: whole_lines(content),
            sure: first.quoted && what.len() == 1,
        });
    }
    match named {
        [path] if skipped > 0 && path.is_path() => Some(Request::Write {
            path: path.text.to_owned(),
            content: String::new(),
            sure: false,
        }),
        _ => None,
    }
}

fn replace(rest: &[Word], prompt: &str) -> Option<Request> {
    let place = rest.iter().rposition(|word| word.is("in"))?;
    let path = path_of(rest.get(place + 1..)?)??;
    let change = rest.get(..place)?;
    let by = change.iter().position(|word| word.is("with|by|to"))?;
    let exact = |words: &[Word]| match words {
        [only] => Some(only.text.to_owned()),
        [first, .., last] => prompt.get(first.start..last.end).map(str::to_owned),
        [] => None,
    };
    let (old, new) = (exact(change.get(..by)?)?, exact(change.get(by + 1..)?)?);
    (!old.is_empty()).then_some(Request::Replace { path, old, new })
}

fn whole_lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// The inside of a code block, if the text is one.
fn unfenced(text: &str) -> &str {
    let inner = text
        .trim()
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    inner
        .and_then(|inner| inner.split_once('\n'))
        .map_or(text, |(_, inside)| inside)
}

/// A word for the shell that means exactly `text`.
pub fn shell_word(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@%+=".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
