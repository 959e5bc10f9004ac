//! Logging in (sections 9.7 and 13.2).

use std::sync::Arc;

use stentor_wire::psi::{ErrorCode, Topic};

use crate::login::{Login, LoginBegun, LoginProvider};
use crate::psi::connection::{Answerer, Ask, Connection, Done, Handled, session_error};
use crate::psi::item::{Cause, OpError, Part};
use crate::psi::live::Live;
use crate::psi::payload::{self, message};
use crate::psi::shared::{PendingLogin, Shared};

pub(in crate::psi) async fn begin(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let wanted = ask.params.text("provider")?.map(str::to_owned);
    let live = connection.target(ask)?;
    let (provider, begun) = begin_at(&connection.shared, &live, wanted, false)
        .await
        .map_err(OpError::params)?;
    Done::data(payload::map(|data| {
        data.key("provider");
        write_provider(data, &provider.id, &provider.name);
        data.field("url", &begun.url)
            .field("uses-callback-server", &begun.uses_callback_server)
            .field("pending-login", &true);
    }))
    .of(&live)
    .into()
}

/// A flow that waits for the browser may take long; nothing waits for it.
pub(in crate::psi) fn complete(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let input = ask.params.text("input")?;
    let input = input
        .filter(|input| !input.trim().is_empty())
        .map(str::to_owned);
    let shared = Arc::clone(&connection.shared);
    let pending = shared.pending_login().clone();
    let Some((pending, login)) = pending.zip(shared.options.login.clone()) else {
        let message = "no login was begun; login_begin begins one";
        return Err(OpError::new(ErrorCode::NoPendingLogin, message));
    };
    Ok(ask.answerer.later(async move {
        let completed = login.complete(&pending.provider, input).await;
        completed.map_err(|why| OpError::new(ErrorCode::Failed, why))?;
        forget(&shared, &pending);
        Ok(Done::data(payload::map(|data| {
            data.key("provider");
            write_provider(data, &pending.provider, &pending.name);
            data.field("logged-in", &true);
        })))
    }))
}

/// Begins a login. The error is text for a person.
pub(in crate::psi) async fn begin_at(
    shared: &Shared,
    live: &Live,
    wanted: Option<String>,
    wants_paste: bool,
) -> Result<(LoginProvider, LoginBegun), String> {
    let login = shared.options.login.as_ref();
    let login = login.ok_or("logging in is not available here; configure a key instead")?;
    if let Some(pending) = &*shared.pending_login() {
        return Err(format!("a login at {} is pending already", pending.name));
    }
    let wanted = match wanted.filter(|wanted| !wanted.trim().is_empty()) {
        Some(wanted) => wanted.trim().to_owned(),
        None => {
            let state = live.session.state().await;
            let state = state.map_err(|error| session_error(error).message)?;
            let model = state.model.ok_or("name a provider: there is no model")?;
            model.provider.clone()
        }
    };
    let providers = login.providers();
    let provider = providers.iter().find(|provider| provider.id == wanted);
    let provider = provider.cloned().ok_or_else(|| {
        let names: Vec<&str> = providers.iter().map(|one| one.id.as_str()).collect();
        format!(
            "there is no login at {wanted}; there is one at: {}",
            names.join(", ")
        )
    })?;
    let begun = login.begin(&provider.id).await?;
    *shared.pending_login() = Some(PendingLogin {
        provider: provider.id.clone(),
        name: provider.name.clone(),
        wants_paste: wants_paste && !begun.uses_callback_server,
    });
    Ok((provider, begun))
}

/// `/login`: one message with the address and what to do (section 19), and then, where the
/// browser comes back by itself, another when it did.
pub(in crate::psi) async fn slash_login(
    shared: &Arc<Shared>,
    live: &Arc<Live>,
    wanted: Option<String>,
    cause: Cause,
) -> Result<Vec<Part>, String> {
    let (provider, begun) = begin_at(shared, live, wanted, true).await?;
    let mut text = format!("Log in at {}: {}", provider.name, begun.url);
    if !begun.instructions.is_empty() {
        text.push('\n');
        text.push_str(&begun.instructions);
    }
    if begun.uses_callback_server {
        text.push_str("\nWaiting for the browser to come back…");
        wait_for_browser(shared, live, &provider);
    } else {
        text.push_str("\nPaste the code as your next message.");
    }
    Ok(vec![say(live, &text, cause)])
}

fn wait_for_browser(shared: &Arc<Shared>, live: &Arc<Live>, provider: &LoginProvider) {
    let (shared, live) = (Arc::clone(shared), Arc::clone(live));
    let provider = provider.clone();
    tokio::spawn(async move {
        let Some(login) = shared.options.login.clone() else {
            return;
        };
        let pending = PendingLogin {
            provider: provider.id,
            name: provider.name,
            wants_paste: false,
        };
        let text = completed(&*login, &pending, None).await;
        forget(&shared, &pending);
        let snapshots = Part::Snapshots {
            live: Arc::clone(&live),
            cause: None,
        };
        shared.tell(vec![say(&live, &text, None), snapshots]).await;
    });
}

/// The login whose code the next prompt is.
pub(in crate::psi) fn take_paste(shared: &Shared) -> Option<PendingLogin> {
    shared
        .pending_login()
        .take_if(|pending| pending.wants_paste)
}

/// The prompt was the code of a login: the model hears nothing of it.
pub(in crate::psi) fn pasted(
    ask: &Ask<'_>,
    live: Arc<Live>,
    pending: PendingLogin,
    code: String,
) -> Handled {
    let answerer: Answerer = ask.answerer.clone();
    tokio::spawn(async move {
        answerer.done(Done::accepted().of(&live)).await;
        let Some(login) = answerer.shared.options.login.clone() else {
            return;
        };
        let text = completed(&*login, &pending, Some(code)).await;
        let cause = answerer.cause();
        let parts = vec![
            say(&live, &text, cause.clone()),
            Part::Snapshots { live, cause },
        ];
        answerer.shared.tell(parts).await;
    });
    Ok(crate::psi::connection::Outcome::Later)
}

async fn completed(login: &dyn Login, pending: &PendingLogin, code: Option<String>) -> String {
    match login.complete(&pending.provider, code).await {
        Ok(()) => format!("✓ Logged in at {}.", pending.name),
        Err(why) => format!("Login at {} failed: {why}", pending.name),
    }
}

fn forget(shared: &Shared, done: &PendingLogin) {
    shared
        .pending_login()
        .take_if(|pending| pending.provider == done.provider);
}

/// A text in the transcript of a session.
pub(in crate::psi) fn say(live: &Live, text: &str, cause: Cause) -> Part {
    Part::Event {
        topic: Topic::AssistantMessage,
        session: Some(Arc::clone(&live.id)),
        cause,
        data: payload::form(|data| message::write_text(data, &live.id, "assistant", text, None)),
    }
}

fn write_provider(writer: &mut stentor_wire::edn::EdnWriter<'_>, id: &str, name: &str) {
    writer.map(|map| {
        map.field("id", id).field("name", name);
    });
}
