//! Logging in to providers (section 19), over the same dialogs as everything else.

use std::sync::Arc;

use serde::Serialize;
use stentor_agent::dialog::{Dialog, DialogAnswer};
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_agent::session::Session;
use stentor_wire::omp::command::Login;
use stentor_wire::omp::frame::{Frame, UiMethod, UiRequest};
use tokio::sync::{mpsc, oneshot};

use crate::omp::dialect::OmpDialect;
use crate::omp::framing::AgentFrame;
use crate::omp::login::{LoginUi, log_in};
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};
use crate::omp::ui::{self, UiKind};

/// What a login may want shown before the first of it is. What is more is not shown.
const WAITING: usize = 8;

/// `get_login_providers`.
pub(super) fn providers(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct ListedProviders {
        providers: Vec<ListedProvider>,
    }
    #[derive(Serialize)]
    struct ListedProvider {
        id: String,
        name: String,
        /// True when logging in can work here.
        available: bool,
        authenticated: bool,
    }
    let providers = dialect.options.login.providers();
    let providers = providers.into_iter().map(|provider| ListedProvider {
        id: provider.id,
        name: provider.name,
        available: true,
        authenticated: provider.logged_in,
    });
    AnswerData::of(&ListedProviders {
        providers: providers.collect(),
    })
}

/// `login`: done when there are credentials.
pub(super) async fn login(dialect: Arc<OmpDialect>, login: Login) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct LoggedIn {
        provider_id: String,
    }
    let session = dialect.session();
    let (wishes, mut wanted) = mpsc::channel(WAITING);
    let person = LoginPerson {
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
                LoginDisplay::Page { url, instructions } => {
                    open(&dialect, &url, &instructions).await;
                }
                LoginDisplay::Notice(message) => session.publish(EventKind::Notice {
                    level: NoticeLevel::Info,
                    message,
                    from: NoticeSource::Asked,
                }),
                // Who waits for it may be gone.
                LoginDisplay::Reached(here) => drop(here.send(())),
            }
        }
    };
    let (done, ()) = futures_util::future::join(working, showing).await;
    done.map_err(|why| CommandFailure::new(why.to_string()))?;
    AnswerData::of(&LoggedIn {
        provider_id: login.provider_id,
    })
}

/// The person in front of the client, for a login.
struct LoginPerson {
    session: Session,
    wishes: mpsc::Sender<LoginDisplay>,
}

/// What is to be shown, in the order it was wanted.
enum LoginDisplay {
    Page {
        url: String,
        instructions: String,
    },
    Notice(String),
    /// Everything before it was shown.
    Reached(oneshot::Sender<()>),
}

impl LoginPerson {
    fn want(&self, wish: LoginDisplay) {
        if self.wishes.try_send(wish).is_err() {
            tracing::warn!("a login wants too much shown");
        }
    }
}

impl LoginUi for LoginPerson {
    fn open_url(&self, url: &str, instructions: &str) {
        self.want(LoginDisplay::Page {
            url: url.to_owned(),
            instructions: instructions.to_owned(),
        });
    }

    fn progress(&self, message: &str) {
        self.want(LoginDisplay::Notice(message.to_owned()));
    }

    async fn ask(&self, dialog: Dialog) -> DialogAnswer {
        let (here, reached) = oneshot::channel();
        if self.wishes.send(LoginDisplay::Reached(here)).await.is_ok() {
            // A question about a page comes after the page.
            reached.await.ok();
        }
        self.session.ask_dialog(dialog).await
    }
}

async fn open(dialect: &OmpDialect, url: &str, instructions: &str) {
    let instructions = Some(instructions);
    let number = dialect.connection.next_shown();
    let id = ui::request_id(UiKind::Shown, dialect.live().generation, number);
    let frame: AgentFrame<'_> = Frame::ExtensionUiRequest(UiRequest {
        id: &id,
        method: UiMethod::OpenUrl { url, instructions },
    });
    dialect.send_frame("extension_ui_request", &frame).await;
}
