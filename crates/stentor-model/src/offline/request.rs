//! What a person wants: a small table of verbs, and the arguments after them.
//!
//! There is no grammar here. A sentence begins with a verb of the table (politeness aside), and
//! every word after it has its place, or the sentence is not understood.

use super::prompt_words::{PromptWord, split};

/// A path, where one is named; the working folder otherwise.
type NamedPath = Option<String>;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfflineRequest {
    List(NamedPath),
    /// A file, and from which line to which.
    Read(String, Option<(u64, u64)>),
    /// Files by name; the pattern is a glob.
    Find(String, NamedPath),
    /// Text in files.
    Search(String, NamedPath),
    Run(String),
    Write(FileToWrite),
    Replace(TextToReplace),
    /// A file or a folder.
    Summarise(NamedPath),
    Test,
    Help,
    Unknown,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileToWrite {
    pub path: String,
    pub content: String,
    /// The text was marked as such, so that it may replace a file.
    pub sure: bool,
}

/// A text to replace everywhere in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextToReplace {
    pub path: String,
    pub old: String,
    pub new: String,
}

/// The verbs, each with the phrases that mean it. Of several that fit, the longest counts.
const VERBS: &str = "\
list: list|ls|dir|what files are|which files are
read: read|show|open|cat|print|display|view|look at|what is in|what's in
find: find|locate|where is|where are|where's
search: search|grep|look for|which files contain
run: run|execute
write: write|create|save
replace: replace|change|substitute
summarise: summarise|summarize|sum up|summary|overview|give me an overview
summarise: describe|explain|outline|tell me about|what does|what is this|what's this
test: test|tests|run test|run tests|run the test|run the tests|run all tests|run all the tests
test: do the tests pass
diff: diff|show diff|show the diff|show me the diff|show changes|show me the changes
diff: show the changes|what changed|what has changed|what did i change
status: status|what is the git status
help: help|what can you do|who are you|what are you";

/// Politeness before a verb.
const POLITE: &str = "hello|hi|hey|there|stentor|please|ok|okay|now|just|could|can|would|you|i|want|\
                      to|let's|i'd|like";

/// Programs whose name is no English word: a line that begins with one is a command.
const PROGRAMS: &str = "git|cargo|npm|npx|pnpm|pytest|python|python3|pip|uv|pwd|wc|echo|uname|\
                        whoami|rustc|gcc|clojure|mvn";

/// Words that do not say which file or folder is meant.
const FILLERS: &str = "the|a|an|all|me|my|of|this|here|there|current|file|files|folder|directory|\
                       content|contents|named|called|please|project|repo|repository|code|codebase|\
                       everything|about|it|is|do|does|in|inside|from|under";

/// Words before the text of a file.
const WITH: &str = "with|containing|saying|with:|containing:";

/// Words around what is searched for.
const SEARCH_FILLERS: &str = "for|the|all|any|text|word|string|function|occurrences|mentions|uses|\
                              comments|of|files|containing|contain|used|defined|called";

/// Kinds of files as people call them, and their endings.
const KINDS: &str = "rust:rs|python:py|javascript:js|typescript:ts|markdown:md|yaml:{yaml,yml}|\
                     shell:sh|toml:toml|json:json|html:html|css:css|go:go|java:java";

impl OfflineRequest {
    /// What `prompt` asks for. That is said in its first paragraph: what follows may be material that
    /// somebody else wrote, and only the text of a file to write is taken from it.
    pub fn parse(prompt: &str) -> Self {
        let prompt = prompt.trim();
        let first = prompt.split("\n\n").next().unwrap_or_default().trim();
        match longer_text(prompt, first.len()) {
            Some(writing) => Self::Write(writing),
            None => Self::of(first),
        }
    }

    fn of(prompt: &str) -> Self {
        if let Some(command) = as_command(prompt) {
            return Self::Run(command);
        }
        let words = split(prompt);
        let words = impolite(&words);
        if words.is_empty() {
            return Self::Help;
        }
        let (verb, length) = verb_of(words).unwrap_or_default();
        let rest = words.get(length..).unwrap_or_default();
        // Nothing but these words may follow.
        let only = |allowed: &str, request: Self| {
            rest.iter().all(|word| word.is(allowed)).then_some(request)
        };
        let request = match verb {
            "list" => list(rest),
            "read" => read(rest),
            "find" => find(rest),
            "search" => search(rest),
            "run" => run(rest, prompt).map(Self::Run),
            "write" => write(rest, prompt).map(Self::Write),
            "replace" => replace(rest, prompt).map(Self::Replace),
            "summarise" => path_of(rest).map(Self::Summarise),
            "test" => only("suite|please", Self::Test),
            "diff" => only("please", Self::Run("git diff".into())),
            "status" => only("please", Self::Run("git status".into())),
            "help" => only("me|there|stentor", Self::Help),
            _ => None,
        };
        request.unwrap_or(Self::Unknown)
    }
}

/// The words without the politeness before them.
fn impolite<'w, 'a>(words: &'w [PromptWord<'a>]) -> &'w [PromptWord<'a>] {
    let polite = words.iter().take_while(|word| word.is(POLITE)).count();
    words.get(polite..).unwrap_or_default()
}

/// A line that is a command as it stands: `!ls`, `$ ls`, one in backticks, one of a known program.
/// Only one in backticks may have several lines: where else would it end?
fn as_command(prompt: &str) -> Option<String> {
    let marked = prompt.strip_prefix('!').or(prompt.strip_prefix("$ "));
    let inner = marked.unwrap_or(prompt).trim();
    let bare = inner.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
    let bare = bare.filter(|bare| !bare.contains('`'));
    let first = prompt.split_whitespace().next()?;
    let known = PROGRAMS.split('|').any(|program| program == first) && !prompt.ends_with('?');
    let line = marked.or(known.then_some(inner));
    let command = bare.or(line.filter(|line| !line.trim().contains('\n')))?;
    let command = command.trim();
    (!command.is_empty()).then(|| command.to_owned())
}

/// The verb at the beginning and how many words it takes.
fn verb_of(words: &[PromptWord]) -> Option<(&'static str, usize)> {
    let length = |phrase: &str| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let given = words.get(..parts.len())?;
        let fits = given.iter().zip(&parts).all(|(word, part)| word.is(part));
        fits.then_some(parts.len())
    };
    let verbs = VERBS.lines().filter_map(|line| line.split_once(": "));
    let fitting = verbs.filter_map(|(verb, phrases)| {
        let longest = phrases.split('|').filter_map(length).max()?;
        Some((verb, longest))
    });
    fitting.max_by_key(|(_, length)| *length)
}

/// The one path that is named, if one is. `None` when there is more that is not understood.
fn path_of(words: &[PromptWord]) -> Option<NamedPath> {
    let mut named = words.iter().filter(|word| !word.is(FILLERS));
    let path = named.next().map(|word| word.text.to_owned());
    named.next().is_none().then_some(path)
}

/// Splits at the last `in`: what, and where.
fn what_and_where<'w, 'a>(
    words: &'w [PromptWord<'a>],
) -> Option<(&'w [PromptWord<'a>], NamedPath)> {
    match words.iter().rposition(|word| word.is("in|inside|under")) {
        Some(at) => Some((words.get(..at)?, path_of(words.get(at + 1..)?)?)),
        None => Some((words, None)),
    }
}

/// The words that are no flags.
fn without_flags<'a>(words: &[PromptWord<'a>]) -> Vec<PromptWord<'a>> {
    let words = words.iter();
    let kept = words.filter(|word| word.quoted || !word.text.starts_with('-'));
    kept.cloned().collect()
}

fn list(rest: &[PromptWord]) -> Option<OfflineRequest> {
    let rest = without_flags(rest);
    let is_kind = |word: &PromptWord| word.text.contains('*') || kind_of(word).is_some();
    match rest.iter().any(is_kind) {
        true => find(&rest),
        false => path_of(&rest).map(OfflineRequest::List),
    }
}

fn read(rest: &[PromptWord]) -> Option<OfflineRequest> {
    if let Some(command) = git(rest) {
        return Some(OfflineRequest::Run(command));
    }
    let is_list = rest.iter().any(|word| word.is("files|folder|directory"));
    let (rest, lines) = line_numbers(rest)?;
    Some(match (path_of(&rest)?, lines) {
        (Some(path), None) if !is_list => OfflineRequest::Read(path, None),
        (path, None) => OfflineRequest::List(path),
        (path, Some(LineSelection::Range(first, last))) => {
            OfflineRequest::Read(path?, Some((first, last)))
        }
        (path, Some(LineSelection::Last(count))) => {
            OfflineRequest::Run(format!("tail -n {count} -- {}", shell_word(&path?)))
        }
    })
}

/// What `show me the git log` shows.
fn git(rest: &[PromptWord]) -> Option<String> {
    let fillers = rest.iter().take_while(|word| word.is("me|the|my")).count();
    match rest.get(fillers..)? {
        [git, what] if git.is("git") && what.is("diff|log|status") => {
            Some(format!("git {}", what.text.to_lowercase()))
        }
        _ => None,
    }
}

enum LineSelection {
    Range(u64, u64),
    Last(u64),
}

/// Takes `lines 3 to 9`, `lines 3-9`, `first 9 lines` or `last 9 lines` out of the words.
fn line_numbers<'a>(
    words: &[PromptWord<'a>],
) -> Option<(Vec<PromptWord<'a>>, Option<LineSelection>)> {
    let has = |names: &str| words.iter().any(|word| word.is(names));
    if !has("line|lines") {
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
    let lines = match numbers.as_slice() {
        [] if has("last") => LineSelection::Last(1),
        [count] if has("last") => LineSelection::Last(*count),
        [] if has("first") => LineSelection::Range(1, 1),
        [count] if has("first") => LineSelection::Range(1, *count),
        [line] => LineSelection::Range(*line, *line),
        [from, to] if from <= to => LineSelection::Range(*from, *to),
        _ => return None,
    };
    Some((rest, Some(lines)))
}

/// The pattern of a kind of files.
fn kind_of(word: &PromptWord) -> Option<String> {
    let mut kinds = KINDS.split('|').filter_map(|kind| kind.split_once(':'));
    let (_, ending) = kinds.find(|(name, _)| word.is(name))?;
    Some(format!("*.{ending}"))
}

fn find(rest: &[PromptWord]) -> Option<OfflineRequest> {
    let (what, place) = what_and_where(rest)?;
    let has = |names: &str| what.iter().any(|word| word.is(names));
    let is_about_names = has("file|files") && !has("containing|contain|used|defined");
    let named: Vec<&PromptWord> = what.iter().filter(|word| !word.is(FILLERS)).collect();
    let pattern = match named.as_slice() {
        // A whole name means itself, a part of one any name with it.
        [name] if name.text.contains(['.', '*']) && (is_about_names || !name.quoted) => {
            name.text.to_owned()
        }
        [name] if is_about_names => kind_of(name).unwrap_or_else(|| format!("*{}*", name.text)),
        _ => return search(rest),
    };
    Some(OfflineRequest::Find(pattern, place))
}

fn search(rest: &[PromptWord]) -> Option<OfflineRequest> {
    let rest = without_flags(rest);
    // `search src for panic`, `grep panic src`
    let (what, place) = match rest.as_slice() {
        [place, by, what @ ..] if by.is("for") && !place.is(SEARCH_FILLERS) => {
            (what, Some(place.text.to_owned()))
        }
        [_, place] if !place.quoted && place.text.contains(['/', '.']) => {
            (rest.get(..1)?, Some(place.text.to_owned()))
        }
        all => what_and_where(all)?,
    };
    let quoted = what.iter().find(|word| word.quoted);
    // A long sentence is a question, not something to look for.
    if quoted.is_none() && what.len() > 5 {
        return None;
    }
    let kept = what.iter().filter(|word| !word.is(SEARCH_FILLERS));
    let text = match quoted {
        Some(quoted) => quoted.text.to_owned(),
        None => kept.map(|word| word.text).collect::<Vec<_>>().join(" "),
    };
    (!text.is_empty()).then_some(OfflineRequest::Search(text, place))
}

/// The command is what follows the verb on its line, to the letter, or what is in quotes.
fn run(rest: &[PromptWord], prompt: &str) -> Option<String> {
    let named = rest.iter().take_while(|word| word.is("the|command"));
    let skipped = named.count();
    let rest = rest.get(skipped..)?;
    let first = rest.first()?;
    let text = match rest {
        [only] if only.quoted => only.text,
        [only, please] if only.quoted && please.is("please") => only.text,
        _ => {
            let line = prompt.get(first.start..)?.trim();
            (!line.contains('\n')).then_some(line)?
        }
    };
    // Without marks, prose is no command: `run this project`, `run the numbers again`.
    let prose = first.is("this|that|it|my|our|a|an|all|some")
        || !first.quoted && skipped > 0 && rest.len() > 1;
    (!text.is_empty() && !prose).then(|| text.to_owned())
}

/// A file whose text goes on after the first paragraph, which ends at `end` and says which file it is.
fn longer_text(prompt: &str, end: usize) -> Option<FileToWrite> {
    let words = split(prompt);
    let words = impolite(&words);
    let ("write", length) = verb_of(words)? else {
        return None;
    };
    let rest = words.get(length..)?;
    let with = rest.get(file_words(rest) + 1)?;
    (prompt.len() > end && with.end <= end).then(|| write_with(rest, prompt))?
}

/// How many words come before the name of a file to write.
fn file_words(words: &[PromptWord]) -> usize {
    let fillers = "a|an|the|new|empty|file|named|called";
    words.iter().take_while(|word| word.is(fillers)).count()
}

fn writing(path: &str, content: &str, sure: bool) -> Option<FileToWrite> {
    let is_whole = content.is_empty() || content.ends_with('\n');
    let end = if is_whole { "" } else { "\n" };
    Some(FileToWrite {
        path: path.to_owned(),
        content: format!("{content}{end}"),
        sure,
    })
}

/// `a file notes.md with the content: …`
fn write_with(rest: &[PromptWord], prompt: &str) -> Option<FileToWrite> {
    let [path, with, content @ ..] = rest.get(file_words(rest)..)? else {
        return None;
    };
    if !path.is_path() || !with.is(WITH) {
        return None;
    }
    let marks = "the|content|contents|text|content:|contents:|text:|:";
    let marked = content.iter().take_while(|word| word.is(marks)).count();
    let first = content.get(marked)?;
    let text = match content.get(marked..)? {
        [only] if only.quoted => only.text,
        _ => prompt.get(first.start..)?,
    };
    writing(path.text, unfenced(text), first.quoted || marked > 0)
}

fn write(rest: &[PromptWord], prompt: &str) -> Option<FileToWrite> {
    if let Some(written) = write_with(rest, prompt) {
        return Some(written);
    }
    let skipped = file_words(rest);
    match rest.get(skipped..)? {
        [path] if skipped > 0 && path.is_path() => return writing(path.text, "", false),
        // Which text is not said.
        [path, with, ..] if path.is_path() && with.is(WITH) => return None,
        _ => {}
    }
    // `'hello' to a.txt`
    let to = rest.iter().rposition(|word| word.is("to|into|in"))?;
    let path = path_of(rest.get(to + 1..)?)??;
    match rest.get(..to)? {
        [only] if only.quoted => writing(&path, only.text, true),
        [first, ..] if first.is("a|an|the|some|me") => None,
        what => writing(&path, between(what, prompt)?, false),
    }
}

fn replace(rest: &[PromptWord], prompt: &str) -> Option<TextToReplace> {
    let place = rest.iter().rposition(|word| word.is("in"))?;
    let path = path_of(rest.get(place + 1..)?)??;
    let change = rest.get(..place)?;
    let by = change.iter().position(|word| word.is("with|by|to"))?;
    let exact = |words: &[PromptWord]| match words {
        [only] => Some(only.text.to_owned()),
        several => between(several, prompt).map(str::to_owned),
    };
    let (old, new) = (exact(change.get(..by)?)?, exact(change.get(by + 1..)?)?);
    (!old.is_empty()).then_some(TextToReplace { path, old, new })
}

/// The prompt from the first of these words to the last, to the letter.
fn between<'p>(words: &[PromptWord], prompt: &'p str) -> Option<&'p str> {
    prompt.get(words.first()?.start..words.last()?.end)
}

/// The inside of a code block, if the text is one.
fn unfenced(text: &str) -> &str {
    let inner = text.trim().strip_prefix("```");
    let inner = inner.and_then(|rest| rest.strip_suffix("```"));
    let inside = inner.and_then(|inner| inner.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside)
}

/// A word for the shell that means exactly `text`.
fn shell_word(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@%+=".contains(char);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
