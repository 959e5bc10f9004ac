//! What an extension sends: what it asks, reports and shows.

use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::tasks;
use stentor_wire::extension::{Nothing, RegisterParams, ToolProgressParams, method};
use stentor_wire::jsonrpc::{Id, RawJson, code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::ExtensionConnection;
use super::content;
use super::handle::Extension;
use super::limits::{COMPLAINTS, OPEN_REQUESTS};
use super::ordered_output::OrderedOutput;
use super::requests::ExtensionRequest;
use super::ui::ShownUi;
use crate::json_rpc_child::{GARBAGE_LINES, Handler};

/// Takes what one process of an extension sends, from its first message to its last.
pub(super) struct ExtensionMessages {
    extension: Arc<Extension>,
    connection: Arc<ExtensionConnection>,
    ui: Arc<Mutex<ShownUi>>,
    output: Arc<OrderedOutput>,
    open_requests: Arc<Semaphore>,
    /// Messages that made no sense and are still reported.
    complaints_left: u32,
}

impl ExtensionMessages {
    pub fn new(
        extension: Arc<Extension>,
        connection: Arc<ExtensionConnection>,
        ui: Arc<Mutex<ShownUi>>,
        output: Arc<OrderedOutput>,
    ) -> Self {
        Self {
            extension,
            connection,
            ui,
            output,
            open_requests: Arc::new(Semaphore::new(OPEN_REQUESTS)),
            complaints_left: COMPLAINTS,
        }
    }

    /// A permit for one request more. Refuses it when too many are open.
    fn permit(&self, id: &Id) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.open_requests).try_acquire_owned().ok();
        if permit.is_none() {
            let why = format!("{OPEN_REQUESTS} requests are open already");
            self.refuse(id, code::INVALID_REQUEST, &why);
        }
        permit
    }

    /// Does something in a task of its own, since reading never waits.
    fn spawn(&self, permit: OwnedSemaphorePermit, work: impl Future<Output = ()> + Send + 'static) {
        let peer = Arc::clone(&self.connection.peer);
        tasks::spawn(async move {
            tokio::select! {
                () = work => {}
                () = peer.closed() => {}
            }
            drop(permit);
        });
    }

    fn refuse(&self, id: &Id, code: i64, why: &str) {
        if let Err(error) = self.connection.peer.outbox.refuse(Some(id), code, why) {
            tracing::debug!(%error, "an extension was not answered that it was refused");
        }
    }
}

impl Handler for ExtensionMessages {
    fn request(&mut self, id: Id, method: &str, params: RawJson<'_>) {
        if method == method::REGISTER {
            return match params.parse::<RegisterParams>() {
                Ok(params) => {
                    self.extension.register(params);
                    let Some(permit) = self.permit(&id) else {
                        return;
                    };
                    let connection = Arc::clone(&self.connection);
                    self.spawn(permit, async move {
                        // One that is gone has no use for the answer.
                        let _ = connection.peer.outbox.answer(&id, &Nothing {}).await;
                    });
                }
                Err(error) => self.refuse(&id, code::INVALID_PARAMS, &error.to_string()),
            };
        }
        match ExtensionRequest::read(method, params) {
            None => self.refuse(&id, code::METHOD_NOT_FOUND, "no such method"),
            Some(Err(error)) => self.refuse(&id, code::INVALID_PARAMS, &error.to_string()),
            Some(Ok(ask)) => {
                let Some(permit) = self.permit(&id) else {
                    return;
                };
                let asked = ask.asked(&self.output, &self.connection);
                let connection = Arc::clone(&self.connection);
                let extension = Arc::clone(&self.extension);
                self.spawn(permit, async move {
                    asked.answer(&id, &connection, &extension).await;
                });
            }
        }
    }

    fn notification(&mut self, method: &str, params: RawJson<'_>) {
        let read = if method == method::TOOL_PROGRESS {
            params.parse::<ToolProgressParams>().map(|params| {
                let output = content::progress(params.content, params.details);
                let connection = Arc::clone(&self.connection);
                // One that finds no room is one of too many, which are dropped anyway.
                self.output.show(Box::new(move |_| {
                    connection.report(&params.call_id, output)
                }));
            })
        } else {
            let mut ui = self.ui.lock().unwrap_or_else(PoisonError::into_inner);
            ui.show(method, params).unwrap_or(Ok(()))
        };
        if let Err(error) = read
            && self.complaints_left > 0
        {
            self.complaints_left -= 1;
            self.extension.failed(method, &error.to_string());
        }
    }

    /// What was shown before an answer is not overtaken by what follows from it.
    fn before_answer(&mut self) {
        self.output.catch_up();
    }

    fn first_garbage(&mut self, what: &str) {
        self.extension.failed("output", what);
    }

    fn too_fast(&mut self) {
        let why = "it writes too many messages and is read more slowly from now on";
        self.extension.failed("output", why);
    }

    fn only_garbage(&self) -> String {
        format!("it wrote {GARBAGE_LINES} unreadable lines in a row")
    }
}

impl Drop for ExtensionMessages {
    fn drop(&mut self) {
        self.output.close();
    }
}
