//! Moving between sessions (section 9.5).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::agent::AgentError;
use stentor_agent::hub::{CursorMissed, Subscription};
use stentor_agent::session::{ForkPoint, Session, SessionOptions};
use stentor_agent::tasks;
use stentor_journal::store::{Entry, EntryKind};
use stentor_wire::psi::ErrorCode;

use crate::psi::connection::Connection;
use crate::psi::cursor;
use crate::psi::error::OpError;
use crate::psi::item::{Cause, Part};
use crate::psi::live::{Live, Origin};
use crate::psi::payload;
use crate::psi::payload::context::{self, Slot};
use crate::psi::request::{Call, Done, Handled};
use crate::psi::shared::Shared;

pub(in crate::psi) async fn new_session(call: &mut Call<'_>) -> Handled {
    let source = call.target().await?;
    let live = new_like(&call.connection.shared, &source).await?;
    arrive(call, &live, true).await
}

pub(in crate::psi) async fn switch_session(call: &mut Call<'_>) -> Handled {
    if call.params.session_id()?.is_some() {
        let live = call.target().await?;
        return arrive(call, &live, false).await;
    }
    let path = call.params.filled("session-path")?;
    let given = cursor::given(call.params)?;
    let (live, is_new) = resume(call.connection, path).await?;
    // One that is open here already has lost nothing.
    match given.filter(|_| is_new) {
        None => arrive(call, &live, is_new).await,
        Some(given) => match live.session.subscribe_at(&given) {
            Ok(events) => go_on(call, &live, events).await,
            Err(missed) => arrive_with(call, &live, is_new, Some(missed)).await,
        },
    }
}

pub(in crate::psi) async fn fork(call: &mut Call<'_>) -> Handled {
    let entry_id = call.params.filled("entry-id")?;
    let source = call.target().await?;
    let live = fork_at(&call.connection.shared, &source, entry_id).await?;
    arrive(call, &live, true).await
}

pub(in crate::psi) async fn set_session_name(call: &mut Call<'_>) -> Handled {
    let name = call.params.filled("name")?.trim();
    let live = call.target().await?;
    live.session.set_name(name).await?;
    call.answer(&live, |data| {
        data.field("session-name", name);
    })
}

/// Goes on with a session from a cursor: its events follow, and nothing is written again.
async fn go_on(call: &mut Call<'_>, live: &Arc<Live>, events: Subscription) -> Handled {
    let view = live.view(false).await?;
    let mut done = Done::data(payload::map(|data| {
        data.field("session-id", &*live.id)
            .field("session-file", &view.file());
        cursor::write(data, live, Some(cursor::outcome(Ok(()))));
    }));
    done.before = vec![Part::Attach(Arc::clone(live), events)];
    call.connection.shared.let_ask(live).await?;
    done.before
        .extend(move_focus(call.connection, live, false).await?);
    let cause = call.answerer.cause();
    done.before
        .push(Part::Snapshots(Arc::clone(live), cause.clone()));
    done.before.push(Part::Context(cause));
    done.after = after_the_answer();
    done.of(live).into()
}

async fn arrive(call: &mut Call<'_>, live: &Arc<Live>, is_new: bool) -> Handled {
    arrive_with(call, live, is_new, None).await
}

/// The same for a client whose cursor could not be gone on from.
async fn arrive_with(
    call: &mut Call<'_>,
    live: &Arc<Live>,
    is_new: bool,
    missed: Option<CursorMissed>,
) -> Handled {
    let outcome = missed.map(|missed| cursor::outcome(Err(missed)));
    let view = live.view(false).await?;
    let mut done = Done::data(payload::map(|data| {
        data.field("session-id", &*live.id)
            .field("session-file", &view.file());
        cursor::write(data, live, outcome);
    }));
    done.before = move_focus(call.connection, live, is_new).await?;
    done.before.extend(arrival(live, &call.answerer.cause()));
    done.after = after_the_answer();
    done.of(live).into()
}

/// Makes a session the one that is meant when none is named, and has its events published.
pub(in crate::psi) async fn move_focus(
    connection: &mut Connection,
    live: &Arc<Live>,
    is_new: bool,
) -> Result<Vec<Part>, OpError> {
    let mut parts = Vec::new();
    if is_new {
        parts.push(Part::attach(live));
        connection.shared.let_ask(live).await?;
    }
    if let Some(left) = connection.focus.replace(Arc::clone(live)) {
        connection.shared.used(&left);
    }
    parts.push(Part::Focus(Arc::clone(live)));
    Ok(parts)
}

/// The five events of every navigation.
pub(in crate::psi) fn arrival(live: &Arc<Live>, cause: &Cause) -> Vec<Part> {
    vec![
        Part::Rehydration(Arc::clone(live), cause.clone()),
        Part::Snapshots(Arc::clone(live), cause.clone()),
        Part::Context(cause.clone()),
    ]
}

/// What the client wipes when it sees the answer, and so must be written again (section 18.4).
pub(in crate::psi) fn after_the_answer() -> Vec<Part> {
    vec![Part::Context(None), Part::UiLists]
}

/// A new session with the folder, the model and the thinking level of another.
pub(in crate::psi) async fn new_like(shared: &Shared, source: &Live) -> Result<Arc<Live>, OpError> {
    let options = options_like(shared, source).await?;
    shared.start(options).await
}

/// The session in a file, by its path: a live one, or one that is loaded now (true).
pub(in crate::psi) async fn resume(
    connection: &Connection,
    path: &str,
) -> Result<(Arc<Live>, bool), OpError> {
    let shared = &connection.shared;
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
pub(in crate::psi) async fn load(shared: &Shared, path: &Path) -> Result<Arc<Live>, OpError> {
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
        let message = format!(
            "{}: the session {} is live already, from another file",
            path.display(),
            header.id
        );
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
    let created_ms = stentor_journal::clock::parse_iso_time(&header.timestamp);
    let created_ms = created_ms.unwrap_or_else(|| shared.clock().now_ms());
    let origin = Origin {
        cwd: cwd.to_owned(),
        created_ms,
        ..Origin::default()
    };
    Ok(shared.add(Live::new(session, origin)))
}

/// Takes up a session that is live elsewhere. It stays what it was opened with.
async fn joined(shared: &Shared, session: Session) -> Result<Arc<Live>, OpError> {
    if shared.knows(session.id()) {
        let message = format!("the session {} is open already", session.id());
        return Err(OpError::failed(message));
    }
    let (header, _) = session.entries().await?;
    let created_ms = stentor_journal::clock::parse_iso_time(&header.timestamp);
    let origin = Origin {
        cwd: session.state().await?.cwd,
        created_ms: created_ms.unwrap_or_else(|| shared.clock().now_ms()),
        ..Origin::default()
    };
    Ok(shared.add(Live::new(session, origin)))
}

/// A child of a session with everything up to an entry; with a user message also the reply to it.
pub(in crate::psi) async fn fork_at(
    shared: &Shared,
    source: &Arc<Live>,
    entry_id: &str,
) -> Result<Arc<Live>, OpError> {
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
    let origin = Origin {
        cwd: source.cwd.clone(),
        created_ms: shared.clock().now_ms(),
        parent: Some(Arc::clone(&source.id)),
        parent_path: file,
        ..Origin::default()
    };
    Ok(shared.add(Live::new(session, origin)))
}

async fn options_like(shared: &Shared, source: &Live) -> Result<SessionOptions, OpError> {
    let state = source.session.state().await?;
    let mut options = shared.options_in(&source.cwd).await?;
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
