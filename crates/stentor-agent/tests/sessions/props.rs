//! The props: tools and a shell that do nothing real.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stentor_agent::box_error::BoxError;
use stentor_agent::tool::{
    Plan, PlanPhase, PlanStatus, PlanTask, Shell, ShellFuture, ShellJob, ShellResult, Tool,
    ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio::time::sleep;

/// The calls that were really made, in order.
#[derive(Clone, Default)]
pub struct Runs(Arc<Mutex<Vec<String>>>);

impl Runs {
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

/// Every tool there is.
///
/// `look` reads and `act` executes; both wait `ms` milliseconds, say `say`, and stop when told to.
/// `deaf` does not stop. `explode` panics. `report` tells how far it is. `plan` keeps the plan.
pub fn tools(runs: &Runs) -> Vec<Arc<dyn Tool>> {
    [
        ("look", ToolEffect::Reads),
        ("act", ToolEffect::Executes),
        ("deaf", ToolEffect::Executes),
        ("explode", ToolEffect::Executes),
        ("touchy", ToolEffect::Reads),
        ("report", ToolEffect::Executes),
        ("plan", ToolEffect::Nothing),
    ]
    .into_iter()
    .map(|(name, effect)| {
        let spec = ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: String::new(),
            parameters: json!({"type":"object","properties":{
                "ms":{"type":"number"},"say":{"type":"string"}}})
            .into(),
            effect,
        };
        let runs = runs.clone();
        Arc::new(Prop { spec, runs }) as Arc<dyn Tool>
    })
    .collect()
}

/// The plan that the tool `plan` sets.
pub fn the_plan() -> Plan {
    Plan {
        phases: vec![PlanPhase {
            name: "all".to_owned(),
            tasks: vec![PlanTask {
                content: "write it".to_owned(),
                status: PlanStatus::InProgress,
            }],
        }],
    }
}

struct Prop {
    spec: ToolSpec,
    runs: Runs,
}

impl Tool for Prop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        if self.spec.name == "touchy" {
            panic!("do not ask me");
        }
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(self.play(arguments, context))
    }
}

impl Prop {
    async fn play(
        self: Arc<Self>,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> ToolOutput {
        let wait = Duration::from_millis(arguments.get("ms").and_then(Value::as_u64).unwrap_or(0));
        let say = arguments
            .get("say")
            .and_then(Value::as_str)
            .unwrap_or("done")
            .to_owned();
        self.runs.note(format!("{} {say}", self.spec.name));
        match self.spec.name.as_str() {
            "explode" => panic!("boom"),
            "deaf" => sleep(Duration::from_secs(3600)).await,
            "report" => {
                for part in 1..=3 {
                    context
                        .progress
                        .report(ToolOutput::text(format!("{part} of 3")));
                    sleep(Duration::from_millis(10)).await;
                }
            }
            "plan" => {
                context.host.set_plan(the_plan());
                return ToolOutput::text(say).with_details(json!(the_plan()));
            }
            _ => tokio::select! {
                () = sleep(wait) => {}
                () = context.cancel.cancelled() => return ToolOutput::error("stopped"),
            },
        }
        ToolOutput::text(say)
    }
}

/// Understands `echo TEXT`, `sleep MS`, `fail`, `deaf` and `explode`.
pub struct FakeShell;

impl Shell for FakeShell {
    fn run(&self, job: ShellJob) -> ShellFuture {
        Box::pin(play(job)) as Pin<Box<_>>
    }
}

async fn play(job: ShellJob) -> Result<ShellResult, BoxError> {
    let (word, rest) = job.command.split_once(' ').unwrap_or((&job.command, ""));
    let done = |output: &str, exit_code| ShellResult {
        output: output.to_owned(),
        exit_code,
        cancelled: exit_code.is_none(),
        ..ShellResult::default()
    };
    match word {
        "echo" => {
            (job.output)(rest);
            Ok(done(rest, Some(0)))
        }
        "sleep" => {
            tokio::select! {
                () = sleep(Duration::from_millis(rest.parse().unwrap())) => Ok(done("", Some(0))),
                () = job.cancel.cancelled() => Ok(done("", None)),
            }
        }
        "deaf" => {
            sleep(Duration::from_secs(3600)).await;
            Ok(done("", Some(0)))
        }
        "fail" => Err("no shell here".into()),
        other => panic!("no such command: {other}"),
    }
}
