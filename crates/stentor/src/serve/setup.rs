//! How the server sets up the frontend of a client: by the same words that start it alone.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use stentor_serve::frontend::{Frontend, FrontendSetup, Storing};
use stentor_serve::page::PageOptions;
use stentor_wire::attach::{AttachRefusal, ClientHello};

use crate::dialect::Dialect;
use crate::environment::Variables;
use crate::frontend::Start;
use crate::{acp, omp, rpc, rpc_edn};

/// Exit status for what cannot be served.
const FAILED: u8 = 1;

/// The dialect of the page, which only the server speaks.
const PAGE: &str = "page";

/// Sets up frontends where their clients are.
#[derive(Default)]
pub struct ClientSetup {
    /// Where new sessions go, if not where the configuration says.
    pub storing: Option<Storing>,
}

impl FrontendSetup for ClientSetup {
    fn frontend(&self, client: &ClientHello) -> Result<Frontend, AttachRefusal> {
        let refused = |message: String| AttachRefusal {
            message,
            status: FAILED,
        };
        let start = Start {
            folder: PathBuf::from(&client.cwd),
            variables: Variables::OfClient(Arc::new(client.env.clone())),
            storing: self.storing.clone(),
        };
        if !start.folder.is_absolute() {
            let why = format!("the working folder {:?} is not absolute", client.cwd);
            return Err(refused(why));
        }
        if client.dialect == PAGE {
            return page(client, &start);
        }
        let dialect = Dialect::from_str(&client.dialect, false);
        let dialect =
            dialect.map_err(|_| refused(format!("there is no dialect {:?}", client.dialect)))?;
        let prepared = match dialect {
            Dialect::Acp => acp::for_client(&client.args, &start),
            Dialect::Omp => omp::for_client(&client.args, &start),
            Dialect::Psi => rpc_edn::for_client(&client.args, &start),
            Dialect::Synaps => rpc::for_client(&client.args, &start),
        };
        prepared.map(|prepared| prepared.frontend)
    }
}

/// The page has what a client of ACP has: it shows questions.
fn page(client: &ClientHello, start: &Start) -> Result<Frontend, AttachRefusal> {
    let prepared = acp::for_client(&client.args, start)?;
    let options = PageOptions {
        cwd: start.folder.clone(),
        fleet: None,
    };
    Ok(match prepared.frontend {
        Frontend::Acp(agent, _) => Frontend::Page(agent, options),
        other => other,
    })
}
