use std::fs;
use std::path::Path;

use super::*;
use crate::agent_folders::AgentFolders;
use crate::project_files::FileOrigin;

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
    write(
        dir,
        "p/.agents/skills/group/quiet/SKILL.md",
        "---\ndescription: >-\n  For the\n  model\nuser-invocable: false\n---\nShh.\n",
    );
    write(
        dir,
        "p/.claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews\n---\nYou review.\n",
    );
    let folders = CommandFolders {
        project: dir.join("p").into(),
        home: Some(dir.join("home")),
        agent_folders: AgentFolders::find(Some(&dir.join("home")), |_| None::<String>),
        config: Some(dir.join("config")),
        ..CommandFolders::default()
    };
    let book = CommandBook::load(&folders);
    (root, book)
}

#[test]
fn templates_and_skills_are_found_and_the_nearest_wins() {
    let (_root, book) = book();
    let templates: Vec<(&str, &str, FileOrigin)> = book
        .templates
        .iter()
        .map(|one| (&*one.name, &*one.description, one.origin))
        .collect();
    assert_eq!(
        templates,
        [
            ("git:commit", "Commit", FileOrigin::Project),
            ("mine", "Mine", FileOrigin::User),
            ("review", "Review a file", FileOrigin::Project),
        ]
    );
    let names: Vec<String> = book.infos().into_iter().map(|info| info.name).collect();
    assert_eq!(
        names,
        [
            "git:commit",
            "mine",
            "review",
            "skill:pdf",
            "agent:reviewer"
        ]
    );
    let skills: Vec<(&str, &str)> = book
        .skills
        .iter()
        .map(|one| (&*one.name, &*one.description))
        .collect();
    assert_eq!(skills, [("pdf", "Reads PDFs"), ("quiet", "For the model")]);
    assert_eq!(book.infos()[2].hint.as_deref(), Some("FILE"));
}

#[test]
fn a_command_expands_to_what_the_agent_is_asked() {
    let (root, book) = book();
    let expanded = book.expand("review", "src/a.rs").unwrap();
    assert_eq!(expanded, "Review src/a.rs.\n");
    let folder = root.path().join("config/skills/pdf");
    let folder = folder.display();
    assert_eq!(
        book.expand("skill:pdf", "read it").unwrap(),
        format!(
            "<skill name=\"pdf\" location=\"{folder}/SKILL.md\">\nPaths in it are relative to {folder}.\n\nUse pdftotext.\n</skill>\n\nread it",
        )
    );
    assert_eq!(
        book.expand("agent:reviewer", "src/a.rs").unwrap(),
        "Give this task to the agent `reviewer` with the subagent tool, and tell me what it reports:\n\nsrc/a.rs"
    );
    assert_eq!(book.expand("nope", ""), None);
    assert_eq!(book.expand("skill:nope", ""), None);
    assert_eq!(book.expand("agent:nope", ""), None);
    // Not for people.
    assert_eq!(book.expand("skill:quiet", ""), None);
}

#[test]
fn templates_and_skills_can_be_left_out() {
    let (root, _) = book();
    let mut folders = CommandFolders {
        project: root.path().join("p").into(),
        config: Some(root.path().join("config")),
        without_skills: true,
        ..CommandFolders::default()
    };
    let book = CommandBook::load(&folders);
    assert_eq!((book.templates.len(), book.skills.len()), (2, 0));
    folders.without_templates = true;
    folders.without_skills = false;
    let book = CommandBook::load(&folders);
    assert_eq!((book.templates.len(), book.skills.len()), (0, 2));
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

#[test]
fn folders_above_count_up_to_the_root_of_the_project() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    write(dir, "home/repo/.git/HEAD", "ref");
    write(dir, "home/repo/.claude/commands/top.md", "Top");
    write(dir, "home/repo/sub/.claude/commands/near.md", "Near");
    write(dir, "home/repo/.claude/commands/near.md", "Far");
    write(dir, "home/.claude/commands/mine.md", "Mine");
    write(dir, ".claude/commands/other.md", "Other");
    let folders = CommandFolders {
        project: dir.join("home/repo/sub").into(),
        home: Some(dir.join("home")),
        agent_folders: AgentFolders::find(Some(&dir.join("home")), |_| None::<String>),
        ..CommandFolders::default()
    };
    let found = CommandBook::load(&folders);
    let found: Vec<(&str, &str, FileOrigin)> = found
        .templates
        .iter()
        .map(|one| (&*one.name, &*one.content, one.origin))
        .collect();
    assert_eq!(
        found,
        [
            ("mine", "Mine", FileOrigin::User),
            ("near", "Near", FileOrigin::Project),
            ("top", "Top", FileOrigin::Project),
        ]
    );
}

#[test]
fn a_command_cache_reads_again_only_what_changed() {
    let root = tempfile::tempdir().unwrap();
    let cache = CommandCache::new(CommandFolders {
        project: root.path().into(),
        ..CommandFolders::default()
    });
    assert_eq!(*cache.look(), CommandBook::default());
    write(root.path(), ".pi/prompts/one.md", "One");
    // Who does not look does not see.
    assert_eq!(*cache.seen(), CommandBook::default());
    let first = cache.look();
    assert_eq!(first.expand("one", "").as_deref(), Some("One"));
    assert!(std::sync::Arc::ptr_eq(&first, &cache.look()));
    write(root.path(), ".pi/prompts/one.md", "Another");
    assert_eq!(cache.look().expand("one", "").as_deref(), Some("Another"));
    fs::remove_file(root.path().join(".pi/prompts/one.md")).unwrap();
    assert_eq!(*cache.look(), CommandBook::default());
}
