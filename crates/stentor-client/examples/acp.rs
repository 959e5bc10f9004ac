//! Gives an ACP agent one prompt and asks on the terminal before its tools run.
//!
//! `cargo run -p stentor-client --example acp -- 'Which tests are slow?' goose acp`

use std::io::{self, Write};

use stentor_client::{
    AgentDialect, AgentEvent, ChildAgent, Host, HostFuture, HostPermissionAnswer, Permission,
    StartOptions,
};

/// Asks whoever sits at the terminal.
struct Terminal;

impl Host for Terminal {
    fn permission(&self, permission: Permission) -> HostFuture<'_, HostPermissionAnswer> {
        Box::pin(async move {
            let answer = tokio::task::spawn_blocking(move || {
                let mut line = String::new();
                write!(io::stderr(), "\n{} [y/N] ", permission.title).ok()?;
                io::stdin().read_line(&mut line).ok()?;
                Some(match line.trim() {
                    "y" => permission.allow_once(),
                    _ => permission.refuse(),
                })
            });
            answer
                .await
                .ok()
                .flatten()
                .unwrap_or(HostPermissionAnswer::Cancelled)
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let prompt = words.next().ok_or("what shall it do?")?;
    let options = StartOptions::new(AgentDialect::Acp, words);
    let (agent, mut events) = ChildAgent::start(options, Terminal).await?;
    agent.prompt(prompt).await?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::Text(text) => write!(io::stdout(), "{text}")?,
            AgentEvent::ToolCalled(call) => {
                writeln!(io::stderr(), "\n{}", call.title.unwrap_or(call.name))?;
            }
            AgentEvent::TurnEnded(end) => {
                writeln!(io::stderr(), "\n{:?}", end.reason)?;
                break;
            }
            _ => {}
        }
    }
    agent.stop().await;
    Ok(())
}
