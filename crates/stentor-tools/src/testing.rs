//! A folder, a context and a record of what a tool said, for the tests of the tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use stentor_agent::tool::{
    LocalPlace, Place, Plan, Progress, Tool, ToolContext, ToolHost, ToolOutput,
};
use stentor_journal::message::{ContentBlock, KnownBlock};
use tokio_util::sync::CancellationToken;

/// A temporary folder in which tools run.
pub(crate) struct Workshop {
    pub folder: tempfile::TempDir,
    pub cancel: CancellationToken,
    pub reports: Arc<Mutex<Vec<ToolOutput>>>,
    pub desk: Arc<Desk>,
    pub place: Arc<dyn Place>,
}

/// A session of which only the plan exists.
#[derive(Default)]
pub(crate) struct Desk {
    pub plan: Mutex<Plan>,
}

impl ToolHost for Desk {
    fn plan(&self) -> Plan {
        self.plan.lock().unwrap().clone()
    }

    fn set_plan(&self, plan: Plan) {
        *self.plan.lock().unwrap() = plan;
    }
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            cancel: CancellationToken::new(),
            reports: Arc::default(),
            desk: Arc::default(),
            place: Arc::new(LocalPlace),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn context(&self) -> ToolContext {
        let reports = Arc::clone(&self.reports);
        ToolContext {
            call_id: "call-1".into(),
            cwd: Arc::from(self.folder.path()),
            cancel: self.cancel.clone(),
            progress: Progress::new(move |output| reports.lock().unwrap().push(output)),
            place: Arc::clone(&self.place),
            host: Arc::clone(&self.desk) as Arc<dyn ToolHost>,
            spill_dir: Arc::from(self.folder.path().join(".spill")),
            touches: Arc::default(),
        }
    }

    pub(crate) async fn run(&self, tool: impl Tool + 'static, arguments: Value) -> ToolOutput {
        Arc::new(tool).run(object(arguments), self.context()).await
    }

    /// The result with the folder's name replaced by `FOLDER`.
    pub(crate) fn shown(&self, output: &ToolOutput) -> String {
        text(output).replace(&self.folder.path().display().to_string(), "FOLDER")
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("an object expected, not {other}"),
    }
}

/// The text of a result.
pub(crate) fn text(output: &ToolOutput) -> String {
    let texts: Vec<&str> = output
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Known(KnownBlock::Text(block)) => Some(block.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// True where the user may do everything, so that modes refuse nothing.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn is_gone(path: &Path) -> bool {
    !path.exists()
}
