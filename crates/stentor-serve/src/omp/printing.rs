//! `--mode json`: prompts of the command line, answered with pi's events, one JSON object a line.
//!
//! Nobody is read from and nothing is answered: the session's header comes first, then the events
//! of the runs, as they are told in `--mode rpc`, but only those that pi has.

use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::session::{Session, SessionError};
use stentor_journal::message::ContentBlock;
use tokio::time::timeout;

use super::OmpOptions;
use super::connection::OmpConnection;
use super::dialect::{announced_place, begin, finish, prepare, pumped};
use super::limits;
use crate::output::Output;
use crate::signals::{EndSignal, EndSignals};
use crate::stdio::Pipes;

/// Why nothing, or not everything, was asked.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    #[error("the process cannot be set up: {0}")]
    Setup(#[from] std::io::Error),
    #[error(transparent)]
    Agent(#[from] stentor_agent::agent::AgentError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Asks one prompt after the other and prints what happens. Returns the exit code: a run that
/// failed says so in its answer and is no failure of the program, as in pi.
pub async fn print_events(
    agent: Agent,
    pipes: Pipes,
    options: OmpOptions,
    prompts: Vec<Vec<ContentBlock>>,
) -> Result<u8, PrintError> {
    let mut signals = EndSignals::listen()?;
    let output = Output::write_to(pipes.stdout)?;
    let mut session_options = agent.options(&options.cwd)?;
    prepare(&agent, &options, &mut session_options);
    let connection = Arc::new(OmpConnection::printing());
    session_options.place = announced_place(&connection);
    let session = begin(&agent, &options, session_options)?.session;
    session.set_can_ask(false).await?;
    let (header, _) = session.entries().await?;
    let mut first_line = serde_json::to_vec(&header).map_err(std::io::Error::other)?;
    first_line.push(b'\n');
    // A closed pipe ends it below.
    output.send(&first_line).await.ok();
    let current = pumped(&connection, &output, session.clone(), 1);
    let ended = tokio::select! {
        asked = ask(&session, prompts) => asked.map(|()| None),
        signal = signals.next() => Ok(Some(signal)),
        () = output.closed() => Ok(None),
    };
    let winding_down = async {
        finish(current).await;
        output.finish().await;
    };
    let signal = match ended? {
        // Who reads slowly gets everything all the same.
        None => tokio::select! {
            () = winding_down => None,
            signal = signals.next() => Some(signal),
        },
        Some(signal) => {
            timeout(limits::WIND_DOWN, winding_down).await.ok();
            Some(signal)
        }
    };
    Ok(signal.map_or(0, EndSignal::exit_code))
}

async fn ask(session: &Session, prompts: Vec<Vec<ContentBlock>>) -> Result<(), SessionError> {
    let mut events = session.subscribe();
    for prompt in prompts {
        let prompt = session.expand(prompt).await?;
        drop(session.prompt(prompt).await?);
        settled(&mut events).await;
    }
    Ok(())
}

async fn settled(events: &mut Subscription) {
    while let Some(event) = events.next().await {
        if let EventKind::Settled { .. } = event.kind {
            return;
        }
    }
}
