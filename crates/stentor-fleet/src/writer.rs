//! Sends what is appended to a working copy to the stream, in order and exactly once.
//!
//! One message is under way at a time, since each names the one it follows; what is appended
//! meanwhile goes into the next. A message that is not acknowledged is sent again with the same id,
//! and when the stream says that it does not follow the last one, that may be because it has arrived
//! before: only if the last message is another one has this node been replaced.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use tokio::task::spawn_blocking;

use crate::directory::{SessionActivity, SessionRecord};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::log::{Log, LogProgress};
use crate::message::{KIND, MessageKind, OFFSET, WRITER};
use crate::ownership::{HeldRecord, NotHeld};
use crate::pictures::Pictures;
use crate::sequence::{AppendRefusal, misplaced};

/// How much of a message is for its headers.
const HEADER_BYTES: usize = 4096;

/// The largest part of a file that one message carries, however large messages may be.
const MAX_PART_BYTES: usize = 512 * 1024;

/// The shortest and the longest time between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The time between two tries to release a session.
const RELEASE_PAUSE: Duration = Duration::from_millis(100);

/// How long a session that is closed may take to send its last entries and to be released.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// What a writer begins with.
pub(crate) enum WriterStart {
    /// A session that the fleet does not know: its record, and the line of its header.
    New {
        record: Box<SessionRecord>,
        header: Vec<u8>,
    },
    /// One that this node has taken: its record, and the sequence of the message that says so.
    Taken {
        held: Box<HeldRecord>,
        sequence: u64,
    },
}

/// Sends the entries of one session.
pub(crate) struct EntryWriter {
    pub fleet: Fleet,
    pub log: Arc<Log>,
    pub file: Arc<File>,
    /// Where the entries begin in the file.
    pub begin: u64,
    pub pictures: Pictures,
}

/// Why a writer ends.
enum WriterEnd {
    /// The session was closed, and everything is in the stream.
    Closed,
    /// Another node writes to the session, or this one may not any more.
    Stopped(String),
}

impl EntryWriter {
    /// Writes until the session is closed or another node has it. Then the session is released, if
    /// it is still this node's.
    pub async fn run(self, beginning: WriterStart) {
        let mut held = None;
        let end = tokio::select! {
            end = self.begin_and_write(beginning, &mut held) => end,
            // Whatever is under way: servers that do not answer are not waited for.
            why = self.stopped() => WriterEnd::Stopped(why),
        };
        if let WriterEnd::Stopped(why) = end {
            tracing::warn!(session = %self.log.id, "nothing more is written to a session: {why}");
            self.log.stop(&why);
            // Whoever can goes on, unless somebody does already.
            self.log.hand_over(SessionActivity::HandedOver, None);
            self.log.change(|progress| progress.ended = true);
            if let Some(held) = held {
                tokio::spawn(release_when_reachable(
                    self.fleet,
                    held,
                    self.log.released(),
                ));
            }
        } else {
            self.release(held).await;
            self.log.change(|progress| progress.ended = true);
        }
    }

    async fn begin_and_write(
        &self,
        beginning: WriterStart,
        held: &mut Option<HeldRecord>,
    ) -> WriterEnd {
        match self.begin(beginning, held).await {
            Ok(sequence) => {
                self.log.change(|progress| progress.begun = true);
                self.write(sequence, held).await
            }
            Err(end) => end,
        }
    }

    /// Waits until nothing more may be written.
    async fn stopped(&self) -> String {
        let mut progress = self.log.progress();
        let stopped = progress.wait_for(|progress| progress.stopped.is_some());
        let stopped = stopped.await.ok();
        stopped
            .and_then(|progress| progress.stopped.clone())
            .unwrap_or_default()
    }

    /// The sequence of the message that the next one follows.
    async fn begin(
        &self,
        beginning: WriterStart,
        held: &mut Option<HeldRecord>,
    ) -> Result<u64, WriterEnd> {
        match beginning {
            WriterStart::Taken {
                held: taken,
                sequence,
            } => {
                *held = Some(*taken);
                Ok(sequence)
            }
            // The record comes last: what the directory has can be opened, whatever fails between.
            WriterStart::New { record, header } => {
                let message = self.message(MessageKind::Header, 0, Bytes::from(header));
                let sequence = self.publish(message, "header", 0).await?;
                *held = Some(self.enter(*record).await?);
                Ok(sequence)
            }
        }
    }

    async fn enter(&self, record: SessionRecord) -> Result<HeldRecord, WriterEnd> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.fleet.enter(record.clone()).await {
                Ok(held) => return Ok(held),
                Err(why @ (NotHeld::Fleet(_) | NotHeld::Contested)) => {
                    self.wait(&why.to_string(), &mut pause).await?;
                }
                Err(why) => {
                    let why = format!("the fleet has a session with this id: {why}");
                    return Err(WriterEnd::Stopped(why));
                }
            }
        }
    }

    async fn write(&self, mut sequence: u64, held: &mut Option<HeldRecord>) -> WriterEnd {
        let term = sequence;
        let mut progress = self.log.progress();
        let mut entered = 0;
        loop {
            let wanted = |progress: &LogProgress| {
                progress.appended > progress.acknowledged
                    || progress.about > entered
                    || progress.closing
                    || progress.stopped.is_some()
            };
            let now = match progress.wait_for(wanted).await {
                Ok(now) => now.clone(),
                Err(_) => return WriterEnd::Closed,
            };
            if let Some(why) = now.stopped {
                return WriterEnd::Stopped(why);
            }
            if now.appended > now.acknowledged {
                match self.send(term, sequence, &now).await {
                    Ok(sent) => sequence = sent,
                    Err(end) => return end,
                }
            } else if now.about > entered {
                entered = now.about;
                let about = self.log.about().clone();
                if let Err(end) = self.update(held, about).await {
                    return end;
                }
            } else {
                return WriterEnd::Closed;
            }
        }
    }

    /// Sends the next part of the file. Returns its sequence.
    async fn send(&self, term: u64, sequence: u64, now: &LogProgress) -> Result<u64, WriterEnd> {
        let most = self.fleet.client().server_info().max_payload;
        let most = most.saturating_sub(HEADER_BYTES).clamp(1, MAX_PART_BYTES);
        let size = usize::try_from(now.appended - now.acknowledged).unwrap_or(usize::MAX);
        let (file, at) = (Arc::clone(&self.file), self.begin + now.acknowledged);
        let read = spawn_blocking(move || {
            let mut part = vec![0; size.min(most)];
            file.read_exact_at(&mut part, at).map(|()| part)
        });
        let part = match read.await {
            Ok(Ok(part)) => Bytes::from(part),
            Ok(Err(why)) => {
                return Err(WriterEnd::Stopped(format!(
                    "its file cannot be read: {why}"
                )));
            }
            Err(_) => return Err(WriterEnd::Closed),
        };
        self.send_pictures(at, part.len()).await?;
        let acknowledged = now.acknowledged + part.len() as u64;
        let message = self.message(MessageKind::Entries, now.acknowledged, part);
        let id = format!("{term}-{}", now.acknowledged);
        let sequence = self.publish(message, &id, sequence).await?;
        self.log.change(|progress| {
            progress.acknowledged = acknowledged;
            progress.trouble = None;
        });
        Ok(sequence)
    }

    /// Pictures are there before the entry that shows them.
    async fn send_pictures(&self, at: u64, length: usize) -> Result<(), WriterEnd> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self
                .pictures
                .send(&self.fleet, &self.file, at, length)
                .await
            {
                Ok(()) => return Ok(()),
                Err(why) => self.wait(&why.to_string(), &mut pause).await?,
            }
        }
    }

    fn message(&self, kind: MessageKind, offset: u64, payload: Bytes) -> PublishMessage {
        let node = self.fleet.this_node();
        PublishMessage::build()
            .header(KIND, kind.word())
            .header(WRITER, format!("{} {}", node.name, node.life).as_str())
            .header(OFFSET, offset.to_string().as_str())
            .payload(payload)
    }

    /// Sends a message until it is acknowledged. Returns its sequence.
    async fn publish(
        &self,
        message: PublishMessage,
        id: &str,
        last: u64,
    ) -> Result<u64, WriterEnd> {
        let id = format!("{}-{}-{id}", self.log.id, self.fleet.this_node().life);
        let message = message.message_id(&id).expected_last_subject_sequence(last);
        let mut pause = FIRST_PAUSE;
        loop {
            let sent = self.fleet.publish(&self.log.id, message.clone()).await;
            let why = match sent {
                Ok(sequence) => return Ok(sequence),
                Err(why) => why,
            };
            // One that is contested is sent again: by then it is known what has arrived.
            if misplaced(&why) == Some(AppendRefusal::Wrong) {
                match self.fleet.last_message(&self.log.id).await {
                    Ok(Some((sequence, found))) if found.as_deref() == Some(&*id) => {
                        return Ok(sequence);
                    }
                    Ok(_) => return Err(WriterEnd::Stopped(REPLACED.to_owned())),
                    Err(error) => self.wait(&error.to_string(), &mut pause).await?,
                }
            } else {
                self.wait(&why.to_string(), &mut pause).await?;
            }
        }
    }

    /// Enters into the directory what it should say.
    async fn update(
        &self,
        held: &mut Option<HeldRecord>,
        about: SessionRecord,
    ) -> Result<(), WriterEnd> {
        let Some(before) = held.as_ref() else {
            return Ok(());
        };
        match self.fleet.change(before, about).await {
            Ok(changed) => {
                *held = Some(changed);
                Ok(())
            }
            // It is entered with the next change; what counts is in the stream.
            Err(why @ (NotHeld::Fleet(_) | NotHeld::Contested)) => {
                tracing::debug!(%why, "the directory of the fleet is behind");
                Ok(())
            }
            Err(why) => Err(WriterEnd::Stopped(format!("{REPLACED}: {why}"))),
        }
    }

    /// Lets another node have the session.
    async fn release(&self, held: Option<HeldRecord>) {
        let Some(held) = held else {
            return;
        };
        let releasing = release_when_reachable(self.fleet.clone(), held, self.log.released());
        if tokio::time::timeout(CLOSE_WAIT, releasing).await.is_err() {
            tracing::warn!(session = %self.log.id, "not released in time");
        }
    }

    /// Waits before the next try, unless nothing more is to be written.
    async fn wait(&self, why: &str, pause: &mut Duration) -> Result<(), WriterEnd> {
        self.log
            .change(|progress| progress.trouble = Some(why.to_owned()));
        let mut progress = self.log.progress();
        let stopped = progress.wait_for(|progress| progress.stopped.is_some());
        let stopped = tokio::time::timeout(*pause, stopped).await;
        *pause = (*pause * 2).min(LONGEST_PAUSE);
        match stopped {
            Ok(Ok(progress)) => Err(WriterEnd::Stopped(
                progress.stopped.clone().unwrap_or_default(),
            )),
            Ok(Err(_)) => Err(WriterEnd::Closed),
            Err(_) => Ok(()),
        }
    }
}

/// Releases a session as soon as the fleet can be reached. Nothing happens if another node has it.
async fn release_when_reachable(fleet: Fleet, held: HeldRecord, record: SessionRecord) {
    while let Err(why @ (NotHeld::Fleet(_) | NotHeld::Contested)) =
        fleet.change(&held, record.clone()).await
    {
        tracing::debug!(session = %record.id, "not released yet: {why}");
        tokio::time::sleep(RELEASE_PAUSE).await;
    }
}

/// What is said of a session that another node has taken.
const REPLACED: &str = "another node of the fleet has taken it over";

impl Fleet {
    /// Sends a message of a session's journal and waits for the stream. Returns its sequence.
    pub(crate) async fn publish(
        &self,
        session_id: &str,
        message: PublishMessage,
    ) -> Result<u64, async_nats::jetstream::context::PublishError> {
        let subject = self.journal_subject(session_id);
        let sent = self.jetstream().send_publish(subject, message).await?;
        Ok(sent.await?.sequence)
    }

    /// Sequence and id of the last message of a session's journal, from the leader of the stream.
    pub(crate) async fn last_message(
        &self,
        session_id: &str,
    ) -> Result<Option<(u64, Option<String>)>, FleetError> {
        use async_nats::jetstream::stream::LastRawMessageErrorKind;
        let subject = self.journal_subject(session_id);
        let last = self
            .journal_stream()
            .get_last_raw_message_by_subject(&subject);
        match last.await {
            Ok(message) => {
                let id = message.headers.get(NATS_MESSAGE_ID);
                Ok(Some((message.sequence, id.map(|id| id.to_string()))))
            }
            Err(why) if why.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(why) => Err(FleetError::nats("read a journal")(why)),
        }
    }
}
