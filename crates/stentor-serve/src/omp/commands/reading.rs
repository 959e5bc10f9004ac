//! What a client may read (sections 6.2, 6.4 and 19).

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use stentor_agent::commands::READ_TOOL;
use stentor_agent::event::CommandSource;
use stentor_agent::session::{Session, SessionError, SessionState};
use stentor_agent::tool::Circumstances;
use stentor_journal::message::Message;
use stentor_journal::store::{Entry, EntryKind};
use stentor_wire::omp::command::{GetEntries, Page};
use stentor_wire::omp::facts::{MAX_PAGE_MESSAGES, ROLES_OF_OTHERS};

use crate::omp::connection;
use crate::omp::dialect::OmpDialect;
use crate::omp::framing::Framing;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome, UnframedAnswer};
use crate::omp::shapes::{MessageList, WireState, WireStats};

/// `get_state`.
///
/// What waits is said as it was told last when the answer is written: a `queue_update` may have gone
/// out since the session was asked, and the later of the two is what a client believes.
pub(super) async fn state(dialect: &OmpDialect, id: Option<Box<RawValue>>, name: &'static str) {
    let live = dialect.live();
    let mut state = match state_of(&live.session).await {
        Ok(state) => state,
        Err(error) => {
            return dialect
                .answer(id.as_deref(), name, &Err(error.into()))
                .await;
        }
    };
    let mut tools = dialect.hosting.tools(&live.tools, &dialect.me());
    let now = Circumstances {
        somebody_answers: live.session.is_known_to_answer(),
        mode: state.permission_mode,
    };
    tools.retain(|tool| tool.is_offered(now));
    let can_read = tools.iter().any(|tool| tool.spec().name == READ_TOOL);
    let slash = live.session.slash();
    let system_prompt = slash.prompt_with_skills(can_read);
    let has_jobs = !live.session.jobs().in_background().is_empty();
    let connection = Arc::clone(&dialect.connection);
    let write = move |framing: &Framing, frames: &mut Vec<u8>| {
        if let Some(told) = connection.sent_queues.of(live.generation) {
            state.queues = told;
        }
        let outcome = AnswerData::of(&WireState::of(&state, has_jobs, &system_prompt, &tools));
        UnframedAnswer::of(id.as_deref(), name, &outcome).write(framing, frames);
    };
    dialect.send(write).await;
}

async fn state_of(session: &Session) -> Result<SessionState, SessionError> {
    let message_count = shown_messages(session).await?.len();
    let state = session.state().await?;
    Ok(SessionState {
        message_count,
        ..state
    })
}

/// `get_messages`: what is in context.
pub(super) async fn messages(dialect: &OmpDialect) -> CommandOutcome {
    let messages = shown_messages(&dialect.session()).await?;
    AnswerData::of(&MessageList {
        messages: &messages,
    })
}

/// What is in context, without messages of roles that clients do not know. Newer pi keeps such in
/// its files; omp's clients refuse a whole list that has one in it.
async fn shown_messages(session: &Session) -> Result<Vec<Arc<Message>>, SessionError> {
    let mut messages = session.messages().await?;
    messages.retain(|message| match &**message {
        Message::Known(_) => true,
        Message::Other(fields) => fields
            .get("role")
            .and_then(Value::as_str)
            .is_some_and(|role| ROLES_OF_OTHERS.contains(&role)),
    });
    Ok(messages)
}

/// `get_messages_page`: what is in context, piece by piece, oldest first.
///
/// A cursor names the session, a place in the context and the message before it. It holds over
/// another connection and in another life of the server, and messages that were added since do no
/// harm; a compaction, a branch or another session makes it stale.
pub(super) async fn page(dialect: &OmpDialect, page: Page) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Paged<'a> {
        messages: &'a [Arc<Message>],
        total_messages: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        next_cursor: Option<String>,
    }
    let limit = page.limit.unwrap_or(MAX_PAGE_MESSAGES);
    if limit == 0 || limit > MAX_PAGE_MESSAGES {
        return Err(CommandFailure::new(format!(
            "limit is {limit}: use 1 to {MAX_PAGE_MESSAGES}"
        )));
    }
    let live = dialect.live();
    let state = live.session.state().await?;
    if state.is_running || state.is_compacting {
        // Clients read everything at once then.
        let why = "Cannot page messages while the session is changing";
        return Err(CommandFailure::coded("session_busy", why));
    }
    let messages = shown_messages(&live.session).await?;
    let cursor_at = |at: usize| {
        let before = messages.get(at.checked_sub(1)?)?;
        Some(format!("{:x}-{at:x}", mark(live.session.id(), before)))
    };
    let from = match &page.cursor {
        None => 0,
        Some(cursor) => cursor
            .rsplit_once('-')
            .and_then(|(_, from)| usize::from_str_radix(from, 16).ok())
            .filter(|from| cursor_at(*from).as_ref() == Some(cursor))
            .ok_or_else(|| {
                let why =
                    "RPC message cursor is stale: the conversation has changed, start without one";
                CommandFailure::coded("stale_cursor", why)
            })?,
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let to = from.saturating_add(limit).min(messages.len());
    AnswerData::of(&Paged {
        messages: messages.get(from..to).unwrap_or_default(),
        total_messages: messages.len(),
        next_cursor: cursor_at(to).filter(|_| to < messages.len()),
    })
}

/// A number that another message, or one of another session, does not have.
fn mark(session: &str, message: &Message) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    // A message that cannot be written cannot be in a conversation that was.
    let message = serde_json::to_vec(message).unwrap_or_default();
    message.hash(&mut hasher);
    hasher.finish()
}

/// `get_session_stats`.
pub(super) async fn stats(dialect: &OmpDialect) -> CommandOutcome {
    let session = dialect.session();
    let mut stats = session.stats().await?;
    stats.total_messages = shown_messages(&session).await?.len();
    AnswerData::of(&WireStats::of(&stats))
}

/// `get_last_assistant_text`: without any text the data is an empty object.
pub(super) async fn last_text(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct LastText {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }
    let text = dialect.session().last_assistant_text().await?;
    AnswerData::of(&LastText { text })
}

/// `get_branch_messages`, `get_fork_messages`.
pub(super) async fn fork_points(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ForkMessage {
        entry_id: String,
        text: String,
    }
    #[derive(Serialize)]
    struct Points {
        messages: Vec<ForkMessage>,
    }
    let messages = dialect.session().user_messages().await?;
    let points = messages
        .into_iter()
        .map(|(entry_id, text)| ForkMessage { entry_id, text });
    AnswerData::of(&Points {
        messages: points.collect(),
    })
}

/// `get_entries`: all of them in the order they were made, or those after `since`.
pub(super) async fn entries(dialect: &OmpDialect, wanted: GetEntries) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct StoredEntries<'a> {
        entries: &'a [Entry],
        leaf_id: Option<String>,
    }
    let session = dialect.session();
    let (_, entries) = session.entries().await?;
    let from = match &wanted.since {
        None => 0,
        Some(since) => {
            let at = entries.iter().rposition(|entry| entry.id == *since);
            let at = at.ok_or_else(|| {
                CommandFailure::coded("unknown_since", format!("Entry not found: {since}"))
            })?;
            at + 1
        }
    };
    AnswerData::of(&StoredEntries {
        entries: entries.get(from..).unwrap_or_default(),
        leaf_id: entries.last().map(|entry| entry.id.clone()),
    })
}

/// `get_tree`. Conversations are deep: one entry below the other. So the tree is written without
/// recursion.
pub(super) async fn tree(dialect: &OmpDialect) -> CommandOutcome {
    let (_, entries) = dialect.session().entries().await?;
    let mut json = b"{\"tree\":[".to_vec();
    write_tree(&entries, &mut json).map_err(|error| CommandFailure::new(error.to_string()))?;
    json.extend_from_slice(b"],\"leafId\":");
    let leaf = entries.last().map(|entry| entry.id.as_str());
    serde_json::to_writer(&mut json, &leaf)
        .map_err(|error| CommandFailure::new(error.to_string()))?;
    json.push(b'}');
    Ok(AnswerData::raw(json))
}

fn write_tree(entries: &[Entry], json: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    let mut roots = Vec::new();
    let mut labels: HashMap<&str, (&str, &str)> = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let parent = entry.parent_id.as_deref().and_then(|id| places.get(id));
        match parent.and_then(|parent| children.get_mut(*parent)) {
            Some(siblings) => siblings.push(place),
            None => roots.push(place),
        }
        places.insert(&entry.id, place);
        if let EntryKind::Label { target_id, label } = &entry.kind {
            match label {
                Some(label) => labels.insert(target_id, (label, &entry.timestamp)),
                None => labels.remove(target_id.as_str()),
            };
        }
    }
    enum TreeStep {
        Open(usize, bool),
        Close(usize),
    }
    let opened = |places: &[usize]| {
        let steps: Vec<TreeStep> = places
            .iter()
            .enumerate()
            .rev()
            .map(|(n, place)| TreeStep::Open(*place, n > 0))
            .collect();
        steps
    };
    let mut steps = opened(&roots);
    while let Some(step) = steps.pop() {
        match step {
            TreeStep::Open(place, follows) => {
                let (Some(entry), Some(below)) = (entries.get(place), children.get(place)) else {
                    continue;
                };
                if follows {
                    json.push(b',');
                }
                json.extend_from_slice(b"{\"entry\":");
                serde_json::to_writer(&mut *json, entry)?;
                json.extend_from_slice(b",\"children\":[");
                steps.push(TreeStep::Close(place));
                steps.extend(opened(below));
            }
            TreeStep::Close(place) => {
                json.push(b']');
                let label = entries
                    .get(place)
                    .and_then(|entry| labels.get(entry.id.as_str()));
                if let Some((label, timestamp)) = label {
                    json.extend_from_slice(b",\"label\":");
                    serde_json::to_writer(&mut *json, label)?;
                    json.extend_from_slice(b",\"labelTimestamp\":");
                    serde_json::to_writer(&mut *json, timestamp)?;
                }
                json.push(b'}');
            }
        }
    }
    Ok(())
}

/// `get_available_commands`, as omp lists them.
pub(super) async fn available_commands(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct ListedCommands<T> {
        commands: T,
    }
    let commands = connection::available_commands(&dialect.session().slash().list().await);
    AnswerData::of(&ListedCommands { commands })
}

/// `get_commands`, as pi lists them. The program's own are not among them.
pub(super) async fn commands(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ListedCommand {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        source: &'static str,
        source_info: SourceInfo,
    }
    #[derive(Serialize)]
    struct SourceInfo {
        path: String,
        source: &'static str,
        scope: &'static str,
        origin: &'static str,
    }
    #[derive(Serialize)]
    struct AvailableCommands {
        commands: Vec<ListedCommand>,
    }
    let known = dialect.session().slash().list().await;
    let commands = known.iter().filter_map(|command| {
        let path = command.path.as_ref();
        let in_project = path.is_some_and(|path| path.starts_with(&dialect.options.cwd));
        Some(ListedCommand {
            name: command.name.clone(),
            description: command.description.clone(),
            source: pi_source(command.source)?,
            source_info: SourceInfo {
                path: path.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
                source: "local",
                scope: if in_project { "project" } else { "user" },
                origin: "top-level",
            },
        })
    });
    AnswerData::of(&AvailableCommands {
        commands: commands.collect(),
    })
}

/// pi's word for where a command comes from (6.4); it has none for the program's own.
fn pi_source(source: CommandSource) -> Option<&'static str> {
    match source {
        CommandSource::Builtin => None,
        CommandSource::Extension => Some("extension"),
        CommandSource::Prompt | CommandSource::Agent | CommandSource::McpPrompt => Some("prompt"),
        CommandSource::Skill => Some("skill"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(id: &str, parent: Option<&str>) -> Entry {
        Entry {
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            timestamp: "t".to_owned(),
            kind: EntryKind::SessionInfo {
                name: id.to_owned(),
            },
        }
    }

    fn tree_of(entries: &[Entry]) -> Value {
        let mut json = b"[".to_vec();
        write_tree(entries, &mut json).unwrap();
        json.push(b']');
        serde_json::from_slice(&json).unwrap()
    }

    fn node(entry: &Entry, children: Value) -> Value {
        json!({"entry": entry, "children": children})
    }

    #[test]
    fn the_tree_has_every_branch_and_its_labels() {
        let mut entries = vec![
            entry("a", None),
            entry("b", Some("a")),
            entry("c", Some("b")),
            entry("d", Some("a")),
            entry("e", Some("nowhere")),
        ];
        let label = Entry {
            kind: EntryKind::Label {
                target_id: "c".into(),
                label: Some("here".into()),
            },
            ..entry("l", Some("d"))
        };
        entries.push(label);
        let [a, b, c, d, e, l] = &entries[..] else {
            panic!("six entries")
        };
        let mut labelled = node(c, json!([]));
        labelled["label"] = json!("here");
        labelled["labelTimestamp"] = json!("t");
        let d = node(d, json!([node(l, json!([]))]));
        let expected = json!([
            node(a, json!([node(b, json!([labelled])), d])),
            node(e, json!([]))
        ]);
        assert_eq!(tree_of(&entries), expected);
        assert_eq!(tree_of(&[]), json!([]));
    }

    #[test]
    fn a_conversation_of_a_hundred_thousand_entries_is_a_tree_without_a_stack_overflow() {
        let mut entries = vec![entry("0", None)];
        for n in 1..100_000 {
            entries.push(entry(&n.to_string(), Some(&(n - 1).to_string())));
        }
        let mut json = Vec::new();
        write_tree(&entries, &mut json).unwrap();
        assert!(json.ends_with(b"]}]}"));
    }
}
