use std::fs;
use std::path::Path;

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn book() -> (tempfile::TempDir, CommandBook) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    write(
        dir,
        "p/.stentor/prompts/review.md",
        "---\ndescription: \"Review a file\"\nargument-hint: FILE\n---\n\nReview $1.\n",
    );
    write(dir, "p/.claude/commands/review.md", "shadowed");
    write(dir, "p/.claude/commands/git/commit.md", "# Commit\nNow.");
    write(dir, "p/.claude/commands/notes.txt", "no command");
    write(dir, "home/.pi/agent/prompts/mine.md", "Mine");
    write(dir, "config/prompts/has space.md", "no name");
    write(
        dir,
        "config/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads PDFs\n---\nUse pdftotext.\n",
    );
    write(dir, "config/skills/empty/README.md", "no skill");
    let folders = CommandFolders {
        project: dir.join("p"),
        home: Some(dir.join("home")),
        config: Some(dir.join("config")),
    };
    let book = CommandBook::load(&folders);
    (root, book)
}

#[test]
fn templates_and_skills_are_found_and_the_nearest_wins() {
    let (_root, book) = book();
    let templates: Vec<(&str, &str, Origin)> = book
        .templates
        .iter()
        .map(|one| (&*one.name, &*one.description, one.origin))
        .collect();
    assert_eq!(
        templates,
        [
            ("git:commit", "Commit", Origin::Project),
            ("mine", "Mine", Origin::User),
            ("review", "Review a file", Origin::Project),
        ]
    );
    let names: Vec<String> = book.infos().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["git:commit", "mine", "review", "skill:pdf"]);
    assert_eq!(book.infos()[2].hint.as_deref(), Some("FILE"));
}

#[test]
fn a_command_expands_to_what_the_agent_is_asked() {
    let (root, book) = book();
    let expanded = book.expand(" /review src/a.rs ").unwrap();
    assert_eq!(
        (&*expanded.text, expanded.source),
        ("Review src/a.rs.\n", CommandSource::Prompt)
    );
    let place = root.path().join("config/skills/pdf/SKILL.md");
    assert_eq!(
        book.expand("/skill:pdf read it").unwrap().text,
        format!(
            "<skill name=\"pdf\" location=\"{}\">\nUse pdftotext.\n</skill>\n\nread it",
            place.display()
        )
    );
    assert_eq!(book.expand("/nope"), None);
    assert_eq!(book.expand("review x"), None);
    assert_eq!(book.expand("/skill:nope"), None);
}

#[test]
fn without_folders_there_are_no_commands() {
    let folders = CommandFolders {
        project: "/nonexistent/p".into(),
        ..CommandFolders::default()
    };
    assert_eq!(CommandBook::load(&folders), CommandBook::default());
}

#[test]
fn a_file_too_large_or_not_utf8_harms_nobody() {
    let root = tempfile::tempdir().unwrap();
    let large = "x".repeat(usize::try_from(file::MAX_FILE_BYTES).unwrap() + 1);
    write(root.path(), ".stentor/prompts/large.md", &large);
    let bytes = root.path().join(".stentor/prompts/bytes.md");
    fs::write(bytes, b"a\xffb").unwrap();
    let folders = CommandFolders {
        project: root.path().into(),
        ..CommandFolders::default()
    };
    let book = CommandBook::load(&folders);
    assert_eq!(book.templates.len(), 1);
    assert_eq!(book.templates[0].content, "a\u{fffd}b");
}
