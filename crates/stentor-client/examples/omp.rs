//! Steers pi or omp while it works.
//!
//! `cargo run -p stentor-client --example omp -- 'Explain this folder.' 'In one sentence.' pi --mode rpc`

use std::io::{self, Write};

use stentor_client::{AgentDialect, AgentEvent, ChildAgent, DenyAll, StartOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let prompt = words.next().ok_or("what shall it do?")?;
    let mut steer = words.next();
    let options = StartOptions::new(AgentDialect::Omp, words);
    let (agent, mut events) = ChildAgent::start(options, DenyAll).await?;
    agent.prompt(prompt).await?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::Text(text) => {
                write!(io::stdout(), "{text}")?;
                if let Some(message) = steer.take() {
                    agent.steer(message).await?;
                }
            }
            AgentEvent::UserMessage(text) => writeln!(io::stderr(), "\n> {text}")?,
            AgentEvent::TurnEnded(_) => break,
            _ => {}
        }
    }
    agent.stop().await;
    Ok(())
}
