//! The task of one session: it alone opens, uses and closes it, and handles what is in its mailbox
//! in the order of the lines.

use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value};
use stentor_agent::hub::Cursor;
use stentor_agent::tasks;
use stentor_wire::jsonrpc::Id;
use tokio::sync::mpsc;

use super::client::AcpClient;
use super::connection::AcpContext;
use super::error::{self, AcpResult, Refusal};
use super::open_session::{AcpSession, SessionTaskStep};
use super::opening::{Opener, OpeningKind, blocking};
use super::params::{RequestedSession, nothing};
use super::prompt::not_steered;
use super::request::{RequestKind, SessionMessage, SessionRequest};
use super::sessions::FinishedTask;
use super::settings::SettingChange;

pub(super) struct SessionTask {
    context: Arc<AcpContext>,
    id: Arc<str>,
    mailbox: mpsc::Receiver<SessionMessage>,
    finished: mpsc::Sender<FinishedTask>,
    /// How many requests it has handled.
    handled: u64,
    open: Option<AcpSession>,
    /// What the session is opened with; without one it is closed.
    wanted: Option<Arc<RequestedSession>>,
}

impl SessionTask {
    /// The task of session `id`: of one that is unloaded, if there is something it is opened with.
    pub fn new(
        context: Arc<AcpContext>,
        id: Arc<str>,
        mailbox: mpsc::Receiver<SessionMessage>,
        finished: mpsc::Sender<FinishedTask>,
        wanted: Option<Arc<RequestedSession>>,
    ) -> Self {
        Self {
            context,
            id,
            mailbox,
            finished,
            handled: 0,
            open: None,
            wanted,
        }
    }

    /// Works until the mailbox is closed, then closes the session.
    pub async fn run(mut self) {
        while let Some(message) = self.next().await {
            self.handled += 1;
            match message {
                SessionMessage::Request(request) => self.handle(*request).await,
                SessionMessage::Abort => self.abort().await,
            }
        }
        if let Some(open) = self.open.take() {
            let pump = match self.context.agent.is_sharing() {
                true => open.leave().await,
                false => open.close().await,
            };
            // Nobody reads them if the pipe is closed.
            pump.run().await.ok();
        }
    }

    /// The next request. Whatever goes on in the session goes on meanwhile.
    async fn next(&mut self) -> Option<SessionMessage> {
        while let Some(open) = &mut self.open {
            match open.next(&mut self.mailbox).await {
                SessionTaskStep::Message(message) => return message,
                SessionTaskStep::Unload => match self.mailbox.is_empty() && open.may_unload().await
                {
                    true => self.close().await,
                    false => open.stay_loaded(),
                },
            }
        }
        let finished = FinishedTask {
            session: Arc::clone(&self.id),
            handled: self.handled,
            unloaded: self.wanted.clone(),
        };
        tokio::select! {
            biased;
            message = self.mailbox.recv() => return message,
            // It is gone when the connection ends.
            permit = self.finished.reserve() => permit.ok()?.send(finished),
        }
        self.mailbox.recv().await
    }

    async fn abort(&mut self) {
        if let Some(open) = &mut self.open {
            open.abort().await;
        }
    }

    async fn handle(&mut self, request: SessionRequest) {
        let SessionRequest {
            id,
            client,
            kind,
            permit,
        } = request;
        let refused = match kind {
            RequestKind::New(wanted) => self.start(&id, client, wanted).await.err(),
            RequestKind::Fork { wanted, source } => {
                self.fork(&id, client, wanted, source).await.err()
            }
            RequestKind::Reopen {
                wanted,
                replays,
                after,
            } => {
                let announced = match replays {
                    true => OpeningKind::Loaded,
                    false => OpeningKind::Resumed,
                };
                let reopened = self.reopen(&id, client, wanted, announced, after).await;
                reopened.err()
            }
            RequestKind::Close if self.wanted.is_none() => Some(Refusal::unknown_session(&self.id)),
            RequestKind::Close => {
                self.close().await;
                self.wanted = None;
                self.context.answer(&id, Ok(nothing())).await;
                None
            }
            RequestKind::Delete => {
                let deleted = self.delete().await;
                self.context.answer(&id, deleted).await;
                None
            }
            RequestKind::Title(title) => match &mut self.open {
                Some(open) => {
                    open.set(&id, SettingChange::Title(title)).await;
                    None
                }
                None => {
                    let named = self.name(title).await;
                    self.context.answer(&id, named).await;
                    None
                }
            },
            RequestKind::Steer(_) if self.open.is_none() && self.wanted.is_some() => {
                self.context.answer(&id, Ok(not_steered())).await;
                None
            }
            RequestKind::Prompt(request, prompt) => {
                match self.opened(client).await {
                    Ok(open) => open.prompt(request, prompt, client),
                    Err(refusal) => {
                        let mut frames = Vec::new();
                        request.refuse(refusal, &mut frames);
                        self.context.output.send(&frames).await.ok();
                    }
                }
                None
            }
            RequestKind::Steer(prompt) => match self.opened(client).await {
                Ok(open) => {
                    open.steer(id.clone(), prompt, permit);
                    return;
                }
                Err(refusal) => Some(refusal),
            },
            RequestKind::Set(setting) => match self.opened(client).await {
                Ok(open) => {
                    open.set(&id, setting).await;
                    None
                }
                Err(refusal) => Some(refusal),
            },
        };
        if let Some(refusal) = refused {
            self.context.answer::<()>(&id, Err(refusal)).await;
        }
        // Until here it counts among the requests that are worked on.
        drop(permit);
    }

    /// The session, which is loaded again if it was unloaded.
    async fn opened(&mut self, client: AcpClient) -> AcpResult<&mut AcpSession> {
        if self.open.is_none() {
            let unknown = || Refusal::unknown_session(&self.id);
            let wanted = self.wanted.as_ref().ok_or_else(unknown)?;
            let opener = Opener::new(&self.context, client);
            let stored = opener.find(&self.id, wanted).await?;
            let stored = stored.ok_or_else(unknown)?;
            let (open, _) = opener.resume(stored, wanted, None).await?;
            self.open = Some(open);
        }
        let open = self.open.as_mut();
        open.ok_or_else(|| Refusal::unknown_session(&self.id))
    }

    async fn start(
        &mut self,
        id: &Id,
        client: AcpClient,
        wanted: RequestedSession,
    ) -> AcpResult<()> {
        let opener = Opener::new(&self.context, client);
        let (open, ready) = opener.start(&self.id, &wanted).await?;
        self.wanted = Some(Arc::new(wanted));
        let open = self.open.insert(open);
        open.announce(id, ready, OpeningKind::New).await
    }

    async fn fork(
        &mut self,
        id: &Id,
        client: AcpClient,
        wanted: RequestedSession,
        source: String,
    ) -> AcpResult<()> {
        let opener = Opener::new(&self.context, client);
        let (open, ready) = opener.fork(&self.id, &source.into(), &wanted).await?;
        self.wanted = Some(Arc::new(wanted));
        let open = self.open.insert(open);
        open.announce(id, ready, OpeningKind::Forked).await
    }

    /// Names a session that is not open here.
    async fn name(&mut self, title: String) -> AcpResult<acp::SetSessionTitleResponse> {
        let (agent, id) = (self.context.agent.clone(), Arc::clone(&self.id));
        let found = blocking(move || agent.find_id(&id)).await?;
        let about = |error| error::about_stored(&self.id, error);
        let path = found.map_err(about)?;
        let renamed = self.context.agent.rename(path, title.clone()).await;
        renamed.map_err(about)?;
        Ok(acp::SetSessionTitleResponse::new(title))
    }

    /// `session/load` and `session/resume`. A session that is open here and on disk is closed first:
    /// the client may want another folder and other servers now. What is refused closes nothing.
    async fn reopen(
        &mut self,
        id: &Id,
        client: AcpClient,
        wanted: RequestedSession,
        announced: OpeningKind,
        after: Option<Cursor>,
    ) -> AcpResult<()> {
        let opener = Opener::new(&self.context, client);
        let (open, ready) = match opener.find(&self.id, &wanted).await? {
            Some(stored) => {
                self.close().await;
                self.wanted = None;
                let (open, ready) = opener.resume(stored, &wanted, after).await?;
                self.wanted = Some(Arc::new(wanted));
                (self.open.insert(open), ready)
            }
            // Nothing is stored from which it could be opened again: it goes on as it is.
            None => {
                let unknown = || Refusal::unknown_session(&self.id);
                let open = self.open.as_mut().ok_or_else(unknown)?;
                open.cancel_turn().await;
                let ready = open.ready().await?;
                (open, ready)
            }
        };
        open.announce(id, ready, announced).await
    }

    /// Closes what is open. Everything that happened in it has been handed over then.
    async fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let pump = open.close().await;
            // The client's terminals may still have to be released.
            tasks::spawn(pump.run());
        }
    }

    /// A session that is not there is as good as deleted (section 5.6). What is refused closes nothing.
    async fn delete(&mut self) -> AcpResult<Map<String, Value>> {
        let (agent, id) = (self.context.agent.clone(), Arc::clone(&self.id));
        let own = usize::from(self.open.is_some());
        let (asked, about) = (agent.clone(), Arc::clone(&id));
        blocking(move || asked.may_delete(&about, own))
            .await?
            .map_err(|error| error::about_stored(&self.id, error))?;
        self.close().await;
        self.wanted = None;
        let unused = agent.close_unused(&id).await;
        unused.map_err(|error| error::about_stored(&self.id, error))?;
        blocking(move || agent.delete(&id))
            .await?
            .map_err(|error| error::about_stored(&self.id, error))?;
        Ok(nothing())
    }
}
