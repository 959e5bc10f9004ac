//! From what a person wrote to what they want. Pure: text in, [`Intent`]s out.
//!
//! A sentence is cut into tokens, the tokens into clauses at `then`, and each clause is shown to
//! the rules in turn. A rule that is not sure says nothing: what no rule recognises is answered
//! with an explanation, which is better than doing the wrong thing.

mod change;
mod find;
mod look;
mod places;
mod run;
mod tokens;

use tokens::{Kind, Token, tokenise};

use super::intent::{Intent, Refusal};

/// Prompts are short. Of a longer one only the beginning is looked at for requests.
const MAX_TOKENS: usize = 4000;

/// So many requests are taken from one prompt.
const MAX_INTENTS: usize = 20;

/// A part of a prompt that asks for one thing.
#[derive(Clone, Copy)]
struct Clause<'a> {
    source: &'a str,
    tokens: &'a [Token],
}

/// Words that start a request and add nothing to it. Longer ones first.
const POLITE: &[&[&str]] = &[
    &["i", "would", "like", "you", "to"],
    &["i'd", "like", "you", "to"],
    &["i", "want", "you", "to"],
    &["i", "would", "like", "to"],
    &["i'd", "like", "to"],
    &["i", "want", "to"],
    &["i", "need", "you", "to"],
    &["i", "need", "to"],
    &["go", "ahead", "and"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["can", "i"],
    &["let", "us"],
    &["help", "me", "to"],
    &["help", "me"],
    &["try", "to"],
    &["let's"],
    &["please"],
    &["kindly"],
    &["now"],
    &["just"],
    &["hey"],
    &["hi"],
    &["hello"],
    &["ok"],
    &["okay"],
    &["so"],
    &["well"],
    &["first"],
    &["next"],
    &["finally"],
    &["also"],
    &["quickly"],
    &["then"],
    &["and"],
    &["stentor"],
    &["guide"],
];

/// Words that end a request and add nothing to it.
const POLITE_ENDS: &[&[&str]] = &[
    &["thank", "you"],
    &["for", "me"],
    &["please"],
    &["thanks"],
    &["now"],
    &["pls"],
    &["and"],
    &[""],
];

/// What a person wants, in order. Never empty.
pub fn understand(prompt: &str) -> Vec<Intent> {
    let source = prompt.trim();
    let mut tokens = tokenise(source);
    tokens.truncate(MAX_TOKENS);
    let whole = Clause {
        source,
        tokens: &tokens,
    };
    // Some requests contain text that is not for us to take apart.
    let mut intents = if let Some(intent) = whole_prompt(whole) {
        vec![intent]
    } else {
        let clauses = split(whole);
        clauses.into_iter().flat_map(understand_clause).collect()
    };
    intents.truncate(MAX_INTENTS);
    // One part that was not understood makes the rest a guess, unless it is only chatter.
    if intents.len() > 1 {
        intents.retain(|intent| !matches!(intent, Intent::Greeting | Intent::Thanks));
        if !intents.iter().all(Intent::is_understood) {
            return vec![Intent::Unknown];
        }
    }
    if intents.is_empty() {
        intents.push(Intent::Greeting);
    }
    intents
}

fn whole_prompt(whole: Clause) -> Option<Intent> {
    if let Some(command) = whole.source.strip_prefix(['$', '!']) {
        return run::command(command.trim());
    }
    if let [only] = whole.tokens
        && only.kind == Kind::Quoted
        && whole.source.starts_with('`')
    {
        return run::command(&only.text);
    }
    let polite = whole.without_politeness();
    run::plan(polite).or_else(|| change::with_text_after_colon(polite))
}

/// Cuts a prompt at `then`, sentences and lines.
fn split(whole: Clause) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for (at, token) in whole.tokens.iter().enumerate() {
        let next = whole.tokens.get(at + 1);
        if token.kind == Kind::Word && token.key() == "then" && at > start {
            clauses.push(whole.part(start, at));
            start = at + 1;
        } else if at > start && ends_sentence(whole.source, token, next) {
            clauses.push(whole.part(start, at + 1));
            start = at + 1;
        }
    }
    clauses.push(whole.part(start, whole.tokens.len()));
    clauses.retain(|clause| !clause.tokens.is_empty());
    clauses
}

/// True when what follows is a new request: after a full stop, a semicolon or a line's end, and
/// beginning with a word that asks for something.
fn ends_sentence(source: &str, token: &Token, next: Option<&Token>) -> bool {
    let Some(next) = next else {
        return false;
    };
    let ended = token.kind == Kind::Word && token.text.ends_with(['.', ';', '!', '?'])
        || source
            .get(token.span.end..next.span.start)
            .is_some_and(|gap| gap.contains('\n'));
    ended && next.kind == Kind::Word && is_verb(&next.key())
}

fn understand_clause(clause: Clause) -> Vec<Intent> {
    if let Some(intent) = small_talk(clause) {
        return vec![intent];
    }
    let clause = clause.without_politeness();
    let whole = understand_one(clause);
    if matches!(whole, Intent::Run { .. } | Intent::Refuse(_)) {
        return vec![whole];
    }
    // `list the files and read a.txt` is two requests if both halves are.
    let halves = clause.tokens.iter().enumerate().filter(|(at, token)| {
        token.key() == "and"
            && clause
                .tokens
                .get(at + 1)
                .is_some_and(|next| is_verb(&next.key()))
    });
    for (at, _) in halves {
        let first = understand_one(clause.part(0, at).without_politeness());
        let rest = understand_clause(clause.part(at + 1, clause.tokens.len()));
        if first.is_understood() && rest.iter().all(Intent::is_understood) {
            return std::iter::once(first).chain(rest).collect();
        }
    }
    vec![whole]
}

fn understand_one(clause: Clause) -> Intent {
    if clause.tokens.is_empty() {
        return Intent::Greeting;
    }
    small_talk(clause)
        .or_else(|| refuse(clause))
        .or_else(|| run::plan(clause))
        .or_else(|| run::run(clause))
        .or_else(|| change::change(clause))
        .or_else(|| look::look(clause))
        .unwrap_or(Intent::Unknown)
}

fn small_talk(clause: Clause) -> Option<Intent> {
    let keys = clause.keys();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["help" | "?" | "" | "commands" | "usage" | "/help"] | ["help", "me"] => Some(Intent::Help),
        ["what", "can", "you", "do", ..]
        | ["what", "do", "you", "do"]
        | ["what", "are", "you", ..]
        | ["who", "are", "you", ..]
        | ["are", "you", ..]
        | ["how", "do", "you", "work"]
        | ["show", "help"]
        | ["what", "can", "i", "ask" | "do" | "say", ..] => Some(Intent::Help),
        ["hi" | "hello" | "hey" | "hallo" | "greetings" | "yo"]
        | ["good", "morning" | "evening" | "afternoon" | "day"]
        | [
            "hi" | "hello" | "hey",
            "there" | "you" | "guide" | "stentor" | "world",
        ] => Some(Intent::Greeting),
        ["thanks" | "thx" | "cheers" | "great" | "nice" | "cool"]
        | ["thank", "you", ..]
        | ["thanks", ..] => Some(Intent::Thanks),
        _ => None,
    }
}

fn refuse(clause: Clause) -> Option<Intent> {
    const EVERYTHING: &[&str] = &[
        "everything",
        "disk",
        "drive",
        "all",
        "folder",
        "directory",
        "files",
        "table",
        "database",
        "repo",
        "repository",
    ];
    let keys = clause.keys();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "don't" | "dont" | "never" | "not" | "don’t" | "stop" | "cancel",
            ..,
        ]
        | ["do", "not", ..] => Some(Intent::Refuse(Refusal::Negated)),
        [
            "delete" | "remove" | "erase" | "wipe" | "destroy" | "purge" | "rm" | "unlink" | "nuke"
            | "trash",
            ..,
        ]
        | ["get", "rid", "of", ..] => Some(Intent::Refuse(Refusal::Delete)),
        ["drop" | "format" | "clear" | "clean" | "empty", ..] if clause.contains(EVERYTHING) => {
            Some(Intent::Refuse(Refusal::Delete))
        }
        _ => None,
    }
}

/// Words with which a request begins.
fn is_verb(key: &str) -> bool {
    const VERBS: &[&str] = &[
        "list",
        "ls",
        "read",
        "show",
        "cat",
        "open",
        "print",
        "display",
        "view",
        "find",
        "search",
        "grep",
        "run",
        "execute",
        "write",
        "create",
        "make",
        "save",
        "put",
        "replace",
        "change",
        "rename",
        "append",
        "add",
        "summarise",
        "summarize",
        "describe",
        "count",
        "git",
        "look",
        "locate",
        "touch",
        "explain",
        "tell",
        "give",
        "head",
        "tail",
        "delete",
        "remove",
        "erase",
        "wipe",
        "please",
        "plan",
    ];
    VERBS.contains(&key)
}

impl<'a> Clause<'a> {
    fn part(self, start: usize, end: usize) -> Self {
        Self {
            source: self.source,
            tokens: self.tokens.get(start..end).unwrap_or_default(),
        }
    }

    /// What follows the first `count` tokens.
    fn after(self, count: usize) -> Self {
        self.part(count, self.tokens.len())
    }

    fn keys(self) -> Vec<String> {
        self.tokens.iter().map(Token::key).collect()
    }

    fn key(self, at: usize) -> String {
        self.tokens.get(at).map(Token::key).unwrap_or_default()
    }

    /// The first place of one of `words`.
    fn position(self, words: &[&str]) -> Option<usize> {
        let is_one =
            |token: &Token| token.kind == Kind::Word && words.contains(&token.key().as_str());
        self.tokens.iter().position(is_one)
    }

    /// The last place of one of `words`.
    fn last_position(self, words: &[&str]) -> Option<usize> {
        let is_one =
            |token: &Token| token.kind == Kind::Word && words.contains(&token.key().as_str());
        self.tokens.iter().rposition(is_one)
    }

    fn contains(self, words: &[&str]) -> bool {
        self.position(words).is_some()
    }

    /// The source from the first token to the last, as it was written.
    fn raw(self) -> &'a str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => self
                .source
                .get(first.span.start..last.span.end)
                .unwrap_or_default(),
            _ => "",
        }
    }

    /// The text the clause stands for: its one quotation, or its words as they were written.
    fn text(self) -> String {
        let mut quoted = self.tokens.iter().filter(|token| token.is_quoted());
        match (quoted.next(), quoted.next()) {
            (Some(only), None) => only.text.clone(),
            _ => self.raw().trim_end_matches(['?', '!', ',', ';']).to_owned(),
        }
    }

    fn without_politeness(mut self) -> Self {
        loop {
            let keys = self.keys();
            let starts = |words: &&&[&str]| {
                keys.len() > words.len() && keys.iter().zip(**words).all(|(key, word)| key == word)
            };
            if let Some(words) = POLITE.iter().find(starts) {
                self = self.after(words.len());
                continue;
            }
            let ends = |words: &&&[&str]| {
                let start = keys.len().saturating_sub(words.len());
                start > 0
                    && self
                        .tokens
                        .iter()
                        .skip(start)
                        .all(|token| !token.is_quoted())
                    && keys
                        .iter()
                        .skip(start)
                        .zip(**words)
                        .all(|(key, word)| key == word)
            };
            match POLITE_ENDS.iter().find(ends) {
                Some(words) => self = self.part(0, self.tokens.len() - words.len()),
                None => return self,
            }
        }
    }
}

#[cfg(test)]
mod tests;
