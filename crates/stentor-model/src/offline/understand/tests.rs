use super::*;
use crate::offline::intent::Lines;

fn list(path: Option<&str>) -> Intent {
    Intent::List {
        path: path.map(Into::into),
    }
}

fn read(path: &str) -> Intent {
    lines(path, Lines::All)
}

fn lines(path: &str, lines: Lines) -> Intent {
    Intent::Read {
        path: path.into(),
        lines,
    }
}

fn from(first: u64, count: Option<u64>) -> Lines {
    Lines::From { first, count }
}

fn find(pattern: &str, path: Option<&str>) -> Intent {
    Intent::FindFiles {
        pattern: pattern.into(),
        path: path.map(Into::into),
    }
}

fn search(text: &str, path: Option<&str>) -> Intent {
    Intent::Search {
        text: text.into(),
        path: path.map(Into::into),
    }
}

fn run(command: &str) -> Intent {
    Intent::Run {
        command: command.into(),
    }
}

fn write(path: &str, content: &str) -> Intent {
    Intent::Write {
        path: path.into(),
        content: content.into(),
    }
}

fn append(path: &str, content: &str) -> Intent {
    Intent::Append {
        path: path.into(),
        content: content.into(),
    }
}

fn replace(path: &str, old: &str, new: &str) -> Intent {
    Intent::Replace {
        path: path.into(),
        old: old.into(),
        new: new.into(),
    }
}

fn plan(items: &[&str]) -> Intent {
    Intent::Plan {
        items: items.iter().map(|item| (*item).to_owned()).collect(),
    }
}

fn check(table: &[(&str, Intent)]) {
    let mut wrong = Vec::new();
    for (prompt, expected) in table {
        let got = understand(prompt);
        if got != [expected.clone()] {
            wrong.push(format!(
                "{prompt}\n   expected {expected:?}\n   got      {got:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn requests_to_list() {
    check(&[
        ("list", list(None)),
        ("ls", list(None)),
        ("ls -la", list(None)),
        ("ls src", list(Some("src"))),
        ("list files", list(None)),
        ("List all the files in this folder.", list(None)),
        ("Please list the files in `src/lib`", list(Some("src/lib"))),
        ("can you show me the files in docs?", list(Some("docs"))),
        ("what files are here?", list(None)),
        ("What's in this folder?", list(None)),
        ("what is in src/?", list(Some("src/"))),
        ("show the folder crates", list(Some("crates"))),
        ("which files are in src", list(Some("src"))),
        ("list ..", list(Some(".."))),
    ]);
}

#[test]
fn requests_to_read() {
    check(&[
        ("read README.md", read("README.md")),
        ("cat Cargo.toml", read("Cargo.toml")),
        ("Show me the file src/main.rs please", read("src/main.rs")),
        ("open 'my notes.txt'", read("my notes.txt")),
        ("could you print the contents of a.json?", read("a.json")),
        ("what does README.md say?", read("README.md")),
        ("what's in Cargo.toml?", read("Cargo.toml")),
        ("display LICENSE", read("LICENSE")),
        (
            "read lines 10 to 40 of src/main.rs",
            lines("src/main.rs", from(10, Some(31))),
        ),
        (
            "show src/main.rs lines 10-40",
            lines("src/main.rs", from(10, Some(31))),
        ),
        (
            "show the first 20 lines of a.log",
            lines("a.log", from(1, Some(20))),
        ),
        (
            "show the last 5 lines of a.log",
            lines("a.log", Lines::Last { count: 5 }),
        ),
        ("show line 7 of a.txt", lines("a.txt", from(7, Some(1)))),
        ("read a.txt from line 100", lines("a.txt", from(100, None))),
        ("head -3 a.txt", lines("a.txt", from(1, Some(3)))),
        ("tail -n 4 a.txt", lines("a.txt", Lines::Last { count: 4 })),
        ("look at .gitignore", read(".gitignore")),
        ("show me what's in the README", read("README")),
        (
            "print the first line of a.txt",
            lines("a.txt", from(1, Some(1))),
        ),
        (
            "print the last line of a.txt",
            lines("a.txt", Lines::Last { count: 1 }),
        ),
    ]);
}

#[test]
fn requests_to_find_files() {
    check(&[
        ("find *.rs", find("*.rs", None)),
        ("find all rust files", find("*.rs", None)),
        ("find markdown files in docs", find("*.md", Some("docs"))),
        ("find files named config", find("*config*", None)),
        ("find the file main.rs", find("main.rs", None)),
        ("find Cargo.toml", find("Cargo.toml", None)),
        ("where is main.rs?", find("main.rs", None)),
        ("where is the file lib.rs", find("lib.rs", None)),
        ("locate Makefile", find("Makefile", None)),
        ("list all *.toml files", find("*.toml", None)),
        ("find files ending in .yaml", find("*.yaml", None)),
        ("show me all python files", find("*.py", None)),
    ]);
}

#[test]
fn requests_to_search() {
    check(&[
        ("find TODO in this folder", search("TODO", None)),
        ("find TODO", search("TODO", None)),
        ("Find all TODO comments", search("TODO", None)),
        (
            "search for 'hello world' in src",
            search("hello world", Some("src")),
        ),
        ("search for unwrap", search("unwrap", None)),
        ("grep foo", search("foo", None)),
        ("grep -rn foo src", search("foo", Some("src"))),
        ("grep foo src/lib.rs", search("foo", Some("src/lib.rs"))),
        (
            "look for `Arc<Mutex` in crates/",
            search("Arc<Mutex", Some("crates/")),
        ),
        ("where is parse_line used?", search("parse_line", None)),
        ("where is the function `main` defined", search("main", None)),
        ("where do we use tokio?", search("tokio", None)),
        ("which files contain FIXME?", search("FIXME", None)),
        ("find files containing 'x y'", search("x y", None)),
        (
            "find all occurrences of ModelInfo in crates",
            search("ModelInfo", Some("crates")),
        ),
        ("search src for panic", search_in_src()),
        (
            "find the word error in the logs folder",
            search("error", Some("logs")),
        ),
        ("find TODO in my code", search("TODO", None)),
        ("search in src for panic", search("panic", Some("src"))),
        (
            "search the codebase for deadlocks",
            search("deadlocks", None),
        ),
    ]);
}

fn search_in_src() -> Intent {
    search("panic", Some("src"))
}

#[test]
fn requests_to_run_a_command() {
    check(&[
        ("run `ls -la`", run("ls -la")),
        ("Run `ls -la`, please", run("ls -la")),
        ("run ls -la", run("ls -la")),
        ("execute \"echo hi\"", run("echo hi")),
        ("please run the command `cargo build`", run("cargo build")),
        ("run the command: make all", run("make all")),
        ("can you run cargo test?", run("cargo test")),
        ("run ./build.sh --fast", run("./build.sh --fast")),
        ("$ echo a; echo b then c", run("echo a; echo b then c")),
        ("`pwd`", run("pwd")),
        ("git status", run("git status")),
        ("show me the git status", run("git status")),
        ("git log --oneline -3", run("git log --oneline -3")),
        ("show the last 5 commits", run("git log --oneline -n 5")),
        ("what changed?", run("git diff")),
        ("show the diff", run("git diff")),
        ("where am I?", run("pwd")),
        ("run 'sleep 1' in this folder", run("sleep 1")),
        ("run `rm a.txt`", run("rm a.txt")),
        (
            "run `cargo test` and tell me what failed",
            run("cargo test"),
        ),
        ("cat a.txt | grep foo", run("cat a.txt | grep foo")),
        ("echo hello", run("echo hello")),
        ("cargo build --release", run("cargo build --release")),
        ("git commit -m \"x\"", run("git commit -m \"x\"")),
        ("what's the current directory?", run("pwd")),
    ]);
}

#[test]
fn requests_to_write() {
    check(&[
        ("write hello to a.txt", write("a.txt", "hello\n")),
        (
            "write 'hello world' into notes/a.txt",
            write("notes/a.txt", "hello world\n"),
        ),
        (
            "save \"x = 1\" as config.toml",
            write("config.toml", "x = 1\n"),
        ),
        (
            "create a file notes.md with the content: first do this then that",
            write("notes.md", "first do this then that\n"),
        ),
        (
            "Create a file called a.txt containing 'abc'",
            write("a.txt", "abc\n"),
        ),
        (
            "create main.rs:\n```rust\nfn main() {}\n```",
            write("main.rs", "fn main() {}\n"),
        ),
        (
            "write this to a.py:\nprint(1)\nprint(2)",
            write("a.py", "print(1)\nprint(2)\n"),
        ),
        ("create an empty file b.txt", write("b.txt", "")),
        ("save this as x.md: some text", write("x.md", "some text\n")),
        ("create a file a.txt that says hi", write("a.txt", "hi\n")),
        ("append 'more' to a.txt", append("a.txt", "more\n")),
        (
            "add the line `x: 1` to conf.yaml",
            append("conf.yaml", "x: 1\n"),
        ),
        (
            "append done to the end of log.txt",
            append("log.txt", "done\n"),
        ),
    ]);
}

#[test]
fn requests_to_change() {
    check(&[
        (
            "replace foo with bar in a.txt",
            replace("a.txt", "foo", "bar"),
        ),
        (
            "Replace 'old name' by \"new name\" in src/lib.rs",
            replace("src/lib.rs", "old name", "new name"),
        ),
        ("change `a` to `b` in x.rs", replace("x.rs", "a", "b")),
        ("in a.txt, replace x with y", replace("a.txt", "x", "y")),
        (
            "replace \"a\" with \"\" in b.txt",
            replace("b.txt", "a", ""),
        ),
        (
            "replace all occurrences of foo with bar in a.txt",
            replace("a.txt", "foo", "bar"),
        ),
        (
            "rename old_fn to new_fn in lib.rs",
            replace("lib.rs", "old_fn", "new_fn"),
        ),
    ]);
}

#[test]
fn requests_to_sum_up() {
    let folder = |path: Option<&str>| Intent::SummariseFolder {
        path: path.map(Into::into),
    };
    check(&[
        ("summarise this folder", folder(None)),
        ("Summarize this project", folder(None)),
        ("what is this project about?", folder(None)),
        ("give me an overview", folder(None)),
        ("summarise crates/", folder(Some("crates/"))),
        ("describe the folder src", folder(Some("src"))),
        ("tell me about this repo", folder(None)),
        ("summarize src", folder(Some("src"))),
        (
            "summarise README.md",
            Intent::SummariseFile {
                path: "README.md".into(),
            },
        ),
        (
            "explain src/main.rs",
            Intent::SummariseFile {
                path: "src/main.rs".into(),
            },
        ),
        (
            "count the lines in a.txt",
            Intent::CountLines {
                path: Some("a.txt".into()),
            },
        ),
        (
            "how many lines does a.txt have?",
            Intent::CountLines {
                path: Some("a.txt".into()),
            },
        ),
        (
            "how many lines of code are there?",
            Intent::CountLines { path: None },
        ),
        (
            "how many files are in src?",
            Intent::CountFiles {
                path: Some("src".into()),
            },
        ),
        (
            "how many files are here?",
            Intent::CountFiles { path: None },
        ),
    ]);
}

#[test]
fn plans_and_small_talk() {
    check(&[
        ("plan: a; b; c", plan(&["a", "b", "c"])),
        (
            "Make a plan: read the code, write a test",
            plan(&["read the code", "write a test"]),
        ),
        (
            "todo:\n- [ ] one\n- two\n3. three",
            plan(&["one", "two", "three"]),
        ),
        ("plan: build then test", plan(&["build", "test"])),
        ("help", Intent::Help),
        ("What can you do?", Intent::Help),
        ("are you a language model?", Intent::Help),
        ("?", Intent::Help),
        ("hello", Intent::Greeting),
        ("Hi there!", Intent::Greeting),
        ("", Intent::Greeting),
        ("thank you", Intent::Thanks),
    ]);
}

#[test]
fn what_is_not_a_request_is_not_misread_as_one() {
    for prompt in [
        "how do I run the tests?",
        "run the tests",
        "run tests",
        "run it again",
        "run a marathon",
        "why does `cargo build` fail?",
        "how do I delete a branch?",
        "write a function that sorts a list",
        "write tests for src/lib.rs",
        "write documentation to README.md",
        "write the tests to tests.rs",
        "write a summary of the project to SUMMARY.md",
        "add tests to foo.rs",
        "add error handling to src/main.rs",
        "find a good name for my dog",
        "find out why the build is so slow today",
        "change the color to blue",
        "make it faster",
        "create a web server",
        "fix the bug in main.rs",
        "refactor src/lib.rs",
        "read between the lines",
        "what is the meaning of life?",
        "where is Berlin?",
        "where is my mind",
        "when does the list end?",
        "should I run `make`?",
        "is `rm -rf /` dangerous?",
        "the tests run slowly",
        "list comprehension in python is slow, why?",
        "show me how to write a parser",
        "open the pod bay doors",
        "do you think we should rewrite it?",
        "I ran ls -la and nothing happened",
        "explain monads",
        "replace the parser",
        "list files and make me happy",
        "count on me",
        "open src/main.rs and explain it",
        "create a new file called hello.py that prints hello",
        "add tests to foo.rs: cover the error paths",
        "list my problems",
        "format the code",
        "clean up the code",
        "find where the config is loaded",
        "search google for cats",
        "cargo is slow today",
        "python code is hard to read",
        "explain this",
        "what is in the box?",
    ] {
        assert_eq!(understand(prompt), [Intent::Unknown], "{prompt}");
    }
}

#[test]
fn destructive_wishes_are_answered_and_not_done() {
    for prompt in [
        "delete everything",
        "please delete all files",
        "remove the file a.txt",
        "wipe my disk",
        "rm -rf /",
        "erase this folder",
        "get rid of src",
    ] {
        assert_eq!(
            understand(prompt),
            [Intent::Refuse(Refusal::Delete)],
            "{prompt}"
        );
    }
    for command in [
        "rm -rf /",
        "sudo rm -fr ~",
        "rm -r -f *",
        "mkfs.ext4 /dev/sda1",
        ":(){ :|:& };:",
        "dd if=/dev/zero of=/dev/sda",
        "shutdown now",
    ] {
        let refused = [Intent::Refuse(Refusal::Destructive {
            command: command.into(),
        })];
        assert_eq!(understand(&format!("run `{command}`")), refused);
        assert_eq!(understand(&format!("$ {command}")), refused);
    }
    for prompt in [
        "don't run `ls`",
        "do not write hello to a.txt",
        "never delete a.txt",
    ] {
        assert_eq!(
            understand(prompt),
            [Intent::Refuse(Refusal::Negated)],
            "{prompt}"
        );
    }
}

#[test]
fn several_requests_are_done_in_order() {
    for (prompt, expected) in [
        (
            "list the files, then read a.txt and then run `wc -l a.txt`",
            vec![list(None), read("a.txt"), run("wc -l a.txt")],
        ),
        (
            "list the files and read a.txt",
            vec![list(None), read("a.txt")],
        ),
        (
            "write hello to a.txt then run `cat a.txt`",
            vec![write("a.txt", "hello\n"), run("cat a.txt")],
        ),
        (
            "Read a.txt. Then find TODO in src.",
            vec![read("a.txt"), search("TODO", Some("src"))],
        ),
        ("run `a; then b`", vec![run("a; then b")]),
        ("search for 'x and list'", vec![search("x and list", None)]),
        ("hello! list the files. thanks", vec![list(None)]),
        ("read a.txt\nread b.txt", vec![read("a.txt"), read("b.txt")]),
        ("list files then sing a song", vec![Intent::Unknown]),
    ] {
        assert_eq!(understand(prompt), expected, "{prompt}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_understood_as_something(text in "(run|find|write|read|lines|to|in|with|and|then|:|`|'|[a-z.]{1,4}|[0-9]| |\n|é|“){0,30}") {
        assert!(!understand(&text).is_empty());
    }
}
