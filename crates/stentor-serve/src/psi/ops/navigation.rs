//! Moving between sessions (section 9.5), and cursors, which are ours: where a client is in the
//! events of a session that it shares, and how it goes on from there over another connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::agent::{Agent, AgentError};
use stentor_agent::hub::{Cursor, CursorMissed, Subscription};
use stentor_agent::session::{ForkPoint, Session, SessionOptions};
use stentor_agent::tasks;
use stentor_journal::store::{Entry, EntryKind};
use stentor_wire::edn::EdnWriter;
use stentor_wire::psi::ErrorCode;

use crate::psi::connection::PsiConnection;
use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::live::{PsiSession, SessionOrigin};
use crate::psi::params::{OpParams, either};
use crate::psi::payload;
use crate::psi::payload::context::{self, Slot};
use crate::psi::request::{OpCall, OpDone, OpResult};
use crate::psi::shared::PsiShared;

pub async fn new_session(call: &mut OpCall<'_>) -> OpResult {
    let source = call.target().await?;
    let live = new_like(call.shared(), &source).await?;
    arrive(call, &live, true, None).await
}

pub async fn switch_session(call: &mut OpCall<'_>) -> OpResult {
    let given = given_cursor(call.params)?;
    let (live, is_new) = match call.params.session_id()? {
        Some(id) => match call.shared().load_elsewhere(id).await? {
            Some(live) => (live, true),
            None => (call.target().await?, false),
        },
        None => resume(call.shared(), call.params.filled("session-path")?).await?,
    };
    // One that is open here already has lost nothing.
    let given = given.filter(|_| is_new);
    let cursor = given.map(|given| live.session.subscribe_at(&given));
    arrive(call, &live, is_new, cursor).await
}

pub async fn fork(call: &mut OpCall<'_>) -> OpResult {
    let entry_id = call.params.filled("entry-id")?;
    let source = call.target().await?;
    let live = fork_at(call.shared(), &source, entry_id).await?;
    arrive(call, &live, true, None).await
}

pub async fn set_session_name(call: &mut OpCall<'_>) -> OpResult {
    let name = call.params.filled("name")?.trim();
    let live = call.target().await?;
    live.session.set_name(name).await?;
    OpDone::map(&[("session-name", &name)]).of(&live).into()
}

/// Brings the client to a session whose events are published here already, unless it is new here.
/// With a cursor that still counts, the events follow it, and nothing is written again.
async fn arrive(
    call: &mut OpCall<'_>,
    live: &Arc<PsiSession>,
    is_new: bool,
    cursor: Option<Result<Subscription, CursorMissed>>,
) -> OpResult {
    let file = live.view(false).await?.file();
    let outcome = cursor.as_ref().map(cursor_outcome);
    let mut done = OpDone::data(payload::map(|data| {
        data.fields(&[("session-id", &&*live.id), ("session-file", &file)]);
        write_cursor(data, live, outcome);
    }));
    let events = cursor.and_then(Result::ok);
    let shown = match events {
        Some(_) => snapshots(live).into(),
        None => self::arrival(live),
    };
    let attached = events.map(|events| ItemPart::Attach(Arc::clone(live), events));
    let attached = attached.or_else(|| is_new.then(|| ItemPart::attach(live)));
    done.before = move_focus(call.connection, live, attached).await?;
    done.before.extend(shown);
    done.after = vec![ItemPart::Wiped];
    done.of(live).into()
}

/// Makes a session the one that is meant when none is named. `attached` has the events of one that
/// is new here published.
pub async fn move_focus(
    connection: &mut PsiConnection,
    live: &Arc<PsiSession>,
    attached: Option<ItemPart>,
) -> Result<Vec<ItemPart>, OpError> {
    if attached.is_some() {
        connection.shared.let_ask(live).await?;
    }
    let mut parts = Vec::from_iter(attached);
    if let Some(left) = connection.focus.replace(Arc::clone(live)) {
        connection.shared.used(&left);
        if connection.shared.forget_visited(&left) {
            parts.push(ItemPart::Detach(Arc::clone(&left.id)));
        }
    }
    parts.push(ItemPart::Focus(Arc::clone(live)));
    Ok(parts)
}

/// The five events of every navigation.
pub fn arrival(live: &Arc<PsiSession>) -> Vec<ItemPart> {
    let mut parts = vec![ItemPart::Rehydration(Arc::clone(live))];
    parts.extend(snapshots(live));
    parts
}

fn snapshots(live: &Arc<PsiSession>) -> [ItemPart; 2] {
    [ItemPart::Snapshots(Arc::clone(live)), ItemPart::Context]
}

/// A new session with the folder, the model and the thinking level of another.
pub async fn new_like(shared: &PsiShared, source: &PsiSession) -> Result<Arc<PsiSession>, OpError> {
    let options = options_like(shared, source).await?;
    shared.start(options, Agent::start_with).await
}

/// The session in a file, by its path: a live one, or one that is loaded now (true).
pub async fn resume(shared: &PsiShared, path: &str) -> Result<(Arc<PsiSession>, bool), OpError> {
    let path = shared.options.cwd.join(path);
    let slots = context::slots_as_they_came(shared).await;
    let agent = shared.agent.clone();
    let look = move || {
        let path = agent.file_at(path);
        (live_in(&slots, &path), path.is_file(), path)
    };
    let (id, is_file, path) = tasks::spawn_blocking(look).await?;
    if let Some(id) = id
        && let Some(live) = shared.live(&id).await?
    {
        return Ok((live, false));
    }
    if !is_file {
        let message = format!("there is no session file {}", path.display());
        return Err(OpError::new(ErrorCode::NotFound, message));
    }
    Ok((load(shared, &path).await?, true))
}

/// The session whose file this is. The file of one in which nothing was said is not there yet.
fn live_in(slots: &[Slot], path: &Path) -> Option<Arc<str>> {
    let real = path.canonicalize().ok();
    let is_it = |file: &Path| file == path || (real.is_some() && file.canonicalize().ok() == real);
    let found = slots
        .iter()
        .find(|slot| slot.file.as_deref().is_some_and(is_it));
    found.map(|slot| Arc::clone(&slot.id))
}

/// Loads a session file.
pub async fn load(shared: &PsiShared, path: &Path) -> Result<Arc<PsiSession>, OpError> {
    shared.make_room().await?;
    if let Some(session) = shared.agent.join(path) {
        return joined(shared, session).await;
    }
    let (agent, file) = (shared.agent.clone(), path.to_owned());
    let open = move || {
        let opened = agent.open(&file)?;
        let folder = PathBuf::from(&opened.journal.header().cwd);
        Ok::<_, AgentError>((opened, Some(folder).filter(|folder| folder.is_dir())))
    };
    let (opened, folder) = tasks::spawn_blocking(open).await??;
    let header = opened.journal.header().clone();
    if shared.knows(&header.id) {
        // A copy of its file: requests name sessions by their id.
        let (path, id) = (path.display(), &header.id);
        let message = format!("{path}: the session {id} is live already, from another file");
        return Err(OpError::failed(message));
    }
    // The folder of an old session may be gone; the conversation is not.
    let cwd = folder.as_deref().unwrap_or(&shared.options.cwd);
    let mut options = shared.options_in(cwd).await?;
    let usual_model = options.model.take();
    if opened.thinking_level.is_some() {
        options.thinking = None;
    }
    let session = shared.agent.resume_opened(opened, options)?;
    let state = session.state().await?;
    if let (None, Some(model)) = (&state.model, usual_model) {
        // The model it was made with is not to be had here.
        session.set_model(&model.provider, &model.id).await?;
    }
    Ok(shared.began(session, cwd.to_owned(), &header.timestamp))
}

/// Takes up a session that is live elsewhere. It stays what it was opened with.
async fn joined(shared: &PsiShared, session: Session) -> Result<Arc<PsiSession>, OpError> {
    if shared.knows(session.id()) {
        let message = format!("the session {} is open already", session.id());
        return Err(OpError::failed(message));
    }
    let (header, _) = session.entries().await?;
    let cwd = session.state().await?.cwd;
    Ok(shared.began(session, cwd, &header.timestamp))
}

/// A child of a session with everything up to an entry; with a user message also the reply to it.
pub async fn fork_at(
    shared: &PsiShared,
    source: &Arc<PsiSession>,
    entry_id: &str,
) -> Result<Arc<PsiSession>, OpError> {
    shared.make_room().await?;
    let (_, entries) = source.session.entries().await?;
    let last = last_of_exchange(&entries, entry_id)
        .ok_or_else(|| OpError::params(format!("there is no entry {entry_id} in this session")))?;
    let state = source.session.state().await?;
    let mut options = options_like(shared, source).await?;
    options.id = Some(shared.random_id());
    let point = ForkPoint::After(last);
    let forked = shared.agent.fork(&source.session, point, options).await;
    let (session, _) = forked?;
    let file = state.file.map(|file| file.to_string_lossy().into_owned());
    let origin = SessionOrigin {
        parent: Some(Arc::clone(&source.id)),
        parent_path: file,
        ..SessionOrigin::new(source.origin.cwd.clone(), shared.clock().now_ms())
    };
    Ok(shared.add(PsiSession::new(session, origin)))
}

async fn options_like(shared: &PsiShared, source: &PsiSession) -> Result<SessionOptions, OpError> {
    let state = source.session.state().await?;
    let mut options = shared.options_in(&source.origin.cwd).await?;
    options.model = state.model.or(options.model);
    options.thinking = Some(state.thinking);
    Ok(options)
}

/// The last entry of the exchange that an entry begins: the entry itself, or, for a user message,
/// the last one before the next user message.
fn last_of_exchange(entries: &[Entry], id: &str) -> Option<String> {
    let at = entries.iter().rposition(|entry| entry.id == id)?;
    let entry = entries.get(at)?;
    let mut last = entry;
    if is_user_message(entry) {
        for next in entries.iter().skip(at + 1) {
            if next.parent_id.as_ref() != Some(&last.id) || is_user_message(next) {
                break;
            }
            last = next;
        }
    }
    Some(last.id.clone())
}

fn is_user_message(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Message { message } => message.as_user().is_some(),
        _ => false,
    }
}

/// The cursor that a client gives, as `{:epoch "…" :number 7}`.
fn given_cursor(params: OpParams<'_>) -> Result<Option<Cursor>, OpError> {
    let Some(cursor) = params.get("cursor") else {
        return Ok(None);
    };
    let epoch = either(cursor, "epoch").and_then(|epoch| epoch.as_str());
    let number = either(cursor, "number").and_then(|number| number.as_i64());
    let number = number.and_then(|number| u64::try_from(number).ok());
    let (epoch, number) = epoch
        .zip(number)
        .ok_or_else(|| OpError::params(":cursor must be a map with :epoch and :number"))?;
    let epoch = epoch.into();
    Ok(Some(Cursor { epoch, number }))
}

/// What became of the cursor that a client gave.
fn cursor_outcome<T>(result: &Result<T, CursorMissed>) -> &'static str {
    match result {
        Ok(_) => "resumed",
        Err(CursorMissed::OtherEpoch) => "other-epoch",
        Err(CursorMissed::TooOld) => "too-old",
    }
}

/// Writes where a session that is shared is now.
pub fn write_cursor(data: &mut EdnWriter<'_>, live: &PsiSession, outcome: Option<&str>) {
    if !live.session.is_shared() {
        return;
    }
    let cursor = live.session.cursor();
    data.key("cursor").map(|map| {
        map.field("epoch", &*cursor.epoch)
            .field("number", &cursor.number)
            .field_if_some("outcome", outcome);
    });
}
