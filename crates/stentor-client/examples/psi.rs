//! Lists the models and sessions of a psi backend.
//!
//! `cargo run -p stentor-client --example psi -- stentor --rpc-edn`

use std::io::{self, Write};

use stentor_client::{AgentDialect, ChildAgent, DenyAll, StartOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = StartOptions::new(AgentDialect::Psi, std::env::args().skip(1));
    // Whoever does not want events drops them.
    let (agent, _) = ChildAgent::start(options, DenyAll).await?;
    let mut out = io::stdout();
    for model in agent.models().await? {
        writeln!(out, "{}\t{}", model.id, model.name)?;
    }
    for session in agent.sessions().await? {
        writeln!(out, "{}\t{}", session.id, session.title.unwrap_or_default())?;
    }
    agent.stop().await;
    Ok(())
}
