//! The words of `omp --mode rpc` and `pi --mode rpc` (section 2), and of `--mode json`.
//!
//! Clients generate these words for either family and for versions that do not exist yet, so what
//! is unknown is noted and ignored. That is why they have a reader of their own.

use std::ffi::OsString;
use std::iter::Peekable;
use std::path::PathBuf;
use std::vec;

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OmpArgs {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<String>,
    /// `--models`, comma separated patterns.
    pub models: Vec<String>,
    pub api_key: Option<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// `--tools`, comma separated names.
    pub tools: Option<String>,
    pub no_tools: bool,
    pub session_dir: Option<String>,
    pub no_session: bool,
    pub resume: ConversationToOpen,
    pub name: Option<String>,
    pub cwd: Option<PathBuf>,
    pub permission_mode: Option<String>,
    /// `--extension`, by file.
    pub extensions: Vec<String>,
    /// Only the extensions named above.
    pub no_extensions: bool,
    /// None of the configured MCP servers.
    pub no_mcp: bool,
    pub no_rules: bool,
    pub no_context_files: bool,
    pub no_skills: bool,
    pub no_prompt_templates: bool,
    pub verbose: bool,
    /// Nothing is served: the flags are to be explained.
    pub help: bool,
    /// `--mode json`: the prompts are on the command line, and only events are written.
    pub json: bool,
    /// The prompts of `--mode json`.
    pub messages: Vec<String>,
    /// `@file` arguments of `--mode json`, which are attached to the first prompt.
    pub files: Vec<String>,
    /// A word was said that only omp knows.
    pub of_omp: bool,
    /// `--mode rpc-ui`: the client wants dialogs.
    pub wants_dialogs: bool,
    /// What was said and means nothing here, for a note on stderr.
    pub ignored: Vec<String>,
}

/// The conversation to begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConversationToOpen {
    /// A new one.
    #[default]
    New,
    /// The last one of the folder, or a new one.
    Last,
    /// The one with this file, id or beginning of an id.
    Named(String),
}

/// A command line that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OmpArgsError {
    #[error("Error: @file arguments are not supported in RPC mode")]
    FileArgument,
    #[error("Error: {0} needs a value")]
    NoValue(String),
}

/// Flags of the originals that have a value and mean nothing here. Their value goes with them.
const IGNORED_WITH_VALUE: [&str; 15] = [
    "--hook",
    "--skill",
    "--skills",
    "--prompt-template",
    "--theme",
    "--export",
    "--smol",
    "--slow",
    "--plan",
    "--fork",
    "--config",
    "--profile",
    "--plugin-dir",
    "--max-time",
    "--session-name-prefix",
];

/// Flags that omp has and pi has not.
const OMP_FLAGS: [&str; 13] = [
    "--no-rules",
    "--no-title",
    "--no-ui",
    "--no-lsp",
    "--no-pty",
    "--provider-session-id",
    "--hook",
    "--skills",
    "--smol",
    "--slow",
    "--plan",
    "--plugin-dir",
    "--max-time",
];

impl OmpArgs {
    /// The flags, for people.
    pub const HELP: &str = include_str!("help.txt");

    /// True when these words, the program's name not among them, ask for this dialect.
    pub fn are_meant(words: &[OsString]) -> bool {
        matches!(mode(words).as_deref(), Some("rpc" | "rpc-ui" | "json"))
    }

    /// Reads the words, the program's name not among them.
    pub fn parse(words: &[OsString]) -> Result<Self, OmpArgsError> {
        let mode = mode(words);
        let mut args = Self {
            json: mode.as_deref() == Some("json"),
            of_omp: mode.as_deref() == Some("rpc-ui"),
            wants_dialogs: mode.as_deref() == Some("rpc-ui"),
            ..Self::default()
        };
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        let mut words = words.collect::<Vec<_>>().into_iter().peekable();
        while let Some(word) = words.next() {
            if let Some(file) = word.strip_prefix('@') {
                if !args.json {
                    return Err(OmpArgsError::FileArgument);
                }
                args.files.push(file.to_owned());
                continue;
            }
            let flag = Flag::of(word);
            args.of_omp |= OMP_FLAGS.contains(&flag.name.as_str());
            if flag.name == "--" {
                // What follows is no flag, whatever it begins with.
                args.loose_words().extend(words.by_ref());
            } else if !args.set_switch(&flag.name) && !args.set_value(&flag, &mut words)? {
                args.skip(flag, &mut words);
            }
        }
        Ok(args)
    }

    /// Follows a flag that has no value. False if it is none of them.
    fn set_switch(&mut self, flag: &str) -> bool {
        match flag {
            "--no-skills" | "-ns" => self.no_skills = true,
            "--no-prompt-templates" | "-np" => self.no_prompt_templates = true,
            "--no-tools" => self.no_tools = true,
            "--no-session" => self.no_session = true,
            "--continue" | "-c" => self.resume = ConversationToOpen::Last,
            "--no-extensions" | "-ne" => self.no_extensions = true,
            "--no-mcp" => self.no_mcp = true,
            "--no-rules" => self.no_rules = true,
            "--no-context-files" | "-nc" => self.no_context_files = true,
            "--verbose" => self.verbose = true,
            "--help" | "-h" => self.help = true,
            "--no-ui" => self.wants_dialogs = false,
            // Nothing of the kind is done here.
            "--no-title" | "--no-lsp" | "--no-pty" | "--offline" | "--no-themes" | "--print"
            | "-p" => {}
            _ => return false,
        }
        true
    }

    /// Follows a flag that has a value. False if it is none of them.
    fn set_value(&mut self, flag: &Flag, words: &mut UnreadWords) -> Result<bool, OmpArgsError> {
        match flag.name.as_str() {
            "--provider" => self.provider = self.value(flag, words)?,
            "--model" => self.model = self.value(flag, words)?,
            "--thinking" => self.thinking = self.value(flag, words)?,
            "--models" => {
                let patterns = self.value(flag, words)?.unwrap_or_default();
                let patterns = patterns.split(',').map(str::trim);
                self.models = patterns
                    .filter(|pattern| !pattern.is_empty())
                    .map(str::to_owned)
                    .collect();
            }
            "--api-key" => self.api_key = self.value(flag, words)?,
            "--system-prompt" => self.system_prompt = self.value(flag, words)?,
            "--append-system-prompt" => self.append_system_prompt = self.value(flag, words)?,
            "--tools" | "-t" => self.tools = self.value(flag, words)?,
            "--session-dir" => self.session_dir = self.value(flag, words)?,
            "--session" | "--resume" | "-r" => {
                if let Some(name) = self.value(flag, words)? {
                    self.resume = ConversationToOpen::Named(name);
                }
            }
            "--name" | "-n" => self.name = self.value(flag, words)?,
            "--cwd" => self.cwd = self.value(flag, words)?.map(PathBuf::from),
            "--permission-mode" => self.permission_mode = self.value(flag, words)?,
            "--extension" | "-e" => {
                if let Some(file) = self.value(flag, words)? {
                    self.add_extension(file);
                }
            }
            // The mode is known.
            "--mode" => drop(self.value(flag, words)?),
            // Clients give it as a matter of course; requests carry no such id here.
            "--provider-session-id" => drop(self.value(flag, words)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of a flag. One that lacks it is ignored, if that does no harm.
    fn value(
        &mut self,
        flag: &Flag,
        words: &mut UnreadWords,
    ) -> Result<Option<String>, OmpArgsError> {
        let value = flag.value.clone().or_else(|| words.next());
        if value.is_none() {
            if is_essential(&flag.name) {
                return Err(OmpArgsError::NoValue(flag.name.clone()));
            }
            self.ignored.push(flag.name.clone());
        }
        Ok(value)
    }

    /// Passes over a flag that means nothing here and the value that goes with it. A word that is
    /// no flag is a prompt in `--mode json`.
    fn skip(&mut self, flag: Flag, words: &mut UnreadWords) {
        if !flag.name.starts_with('-') {
            self.loose_words().push(flag.name);
            return;
        }
        let has_value = if IGNORED_WITH_VALUE.contains(&flag.name.as_str()) {
            true
        } else {
            // Whether an unknown flag has a value cannot be known; a word that is no flag would
            // mean nothing by itself either way.
            // But the last one is the prompt, where there must be one.
            let is_prompt = self.json && self.messages.is_empty() && words.len() == 1;
            let next = words.peek();
            !is_prompt && next.is_some_and(|next| !next.starts_with(['-', '@']))
        };
        if has_value && flag.value.is_none() {
            words.next();
        }
        self.ignored.push(flag.name);
    }

    /// Where words go that belong to no flag.
    fn loose_words(&mut self) -> &mut Vec<String> {
        if self.json {
            &mut self.messages
        } else {
            &mut self.ignored
        }
    }

    /// An extension of pi or omp is a TypeScript module of theirs and means nothing here; any other
    /// file is taken for one of our own.
    fn add_extension(&mut self, file: String) {
        if [".ts", ".tsx", ".mts"]
            .iter()
            .any(|end| file.ends_with(end))
        {
            self.ignored.push(format!("--extension {file}"));
        } else {
            self.extensions.push(file);
        }
    }
}

/// The words that have not been read.
type UnreadWords = Peekable<vec::IntoIter<String>>;

/// A word, as the flag it may be.
struct Flag {
    name: String,
    /// What is said behind its `=`.
    value: Option<String>,
}

impl Flag {
    fn of(word: String) -> Self {
        match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => Self {
                name: name.to_owned(),
                value: Some(value.to_owned()),
            },
            _ => Self {
                name: word,
                value: None,
            },
        }
    }
}

/// What `--mode` says.
fn mode(words: &[OsString]) -> Option<String> {
    let words: Vec<_> = words
        .iter()
        .map(|word| word.to_string_lossy())
        .take_while(|word| word != "--")
        .collect();
    let next = words.iter().skip(1).map(Some).chain([None]);
    words.iter().zip(next).find_map(|(word, next)| {
        let value = match word.strip_prefix("--mode=") {
            Some(value) => value,
            None if word == "--mode" => next?,
            None => return None,
        };
        Some(value.to_owned())
    })
}

/// Flags without whose value a client would get something it did not ask for.
fn is_essential(flag: &str) -> bool {
    matches!(
        flag,
        "--provider" | "--model" | "--session-dir" | "--session" | "--resume" | "--tools" | "--cwd"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<OmpArgs, OmpArgsError> {
        OmpArgs::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_words_clients_generate_are_understood_in_both_forms() {
        let expected = OmpArgs {
            provider: Some("anthropic".into()),
            model: Some("anthropic/claude:high".into()),
            thinking: Some("low".into()),
            session_dir: Some("/s".into()),
            models: vec!["a*".into(), "b".into()],
            no_session: true,
            ..OmpArgs::default()
        };
        for words in [
            "--mode rpc --provider anthropic --model anthropic/claude:high --thinking low --session-dir /s --models a*,b --no-session",
            "--mode=rpc --provider=anthropic --model=anthropic/claude:high --thinking=low --session-dir=/s --models=a*,b --no-session",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(parse(&words), Ok(expected.clone()));
        }
        let own = parse(&["-e", "a.py", "--extension=b", "-ne", "-nc"]).unwrap();
        assert_eq!(own.extensions, ["a.py", "b"]);
        assert!(own.no_extensions && own.no_context_files);
        assert_eq!(parse(&["-c"]).unwrap().resume, ConversationToOpen::Last);
        assert_eq!(
            parse(&["--session", "x.jsonl"]).unwrap().resume,
            ConversationToOpen::Named("x.jsonl".into())
        );
        assert_eq!(
            parse(&["-n", "my name"]).unwrap().name.as_deref(),
            Some("my name")
        );
    }

    #[test]
    fn what_is_unknown_is_noted_and_ignored_with_its_value() {
        let args = parse(&[
            "--no-rules",
            "--frob",
            "value",
            "--new=1",
            "-e",
            "ext.ts",
            "--model",
            "m",
            "word",
        ]);
        let args = args.unwrap();
        assert_eq!(
            args.ignored,
            ["--frob", "--new", "--extension ext.ts", "word"]
        );
        assert!(args.no_rules && args.extensions.is_empty());
        assert_eq!(args.model.as_deref(), Some("m"));
    }

    #[test]
    fn in_json_mode_the_other_words_are_prompts_and_files() {
        let words = [
            "-p", "--mode", "json", "@a.txt", "--frob", "x", "one", "--new", "two",
        ];
        let args = parse(&words).unwrap();
        assert_eq!(
            (args.messages, args.files),
            (vec!["one".into()], vec!["a.txt".into()])
        );
        let args = parse(&["--mode", "json", "--", "-hello", "@b", "--mode"]).unwrap();
        let all = ["-hello", "@b", "--mode"].map(str::to_owned);
        assert_eq!((args.messages, args.files), (all.to_vec(), Vec::new()));
        let args = parse(&["--mode=json", "--frob", "the prompt"]).unwrap();
        assert_eq!(
            (args.messages, args.ignored),
            (vec!["the prompt".into()], vec!["--frob".into()])
        );
    }

    #[test]
    fn every_flag_of_the_help_is_known() {
        let flags: Vec<&str> = OmpArgs::HELP
            .split_whitespace()
            .map(|word| word.trim_end_matches(','))
            .filter(|word| word.starts_with('-'))
            .collect();
        assert!(flags.len() > 30, "{flags:?}");
        for flag in flags {
            let ignored = parse(&[flag, "x"]).unwrap().ignored;
            assert!(!ignored.iter().any(|word| word == flag), "{flag}");
        }
    }

    #[test]
    fn file_arguments_are_refused_and_a_flag_needs_its_value() {
        assert_eq!(parse(&["@notes.md"]), Err(OmpArgsError::FileArgument));
        assert_eq!(
            parse(&["--frob", "@notes.md"]),
            Err(OmpArgsError::FileArgument)
        );
        assert_eq!(
            parse(&["--model"]),
            Err(OmpArgsError::NoValue("--model".into()))
        );
        assert_eq!(parse(&["--name"]).unwrap().ignored, ["--name"]);
    }

    #[test]
    fn the_mode_says_whether_this_dialect_is_meant() {
        for (words, meant) in [
            (&["--mode", "rpc"][..], true),
            (&["--model", "m", "--mode=rpc"], true),
            (&["-p", "--mode", "json", "hi"], true),
            (&["--mode", "text"], false),
            (&["-p", "--", "--mode", "json"], false),
            (&["--mode"], false),
            (&["rpc"], false),
            (&[], false),
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(OmpArgs::are_meant(&words), meant, "{words:?}");
        }
    }
}
