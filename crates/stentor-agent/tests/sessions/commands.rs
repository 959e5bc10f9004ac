//! The slash commands of a session: who brings them, what they mean, who is told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Map, Value, json};
use stentor_agent::commands::{CommandCache, CommandFolders, PromptFuture, PromptSource};
use stentor_agent::event::{CommandInfo, CommandSource, EventKind};
use stentor_agent::session::SessionError;
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_model::script::Scenario;

use crate::stage::{Stage, say, with};

/// A tool that does nothing but be there, and is renewed when it is told to.
struct There {
    spec: ToolSpec,
    next: Mutex<Option<String>>,
}

impl There {
    fn new(name: &str, description: &str) -> Arc<Self> {
        Arc::new(Self {
            spec: ToolSpec {
                name: name.to_owned(),
                label: name.to_owned(),
                description: description.to_owned(),
                parameters: json!({ "type": "object" }).into(),
                effect: ToolEffect::Nothing,
            },
            next: Mutex::default(),
        })
    }
}

impl Tool for There {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn renewed(&self) -> Option<Arc<dyn Tool>> {
        let next = self.next.lock().unwrap().take()?;
        Some(Self::new(&self.spec.name, &next))
    }

    fn run(self: Arc<Self>, _: Map<String, Value>, _: ToolContext) -> ToolFuture {
        Box::pin(std::future::ready(ToolOutput::text("done")))
    }
}

/// A tool that writes a template.
struct Writer {
    spec: ToolSpec,
    root: PathBuf,
}

impl Tool for Writer {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, _: Map<String, Value>, _: ToolContext) -> ToolFuture {
        write(&self.root, ".pi/prompts/two.md", "Two");
        Box::pin(std::future::ready(ToolOutput::text("written")))
    }
}

/// Prompts as a server keeps them.
struct Server(Mutex<Vec<&'static str>>);

impl PromptSource for Server {
    fn prompts(&self) -> Vec<CommandInfo> {
        let names = self.0.lock().unwrap().clone();
        let infos = names.into_iter().map(|name| CommandInfo {
            name: name.to_owned(),
            description: None,
            hint: None,
            source: CommandSource::McpPrompt,
            path: None,
        });
        infos.collect()
    }

    fn fetch(&self, name: &str, arguments: &str) -> PromptFuture {
        let fetched = match name {
            "srv:broken" => Err("the server is gone".into()),
            name => Ok(say(&format!("{name} of the server with {arguments}"))),
        };
        Box::pin(std::future::ready(fetched))
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn stage(root: &Path, tools: &[&str]) -> Stage {
    let cache = CommandCache::new(CommandFolders {
        project: root.into(),
        ..CommandFolders::default()
    });
    let tools = tools
        .iter()
        .map(|name| There::new(name, "old") as Arc<dyn Tool>);
    let tools = tools.collect();
    with(
        Scenario::new()
            .tool("writer", json!({}))
            .text("done")
            .text("done"),
    )
    .options(|options| {
        options.commands = Some(Arc::new(cache));
        options.system_prompt = "You are here.".into();
        options.tools = tools;
    })
    .start()
}

/// The names in every list that was told so far.
fn told(stage: &mut Stage) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(event) = stage.events.try_next() {
        if let EventKind::CommandsChanged(list) = event.kind {
            let names: Vec<&str> = list.iter().map(|info| info.name.as_str()).collect();
            told.push(names.join(" "));
        }
    }
    told
}

async fn meant(stage: &Stage, text: &str) -> Result<String, SessionError> {
    let content = stage.session.expand(say(text)).await?;
    let texts = content.iter().filter_map(|block| block.as_text());
    Ok(texts.collect::<Vec<_>>().join("|"))
}

#[tokio::test]
async fn a_change_is_told_once_and_not_to_who_has_listed_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(folder.path(), &[]);
    stage.session.commands_changed().await;
    assert_eq!(told(&mut stage), Vec::<String>::new());
    write(folder.path(), ".pi/prompts/one.md", "One");
    stage.session.commands_changed().await;
    stage.session.commands_changed().await;
    assert_eq!(told(&mut stage), ["one"]);
    write(folder.path(), ".pi/prompts/two.md", "Two");
    assert_eq!(stage.session.slash().list().await.len(), 2);
    stage.session.commands_changed().await;
    assert_eq!(told(&mut stage), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_run_finds_changed_is_told_before_it_begins_or_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(folder.path(), &[]);
    let tool = Writer {
        spec: There::new("writer", "").spec.clone(),
        root: folder.path().to_owned(),
    };
    stage.session.set_tools(vec![Arc::new(tool)]).await.unwrap();
    write(folder.path(), ".pi/prompts/one.md", "One");
    stage.prompt("go").await;
    let mut told = Vec::new();
    loop {
        let event = stage.until(|_| true).await;
        told.push(match &event.kind {
            EventKind::RunStarted => "begins".to_owned(),
            EventKind::RunEnded(_) => "ends".to_owned(),
            EventKind::CommandsChanged(list) => format!("{} commands", list.len()),
            EventKind::Settled { .. } => break,
            _ => continue,
        });
    }
    assert_eq!(told, ["1 commands", "begins", "2 commands", "ends"]);
}

#[tokio::test]
async fn prompts_of_a_server_are_commands_and_files_come_before_them() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ".stentor/prompts/same.md", "Of the file");
    let mut stage = stage(folder.path(), &[]);
    let server = Arc::new(Server(Mutex::new(vec!["same", "srv:plan", "srv:broken"])));
    stage.session.add_prompts(Arc::clone(&server) as _).await;
    assert_eq!(told(&mut stage), ["same srv:plan srv:broken"]);
    assert_eq!(meant(&stage, "/same").await.unwrap(), "Of the file");
    assert_eq!(
        meant(&stage, "/srv:plan a b").await.unwrap(),
        "srv:plan of the server with a b"
    );
    let error = meant(&stage, "/srv:broken").await.unwrap_err();
    assert_eq!(error.to_string(), "/srv:broken failed: the server is gone");
    server.0.lock().unwrap().clear();
    stage.session.commands_changed().await;
    assert_eq!(told(&mut stage), ["same"]);
    assert_eq!(meant(&stage, "/srv:plan a").await.unwrap(), "/srv:plan a");
}

#[tokio::test]
async fn only_the_first_text_is_a_command_and_what_follows_stays() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ".stentor/prompts/one.md", "One: $@");
    let stage = stage(folder.path(), &[]);
    let mut content = say("/one two");
    content.extend(say("/one three"));
    let content = stage.session.expand(content).await.unwrap();
    let texts: Vec<&str> = content.iter().filter_map(|block| block.as_text()).collect();
    assert_eq!(texts, ["One: two", "/one three"]);
    for plain in ["", "/", "one", " /", "/none", "//one"] {
        assert_eq!(meant(&stage, plain).await.unwrap(), plain);
    }
    assert_eq!(meant(&stage, " \n/one\t x ").await.unwrap(), "One: x");
}

#[tokio::test]
async fn agents_are_commands_where_tasks_can_be_given_to_them() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ".claude/agents/tester.md", "You test.");
    let without = stage(folder.path(), &[]);
    assert_eq!(without.session.slash().list().await.len(), 0);
    let having = stage(folder.path(), &["subagent"]);
    let list = having.session.slash().list().await;
    assert_eq!((list.len(), list[0].name.as_str()), (1, "agent:tester"));
}

#[tokio::test]
async fn the_model_is_told_of_skills_it_can_read_as_they_are_when_a_run_begins() {
    let folder = tempfile::tempdir().unwrap();
    let skill = |name: &str, more: &str| {
        let text = format!("---\ndescription: For {name}\n{more}---\nText.\n");
        write(
            folder.path(),
            &format!(".agents/skills/{name}/SKILL.md"),
            &text,
        );
    };
    skill("pdf", "");
    skill("secret", "disable-model-invocation: true\n");
    let mut blind = stage(folder.path(), &["look"]);
    blind.run("go").await;
    assert_eq!(&*blind.heard.last_request().system, "You are here.");
    let mut reading = stage(folder.path(), &["read"]);
    reading.run("go").await;
    let system = |stage: &Stage| {
        let system = stage.heard.last_request().system;
        system.replace(&folder.path().display().to_string(), "~~")
    };
    expect![[r#"
        You are here.

        <skills>
        Instructions for certain kinds of work. When a task is of that kind, read the file first and follow it; paths in it are relative to its folder.
        - pdf: For pdf (~~/.agents/skills/pdf/SKILL.md)
        </skills>"#]]
    .assert_eq(&system(&reading));
    skill("xml", "");
    reading.run("go").await;
    assert!(system(&reading).contains("- xml: For xml (~~/"));
}

#[tokio::test]
async fn a_tool_that_has_changed_is_told_anew_with_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(folder.path(), &[]);
    let tool = There::new("there", "old");
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::clone(&tool) as _];
    stage.session.set_tools(tools).await.unwrap();
    stage.run("go").await;
    assert_eq!(stage.heard.last_request().tools[0].description, "old");
    *tool.next.lock().unwrap() = Some("new".to_owned());
    stage.run("go").await;
    assert_eq!(stage.heard.last_request().tools[0].description, "new");
}
