//! `stentor config`: what is configured and where it came from.

use std::io::{self, Write};

use crate::config::{Config, show};

/// Prints the configuration.
pub fn run(config: &Config, json: bool, out: &mut impl Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, &show::as_json(config))?;
        writeln!(out)
    } else {
        out.write_all(show::as_text(config).as_bytes())
    }
}
