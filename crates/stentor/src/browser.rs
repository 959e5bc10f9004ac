//! Opening an address in a browser, where there is one.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use stentor_journal::private_file;

/// What opens an address, on the systems that have it.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens an address if there is a screen. Arguments of a process can be read by everybody, and the
/// address may be secret: it goes by a file that only the user can read, `page`.
pub fn open(address: &str, page: &Path) -> io::Result<()> {
    if !has_screen() {
        return Ok(());
    }
    private_file::replace(page, leading_to(address).as_bytes())?;
    // The first program that takes it. Where none does, the address was printed.
    for opener in OPENERS {
        let started = Command::new(opener)
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if started.is_ok() {
            break;
        }
    }
    Ok(())
}

fn has_screen() -> bool {
    let set = |name| std::env::var_os(name).is_some();
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// A page that goes on to an address.
fn leading_to(address: &str) -> String {
    let mut escaped = String::new();
    for c in address.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            c => escaped.push(c),
        }
    }
    format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={escaped}\">\n")
}
