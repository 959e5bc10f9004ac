//! The task of a child: the only one that reads from it and decides what is written to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use stentor_wire::framing::{FramedLine, LineReader};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::codec::{
    AgentAction, AgentRequest, Codec, Effects, HandleReply, HandleRequest, HostReply, codec,
};
use crate::connection::{AgentLimits, ChildPipes, LostCounter};
use crate::error::ChildAgentError;
use crate::event::{AgentEvent, Exit, TurnEndReason};
use crate::host::Host;
use crate::options::{SessionOpened, StartOptions};
use crate::process::StderrLines;

/// Lines on their way to the child. While so many wait, no further request is taken.
const OUT_LINES: usize = 64;

/// Lines that stay free for what must be answered in any case.
const RESERVED_LINES: usize = 16;

/// Questions of the child that are open at once. Further ones are refused.
const QUESTIONS: usize = 64;

/// A line that is so many times as long as one may be is not waited for any longer.
const SKIPPED_LINES: usize = 16;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// How long what was last written may take to arrive at a child that shall end.
const FLUSH: Duration = Duration::from_millis(500);

/// The ends of the channels that handles have the others of.
pub(crate) struct ChannelEnds {
    pub requests: mpsc::Receiver<HandleRequest>,
    pub events: mpsc::Sender<AgentEvent>,
    pub opened: oneshot::Sender<Result<SessionOpened, ChildAgentError>>,
    pub lost: LostCounter,
}

/// Drives a child until it is gone or nobody has a handle any more.
pub(crate) async fn drive(
    pipes: ChildPipes,
    options: StartOptions,
    host: Arc<dyn Host>,
    ends: ChannelEnds,
) {
    let stderr = StderrLines::of(pipes.stderr, options.limits.stderr_lines);
    let (outbox, outgoing) = mpsc::channel(OUT_LINES);
    let writer = tokio::spawn(write(pipes.stdin, outgoing));
    let mut driver = Driver {
        codec: codec(&options, host.offers(), ends.lost.clone()),
        fx: Effects::default(),
        host,
        limits: options.limits,
        outbox: Some(outbox),
        events: Some(ends.events),
        opened: Some(ends.opened),
        lost: ends.lost,
        lost_in_a_row: 0,
        asked: JoinSet::new(),
        open_questions: HashMap::new(),
        open_by: Some(Instant::now() + options.limits.ready_within),
        wake_at: None,
        abort_by: None,
    };
    let mut requests = ends.requests;
    driver.codec.open(&mut driver.fx);
    let over = driver.run(pipes.stdout, &mut requests).await;
    driver.asked.abort_all();
    let farewell = matches!(over, DriverEnd::Stopped(_));
    if farewell && let Some(line) = driver.codec.farewell() {
        driver.write_line(line);
    }
    driver.outbox = None;
    // A child that does not read need not be waited for.
    let mut writer = writer;
    if tokio::time::timeout(FLUSH, &mut writer).await.is_err() {
        writer.abort();
    }
    let patience = match over {
        DriverEnd::GaveUp(_) => Duration::ZERO,
        DriverEnd::Stopped(_) | DriverEnd::Eof => options.limits.exit_within,
    };
    let status = match pipes.process {
        Some(process) => process.end(patience).await,
        None => None,
    };
    let given_up = match &over {
        DriverEnd::GaveUp(why) => Some(why.clone()),
        DriverEnd::Stopped(_) | DriverEnd::Eof => None,
    };
    let exit = Exit {
        status,
        given_up,
        stderr: stderr.last_lines().await,
    };
    driver.finish(exit, &mut requests).await;
    if let DriverEnd::Stopped(Some(reply)) = over {
        let _ = reply.send(Ok(HandleReply::Done));
    }
}

/// Why a child is not driven any more.
enum DriverEnd {
    /// Somebody wants it to end, or nobody wants anything of it any more.
    Stopped(Option<oneshot::Sender<Result<HandleReply, ChildAgentError>>>),
    /// Its output has ended.
    Eof,
    /// It is of no use.
    GaveUp(String),
}

struct Driver {
    codec: Box<dyn Codec>,
    fx: Effects,
    host: Arc<dyn Host>,
    limits: AgentLimits,
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    /// None once nobody reads events.
    events: Option<mpsc::Sender<AgentEvent>>,
    opened: Option<oneshot::Sender<Result<SessionOpened, ChildAgentError>>>,
    lost: LostCounter,
    lost_in_a_row: u64,
    asked: JoinSet<(u64, HostReply)>,
    open_questions: HashMap<u64, HostQuestion>,
    open_by: Option<Instant>,
    wake_at: Option<Instant>,
    abort_by: Option<Instant>,
}

/// Something that the host has been asked.
struct HostQuestion {
    task: AbortHandle,
    is_for_people: bool,
}

impl Driver {
    async fn run(
        &mut self,
        mut stdout: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
        requests: &mut mpsc::Receiver<HandleRequest>,
    ) -> DriverEnd {
        let mut lines = LineReader::new(self.limits.line_bytes);
        let mut buffer = vec![0; READ_BYTES];
        let mut skipped_bytes = 0;
        loop {
            if let Some(over) = self.carry_out() {
                return over;
            }
            let takes_requests = self.opened.is_none() && self.free_lines() > RESERVED_LINES;
            let backlog = !self.fx.events.is_empty();
            tokio::select! {
                biased;
                request = requests.recv(), if takes_requests => match request {
                    Some(HandleRequest { what: AgentAction::Stop, reply }) => return DriverEnd::Stopped(Some(reply)),
                    Some(request) => self.request(request),
                    None => return DriverEnd::Stopped(None),
                },
                Some(done) = self.asked.join_next(), if !self.asked.is_empty() => {
                    if let Ok((number, answer)) = done {
                        self.open_questions.remove(&number);
                        self.codec.answered(number, answer, &mut self.fx);
                    }
                }
                () = unwanted(self.opened.as_mut()) => {
                    return DriverEnd::GaveUp("nobody is waiting for it any longer".to_owned());
                }
                () = at(self.open_by) => {
                    let why = "it took too long to shake hands".to_owned();
                    return DriverEnd::GaveUp(why);
                }
                () = at(self.abort_by) => {
                    self.abort_by = None;
                    if self.codec.turn().is_active() {
                        return DriverEnd::GaveUp("it did not stop when it was told to".to_owned());
                    }
                }
                () = at(self.wake_at) => {
                    self.wake_at = None;
                    self.codec.wake(&mut self.fx);
                }
                () = room(self.events.as_ref()), if backlog => self.hand_out(),
                count = stdout.read(&mut buffer), if !backlog => match count {
                    Ok(count @ 1..) => {
                        let mut chunk = buffer.get(..count).unwrap_or_default();
                        while let Some(line) = lines.next_line(&mut chunk) {
                            let is_skipped = line == FramedLine::TooLong;
                            if let Some(over) = self.line(line) {
                                // What came before counts.
                                return self.carry_out().unwrap_or(over);
                            }
                            if is_skipped {
                                self.codec.skipped(lines.skipped_start(), &mut self.fx);
                            }
                        }
                        skipped_bytes = if lines.is_skipping() { skipped_bytes + count } else { 0 };
                        if skipped_bytes / SKIPPED_LINES > self.limits.line_bytes {
                            let why = "it writes a line that does not end".to_owned();
                            return self.carry_out().unwrap_or(DriverEnd::GaveUp(why));
                        }
                    }
                    Ok(0) | Err(_) => {
                        if let Some(line) = lines.finish() {
                            let _ = self.line(line);
                        }
                        return self.carry_out().unwrap_or(DriverEnd::Eof);
                    }
                },
            }
        }
    }

    fn request(&mut self, request: HandleRequest) {
        let HandleRequest { what, reply } = request;
        let aborts = matches!(what, AgentAction::Abort);
        self.codec.request(what, reply, &mut self.fx);
        if aborts {
            self.withdraw_questions();
            if self.codec.turn().is_active() {
                self.abort_by = Some(Instant::now() + self.limits.abort_within);
            }
        }
    }

    /// Takes back every question to people that is open. Files and commands are seen to all the same:
    /// what was begun has an end that the agent may wait for.
    fn withdraw_questions(&mut self) {
        let open = std::mem::take(&mut self.open_questions);
        let (withdrawn, rest) = open.into_iter().partition(|(_, open)| open.is_for_people);
        let withdrawn: HashMap<u64, HostQuestion> = withdrawn;
        self.open_questions = rest;
        for (number, question) in withdrawn {
            question.task.abort();
            self.codec
                .answered(number, HostReply::Withdrawn, &mut self.fx);
        }
    }

    fn line(&mut self, line: FramedLine<'_>) -> Option<DriverEnd> {
        let why = match line {
            FramedLine::Text(text) if text.trim().is_empty() => return None,
            FramedLine::Text(text) => match self.codec.line(text, &mut self.fx) {
                Ok(()) => {
                    self.lost_in_a_row = 0;
                    return None;
                }
                Err(unreadable) => {
                    self.lost.unreadable();
                    format!("it wrote a line that cannot be read: {}", unreadable.0)
                }
            },
            FramedLine::TooLong => {
                self.lost.too_long();
                let limit = self.limits.line_bytes;
                format!("it wrote a line of more than {limit} bytes")
            }
            FramedLine::InvalidUtf8 => {
                self.lost.unreadable();
                "it wrote a line that is not UTF-8".to_owned()
            }
        };
        self.lost_in_a_row += 1;
        if self.lost_in_a_row >= self.limits.lost_in_a_row {
            return Some(DriverEnd::GaveUp(why));
        }
        if self.lost_in_a_row == 1 {
            self.fx.events.push_back(AgentEvent::Lost { why });
        }
        None
    }

    /// Does what the codec wants done, as far as it can be done at once.
    fn carry_out(&mut self) -> Option<DriverEnd> {
        for line in std::mem::take(&mut self.fx.lines) {
            self.write_line(line);
        }
        for number in std::mem::take(&mut self.fx.withdrawn) {
            if let Some(question) = self.open_questions.remove(&number) {
                question.task.abort();
            }
        }
        for (number, ask) in std::mem::take(&mut self.fx.asks) {
            if self.open_questions.len() >= QUESTIONS {
                self.lost.question();
                self.codec
                    .answered(number, HostReply::Withdrawn, &mut self.fx);
                continue;
            }
            let host = Arc::clone(&self.host);
            let is_for_people = ask.is_for_people();
            let task = self
                .asked
                .spawn(async move { (number, answer(&*host, ask).await) });
            let question = HostQuestion {
                task,
                is_for_people,
            };
            self.open_questions.insert(number, question);
        }
        if let Some(wait) = self.fx.wake_in.take() {
            self.wake_at = Some(Instant::now() + wait);
        }
        if let Some(opened) = self.fx.opened.take() {
            self.open_by = None;
            let failed = opened.as_ref().err().map(ToString::to_string);
            if let Some(waiting) = self.opened.take() {
                // Who gave up waiting has dropped the handle as well.
                let _ = waiting.send(opened);
            }
            if let Some(why) = failed {
                return Some(DriverEnd::GaveUp(why));
            }
        }
        if self.abort_by.is_some() && !self.codec.turn().is_active() {
            self.abort_by = None;
        }
        self.hand_out();
        // Refusing a question may have been a line.
        for line in std::mem::take(&mut self.fx.lines) {
            self.write_line(line);
        }
        None
    }

    fn free_lines(&self) -> usize {
        self.outbox.as_ref().map_or(0, mpsc::Sender::capacity)
    }

    fn write_line(&mut self, line: Vec<u8>) {
        let Some(outbox) = &self.outbox else { return };
        if outbox.try_send(line).is_err() {
            self.lost.unwritten();
            tracing::debug!("an agent does not read: a line to it was dropped");
        }
    }

    /// Hands out events while there is room for them.
    fn hand_out(&mut self) {
        while let Some(event) = self.fx.events.pop_front() {
            let Some(events) = &self.events else { continue };
            match events.try_send(event) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(event)) => {
                    self.fx.events.push_front(event);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => self.events = None,
            }
        }
    }

    /// The last events, and the end of everything that waits.
    async fn finish(&mut self, exit: Exit, requests: &mut mpsc::Receiver<HandleRequest>) {
        let why = exit.to_string();
        if let Some(waiting) = self.opened.take() {
            let _ = waiting.send(Err(ChildAgentError::NotReady(why.clone())));
        }
        let failed = TurnEndReason::Failed(why.clone());
        self.codec.turn().end(failed, None, &mut self.fx);
        self.fx.events.push_back(AgentEvent::Exited(exit));
        requests.close();
        while let Ok(request) = requests.try_recv() {
            let _ = request.reply.send(Err(ChildAgentError::Ended(why.clone())));
        }
        let Some(events) = self.events.take() else {
            return;
        };
        for event in self.fx.events.drain(..) {
            if events.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// Resolves at that time; never without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Resolves when whoever started the child no longer waits for it to be ready.
async fn unwanted(opened: Option<&mut oneshot::Sender<Result<SessionOpened, ChildAgentError>>>) {
    match opened {
        Some(opened) => opened.closed().await,
        None => std::future::pending().await,
    }
}

/// Resolves when there is room for an event, or nobody reads any.
async fn room(events: Option<&mpsc::Sender<AgentEvent>>) {
    if let Some(events) = events {
        // The room is only looked for here; it is taken by `hand_out`, in the same task.
        drop(events.reserve().await);
    }
}

async fn write(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            // A child that closed its input may still have something to say.
            return;
        }
    }
}

async fn answer(host: &dyn Host, ask: AgentRequest) -> HostReply {
    match ask {
        AgentRequest::Permission(permission) => {
            HostReply::Permission(host.permission(permission).await)
        }
        AgentRequest::Question(question) => HostReply::Question(host.question(question).await),
        AgentRequest::Form(form) => HostReply::Form(form.fill_in(host).await),
        AgentRequest::ReadFile {
            call,
            path,
            line,
            limit,
        } => HostReply::File(host.read_text_file(call, path, line, limit).await),
        AgentRequest::WriteFile { call, path, text } => {
            HostReply::Written(host.write_text_file(call, path, text).await)
        }
        AgentRequest::TerminalCreate(terminal) => {
            HostReply::Terminal(host.terminal_create(terminal).await)
        }
        AgentRequest::TerminalOutput(id) => HostReply::Output(host.terminal_output(id).await),
        AgentRequest::TerminalWait(id) => HostReply::Exit(host.terminal_wait(id).await),
        AgentRequest::TerminalKill { id, release } => {
            HostReply::Written(host.terminal_kill(id, release).await)
        }
    }
}
