//! Logging in to providers (section 19), over the same dialogs as everything else.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use stentor_agent::dialog::{Dialog, DialogAnswer};
use stentor_agent::event::{EventKind, NoticeLevel};
use stentor_agent::session::Session;
use stentor_wire::omp::command::Login;
use stentor_wire::omp::frame::{Frame, UiMethod, UiRequest};
use tokio::sync::mpsc;

use crate::omp::dialect::Dialect;
use crate::omp::framing::AgentFrame;
use crate::omp::login::{LoginProvider, LoginUi};
use crate::omp::reply::{Data, Failure, Outcome};
use crate::omp::ui::{self, UiKind};

/// Pages a login may want opened before the first of them is. A further one is not opened.
const PAGES: usize = 8;

/// `get_login_providers`.
pub(super) fn providers(dialect: &Dialect) -> Outcome {
    #[derive(Serialize)]
    struct Listed {
        providers: Vec<LoginProvider>,
    }
    Data::of(&Listed {
        providers: dialect.options.logins.providers(),
    })
}

/// `login`: done when there are credentials.
pub(super) async fn login(dialect: Arc<Dialect>, login: Login) -> Outcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct LoggedIn {
        provider_id: String,
    }
    let (pages, mut opening) = mpsc::channel(PAGES);
    let page = Page {
        session: dialect.session(),
        pages,
    };
    let logins = Arc::clone(&dialect.options.logins);
    let working = async {
        let done = logins.login(&login.provider_id, &page).await;
        drop(page);
        done
    };
    let showing = async {
        while let Some(wanted) = opening.recv().await {
            open(&dialect, &wanted).await;
        }
    };
    let (done, ()) = futures_util::future::join(working, showing).await;
    done.map_err(Failure::new)?;
    Data::of(&LoggedIn {
        provider_id: login.provider_id,
    })
}

/// The person in front of the client, for a login.
struct Page {
    session: Session,
    pages: mpsc::Sender<WantedPage>,
}

struct WantedPage {
    url: String,
    instructions: Option<String>,
}

impl LoginUi for Page {
    fn open_url(&self, url: &str, instructions: Option<&str>) {
        let page = WantedPage {
            url: url.to_owned(),
            instructions: instructions.map(str::to_owned),
        };
        if self.pages.try_send(page).is_err() {
            tracing::warn!("a login wants too many pages opened");
        }
    }

    fn progress(&self, message: &str) {
        self.session.publish(EventKind::Notice {
            level: NoticeLevel::Info,
            message: message.to_owned(),
        });
    }

    fn ask(&self, dialog: Dialog) -> Pin<Box<dyn Future<Output = DialogAnswer> + Send + '_>> {
        Box::pin(self.session.ask_dialog(dialog))
    }
}

async fn open(dialect: &Dialect, page: &WantedPage) {
    let number = dialect.connection.next_shown();
    let id = ui::request_id(UiKind::Shown, dialect.live().generation, number);
    let frame: AgentFrame<'_> = Frame::ExtensionUiRequest(UiRequest {
        id: &id,
        method: UiMethod::OpenUrl {
            url: &page.url,
            instructions: page.instructions.as_deref(),
        },
    });
    dialect.send_frame("extension_ui_request", &frame).await;
}
