//! What the guide says about itself, and when it does not know what to do.

/// Said once in a conversation.
pub const WHO_I_AM: &str =
    "I am Stentor's offline guide: I follow rules and am not a language model.";

/// How to get a language model.
const CONNECT: &str = "For anything else, connect a language model: `stentor login` lists where you \
                       can log in, a variable such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` works \
                       too, and `stentor models` shows what is usable.";

/// The answer to `help`.
pub fn help() -> String {
    format!(
        "{WHO_I_AM} I need no key and no network, and everything I do goes through the same tools \
         and permissions a language model would use.\n\n\
You can ask me to\n\n\
- **list** a folder: `list src`\n\
- **read** a file: `read README.md`, `show lines 10 to 40 of src/main.rs`\n\
- **find** files by name: `find *.toml`, `where is main.rs?`\n\
- **search** for text: `search for 'hello' in src`, `find TODO in this folder`\n\
- **run** a command: ``run `ls -la` ``, or the tests: `run the tests`\n\
- **write** a file: `write 'hello' to a.txt`\n\
- **replace** text: `replace 'old' with 'new' in src/lib.rs`\n\
- **summarise**: `summarise this folder`, `what does src/main.rs do?`\n\
- look at **git**: `git status`, `git diff`\n\n{CONNECT}"
    )
}

/// The answer to a request for which a tool is missing.
pub fn lacks(tool: &str) -> String {
    format!(
        "That needs the tool `{tool}`, which is not enabled in this session: `--tools` and the key \
         `tools` choose the tools."
    )
}

/// What may help when a call was not permitted.
pub const DENIED: &str = "Your permission settings do not allow this here. The modes `accept-edits` \
                          (changes of files) and `all` allow more: set one with \
                          `--permission-mode`, the key `permission_mode`, or in your client. \
                          `stentor permissions` shows what applies.";

/// The answer when nothing says how tests are run.
pub const NO_TESTS: &str = "I do not know how the tests of this project are run: there is no \
                            `Cargo.toml`, `package.json`, `pyproject.toml`, `go.mod` or `Makefile` \
                            here. Give me the command: ``run `…` ``.";

/// Words, and the next step that is a good one for a prompt with them.
const STEPS: &str = "\
project repo repository overview about this: `summarise this folder` shows what is in it
explain understand file code function why how does review: `what does FILE do?` gives the outline of a file
commit branch git diff changed push merge history: `git status` and `git diff` show what has changed
where find search which who used look: `search for 'text'` and `find *.toml` look through the files
fix change refactor rename update edit improve bug replace: `replace 'old' with 'new' in FILE` changes a text that you give
write create add new generate save document: `write 'some text' to notes.txt` writes a file
test tests build compile run start command install works delete remove: `run the tests`, or any command in backticks: ``run `make` ``";

/// The answer to everything else: that it was not understood, and the three best next steps.
pub fn not_understood(prompt: &str) -> String {
    let prompt = prompt.to_lowercase();
    let words: Vec<&str> = prompt
        .split(|char: char| !char.is_alphanumeric())
        .take(200)
        .collect();
    let score = |near: &str| near.split(' ').filter(|word| words.contains(word)).count();
    let steps = STEPS.lines().filter_map(|line| line.split_once(": "));
    let mut steps: Vec<(&str, &str)> = steps.collect();
    // The sort is stable: without a hint, the general ones come first.
    steps.sort_by_key(|(near, _)| std::cmp::Reverse(score(near)));
    let steps = steps.iter().take(2).map(|(_, step)| format!("\n- {step}"));
    format!(
        "That takes a language model, so I did nothing. What you can do next:\n\n\
- `stentor login`, or a key such as `ANTHROPIC_API_KEY`, connects one (`stentor models` shows which)\
{}",
        steps.collect::<String>()
    )
}
