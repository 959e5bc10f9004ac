//! The terminals of children: commands that the session's `bash` runs for them, under its policy and in
//! its sandbox.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::model_host::{CommandEnd, CommandWatch, HostCall, HostCallError, ModelHost};
use stentor_agent::tasks;
use stentor_client::{HostRefusal, TerminalExit, TerminalOutput};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Terminals that a child may have at once. Further ones are refused.
const OPEN: usize = 32;

/// Terminals that were released and are still shown with their call. The oldest goes first.
const RELEASED: usize = 32;

/// The most of an output that is stored, whatever a child asks for. The end counts.
const OUTPUT_BYTES: usize = 1 << 20;

/// The most of an output that is shown with its call.
const SHOWN_BYTES: usize = 50 * 1024;

/// All terminals of a session. What goes with it is ended.
#[derive(Default)]
pub(crate) struct Terminals {
    state: Mutex<TerminalsState>,
}

#[derive(Default)]
struct TerminalsState {
    last: u64,
    terminals: BTreeMap<u64, Arc<ChildTerminal>>,
}

/// A command and what it wrote.
struct ChildTerminal {
    /// The child it belongs to.
    child: u64,
    cancel: CancellationToken,
    screen: watch::Sender<TerminalScreen>,
    is_released: Mutex<bool>,
}

/// What a command has written so far.
#[derive(Debug, Default)]
pub(crate) struct TerminalScreen {
    output: String,
    truncated: bool,
    exit: Option<TerminalExit>,
}

impl Terminals {
    /// Has a command judged and starts it. Returns the id of its terminal.
    pub async fn create(
        &self,
        child: u64,
        host: &dyn ModelHost,
        call: HostCall,
        limit_bytes: Option<u64>,
    ) -> Result<String, HostRefusal> {
        if self.open_of(child) >= OPEN {
            let why = format!("there are {OPEN} terminals: release one first");
            return Err(HostRefusal::Because(why));
        }
        let limit = limit_bytes.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.map_or(OUTPUT_BYTES, |limit| limit.min(OUTPUT_BYTES));
        let cancel = CancellationToken::new();
        let screen = watch::Sender::new(TerminalScreen::default());
        let shown = screen.clone();
        let watch = CommandWatch {
            cancel: cancel.clone(),
            output: Arc::new(move |text| shown.send_modify(|screen| screen.write(text, limit))),
        };
        let run = host.run_command(call, watch).await;
        let run = run.map_err(|why| HostRefusal::Because(why.to_string()))?;
        let ended = screen.clone();
        tasks::spawn(async move {
            let end = run.await;
            ended.send_modify(|screen| screen.end(end, limit));
        });
        let terminal = ChildTerminal {
            child,
            cancel,
            screen,
            is_released: Mutex::new(false),
        };
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        state.terminals.insert(number, Arc::new(terminal));
        Ok(format!("term_{number}"))
    }

    /// What a command has written.
    pub fn output(&self, child: u64, id: &str) -> Result<TerminalOutput, HostRefusal> {
        let terminal = self.open(child, id)?;
        let screen = terminal.screen.borrow();
        Ok(TerminalOutput {
            output: screen.output.clone(),
            truncated: screen.truncated,
            exit: screen.exit.clone(),
        })
    }

    /// Waits for the end of a command.
    pub async fn wait(&self, child: u64, id: &str) -> Result<TerminalExit, HostRefusal> {
        let terminal = self.open(child, id)?;
        terminal.ended().await
    }

    /// Ends a command and waits until it has. With `release` the child cannot use it any more.
    pub async fn kill(&self, child: u64, id: &str, release: bool) -> Result<(), HostRefusal> {
        let terminal = self.open(child, id)?;
        terminal.cancel.cancel();
        if release {
            terminal.release();
            self.forget_oldest();
        }
        terminal.ended().await.map(drop)
    }

    /// What is shown of a terminal, as long as it is: also one that was released.
    pub fn screen(&self, id: &str) -> Option<watch::Receiver<TerminalScreen>> {
        let state = self.lock();
        let terminal = state.terminals.get(&number(id)?)?;
        Some(terminal.screen.subscribe())
    }

    /// Ends everything of a child that is gone.
    pub fn end_all_of(&self, child: u64) {
        let state = self.lock();
        for terminal in state.terminals.values() {
            if terminal.child == child {
                terminal.cancel.cancel();
                terminal.release();
            }
        }
    }

    fn open(&self, child: u64, id: &str) -> Result<Arc<ChildTerminal>, HostRefusal> {
        let state = self.lock();
        let terminal = number(id).and_then(|number| state.terminals.get(&number));
        let open = terminal.filter(|terminal| terminal.child == child && !terminal.is_released());
        open.cloned().ok_or_else(|| {
            let why = format!("there is no terminal {id:?}");
            HostRefusal::Because(why)
        })
    }

    fn open_of(&self, child: u64) -> usize {
        let state = self.lock();
        let open = state.terminals.values();
        open.filter(|terminal| terminal.child == child && !terminal.is_released())
            .count()
    }

    fn forget_oldest(&self) {
        let mut state = self.lock();
        let terminals = state.terminals.iter();
        let released = terminals.filter(|(_, terminal)| terminal.is_released());
        let released: Vec<u64> = released.map(|(number, _)| *number).collect();
        for number in released.iter().rev().skip(RELEASED) {
            state.terminals.remove(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TerminalsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ChildTerminal {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl ChildTerminal {
    async fn ended(&self) -> Result<TerminalExit, HostRefusal> {
        let mut screen = self.screen.subscribe();
        let ended = screen.wait_for(|screen| screen.exit.is_some()).await;
        let exit = ended.ok().and_then(|screen| screen.exit.clone());
        exit.ok_or_else(|| HostRefusal::Because("the terminal is gone".to_owned()))
    }

    fn release(&self) {
        *self.released() = true;
    }

    fn is_released(&self) -> bool {
        *self.released()
    }

    fn released(&self) -> MutexGuard<'_, bool> {
        self.is_released
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl TerminalScreen {
    /// The end of the output, for whoever watches the session.
    pub fn shown(&self) -> String {
        let from = self.output.len().saturating_sub(SHOWN_BYTES);
        let from = self.output.ceil_char_boundary(from);
        let shown = self.output.get(from..).unwrap_or_default();
        match self.truncated || from > 0 {
            true => format!("[The beginning of the output is not shown.]\n{shown}"),
            false => shown.to_owned(),
        }
    }

    fn write(&mut self, text: &str, limit: usize) {
        self.output.push_str(text);
        if self.output.len() > limit {
            let from = self.output.ceil_char_boundary(self.output.len() - limit);
            self.output.drain(..from);
            self.truncated = true;
        }
    }

    fn end(&mut self, end: Result<CommandEnd, HostCallError>, limit: usize) {
        let exit = match end {
            Ok(end) => {
                if let Some(output) = end.changed_output {
                    self.output.clear();
                    self.write(&output, limit);
                }
                let killed = end.exit_code.is_none();
                TerminalExit {
                    code: end.exit_code,
                    signal: killed.then(|| signal_name(end.signal)),
                }
            }
            Err(why) => {
                self.write(&why.to_string(), limit);
                TerminalExit {
                    code: Some(CANNOT_RUN),
                    signal: None,
                }
            }
        };
        self.exit = Some(exit);
    }
}

/// The exit status of a shell that cannot run a command.
const CANNOT_RUN: i32 = 126;

/// The number of a terminal that was given out as `term_N`.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix("term_")?.parse().ok()
}

/// The name of a signal; without one it was ours.
fn signal_name(signal: Option<i32>) -> String {
    let name = match signal {
        None | Some(15) => "SIGTERM",
        Some(1) => "SIGHUP",
        Some(2) => "SIGINT",
        Some(3) => "SIGQUIT",
        Some(4) => "SIGILL",
        Some(6) => "SIGABRT",
        Some(8) => "SIGFPE",
        Some(9) => "SIGKILL",
        Some(11) => "SIGSEGV",
        Some(13) => "SIGPIPE",
        Some(other) => return format!("signal {other}"),
    };
    name.to_owned()
}
