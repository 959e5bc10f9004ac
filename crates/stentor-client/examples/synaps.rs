//! Goes on with a conversation of a synaps child, and says with which id it can be continued.
//!
//! `cargo run -p stentor-client --example synaps -- 'And then?' SESSION synaps rpc`

use std::io::{self, Write};

use stentor_client::{AgentDialect, AgentEvent, ChildAgent, DenyAll, InitialSession, StartOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let prompt = words.next().ok_or("what shall it do?")?;
    let session = words.next().filter(|session| session != "new");
    let mut options = StartOptions::new(AgentDialect::Synaps, words);
    options.session = session.map_or(InitialSession::New, InitialSession::Resume);
    let (agent, mut events) = ChildAgent::start(options, DenyAll).await?;
    agent.prompt(prompt).await?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::Text(text) => write!(io::stdout(), "{text}")?,
            AgentEvent::TurnEnded(end) => {
                writeln!(io::stderr(), "\n{:?}", end.usage)?;
                break;
            }
            _ => {}
        }
    }
    let id = agent.session().await?.resume_id.unwrap_or_default();
    writeln!(io::stderr(), "continue with {id}")?;
    agent.stop().await;
    Ok(())
}
