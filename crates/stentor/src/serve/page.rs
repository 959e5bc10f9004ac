//! `stentor page`: the address of the page, opened in a browser where there is one.

use std::io::{IsTerminal, Write};
use std::path::Path;

use stentor_serve::server::HttpStatus;
use stentor_wire::attach::ServerControl;

use super::{ServeError, control, token_file};
use crate::args::PageArgs;
use crate::browser;
use crate::environment::Variables;
use crate::relay::{self, RelayError};
use crate::socket;

/// Shows where the page is: opened if there is a screen, and always printed.
pub fn run(args: &PageArgs, out: &mut (impl Write + IsTerminal)) -> Result<(), ServeError> {
    let usual = || socket::usual(&Variables::OfProcess);
    let socket = args.socket.clone().unwrap_or_else(usual);
    let http = served(&socket)?;
    let tokens = token_file::read(&http.token_file)?;
    let token = match args.observe {
        true => tokens.observe,
        false => tokens.drive,
    };
    let cwd = std::env::current_dir()?;
    // New sessions work where the page was asked for; the server may have been started elsewhere.
    let behind = form_urlencoded::Serializer::new(String::new())
        .append_pair("token", token.reveal())
        .append_pair("cwd", &cwd.to_string_lossy())
        .finish();
    let address = format!("{}/#{behind}", http.address);
    writeln!(out, "{address}")?;
    if !args.print && out.is_terminal() {
        browser::open(&address, &http.token_file.with_file_name("serve.page.html"))?;
    }
    Ok(())
}

/// Where the server is reached over HTTP, which is started if there is none. One that is not reached so
/// yet opens it.
fn served(socket: &Path) -> Result<HttpStatus, ServeError> {
    let asked = match control::ask(socket, ServerControl::Status) {
        Err(ServeError::NotReached(RelayError::NoServer { .. })) => {
            // Another one may have been quicker.
            let started = relay::start(socket, &["--http", "0"]);
            let asked = control::ask(socket, ServerControl::Status);
            match (started, asked) {
                (Err(why), Err(_)) => return Err(why.into()),
                (_, asked) => asked,
            }
        }
        asked => asked,
    };
    let (status, _) = asked?;
    if let Some(http) = status.http {
        return Ok(http);
    }
    let no_http = |why: String| ServeError::NoHttp {
        socket: socket.to_owned(),
        why,
    };
    // An older one does not know what it is asked.
    let (status, _) =
        control::ask(socket, ServerControl::Http).map_err(|why| no_http(why.to_string()))?;
    status
        .http
        .ok_or_else(|| no_http("it has not opened it".to_owned()))
}
