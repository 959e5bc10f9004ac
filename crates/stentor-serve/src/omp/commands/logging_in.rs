//! Logging in to providers (section 19), over the same dialogs as everything else.

use std::sync::Arc;

use serde::Serialize;
use stentor_agent::dialog::{Dialog, DialogAnswer};
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_agent::session::Session;
use stentor_wire::omp::command::Login;
use stentor_wire::omp::frame::{Frame, UiMethod, UiRequest};
use tokio::sync::{mpsc, oneshot};

use crate::omp::dialect::Dialect;
use crate::omp::framing::AgentFrame;
use crate::omp::login::{LoginUi, log_in};
use crate::omp::reply::{CommandOutcome, Data, Failure};
use crate::omp::ui::{self, UiKind};

/// What a login may want shown before the first of it is. What is more is not shown.
const WAITING: usize = 8;

/// `get_login_providers`.
pub(super) fn providers(dialect: &Dialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct Listed {
        providers: Vec<Provider>,
    }
    #[derive(Serialize)]
    struct Provider {
        id: String,
        name: String,
        /// True when logging in can work here.
        available: bool,
        authenticated: bool,
    }
    let providers = dialect.options.login.providers();
    let providers = providers.into_iter().map(|provider| Provider {
        id: provider.id,
        name: provider.name,
        available: true,
        authenticated: provider.logged_in,
    });
    Data::of(&Listed {
        providers: providers.collect(),
    })
}

/// `login`: done when there are credentials.
pub(super) async fn login(dialect: Arc<Dialect>, login: Login) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct LoggedIn {
        provider_id: String,
    }
    let session = dialect.session();
    let (wishes, mut wanted) = mpsc::channel(WAITING);
    let person = Person {
        session: session.clone(),
        wishes,
    };
    let working = async {
        let done = log_in(&*dialect.options.login, &login.provider_id, &person).await;
        drop(person);
        done
    };
    let showing = async {
        while let Some(wish) = wanted.recv().await {
            match wish {
                Wish::Page { url, instructions } => {
                    open(&dialect, &url, &instructions).await;
                }
                Wish::Notice(message) => session.publish(EventKind::Notice {
                    level: NoticeLevel::Info,
                    message,
                    from: NoticeSource::Asked,
                }),
                // Who waits for it may be gone.
                Wish::Reached(here) => drop(here.send(())),
            }
        }
    };
    let (done, ()) = futures_util::future::join(working, showing).await;
    done.map_err(Failure::new)?;
    Data::of(&LoggedIn {
        provider_id: login.provider_id,
    })
}

/// The person in front of the client, for a login.
struct Person {
    session: Session,
    wishes: mpsc::Sender<Wish>,
}

/// What is to be shown, in the order it was wanted.
enum Wish {
    Page {
        url: String,
        instructions: String,
    },
    Notice(String),
    /// Everything before it was shown.
    Reached(oneshot::Sender<()>),
}

impl Person {
    fn want(&self, wish: Wish) {
        if self.wishes.try_send(wish).is_err() {
            tracing::warn!("a login wants too much shown");
        }
    }
}

impl LoginUi for Person {
    fn open_url(&self, url: &str, instructions: &str) {
        self.want(Wish::Page {
            url: url.to_owned(),
            instructions: instructions.to_owned(),
        });
    }

    fn progress(&self, message: &str) {
        self.want(Wish::Notice(message.to_owned()));
    }

    async fn ask(&self, dialog: Dialog) -> DialogAnswer {
        let (here, reached) = oneshot::channel();
        if self.wishes.send(Wish::Reached(here)).await.is_ok() {
            // A question about a page comes after the page.
            reached.await.ok();
        }
        self.session.ask_dialog(dialog).await
    }
}

async fn open(dialect: &Dialect, url: &str, instructions: &str) {
    let instructions = Some(instructions);
    let number = dialect.connection.next_shown();
    let id = ui::request_id(UiKind::Shown, dialect.live().generation, number);
    let frame: AgentFrame<'_> = Frame::ExtensionUiRequest(UiRequest {
        id: &id,
        method: UiMethod::OpenUrl { url, instructions },
    });
    dialect.send_frame("extension_ui_request", &frame).await;
}
