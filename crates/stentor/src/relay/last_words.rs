//! What a frontend reads last when its server is gone: an error in the words of its dialect.

use serde_json::json;
use stentor_wire::jsonrpc::{code, encode};
use stentor_wire::psi::ErrorCode;
use stentor_wire::psi::frame::{self, ErrorContext};
use stentor_wire::synaps::{Event, ascii};

use crate::dialect::Dialect;

/// The line that says why nothing follows, its end included.
pub fn last_words(dialect: Dialect, why: &str) -> Vec<u8> {
    let mut line = Vec::new();
    let written = match dialect {
        Dialect::Acp => {
            let written = encode::error(&mut line, None, code::INTERNAL_ERROR, why, None);
            line.push(b'\n');
            written.is_ok()
        }
        Dialect::Omp => {
            let answer = json!({
                "type": "response", "command": "attach", "success": false, "error": why,
            });
            line.extend_from_slice(format!("{answer}\n").as_bytes());
            true
        }
        Dialect::Psi => {
            frame::error(&mut line, ErrorCode::Failed, why, ErrorContext::default());
            true
        }
        Dialect::Synaps => {
            let message = why.to_owned();
            ascii::write_line(&mut line, &Event::Error { id: None, message }).is_ok()
        }
    };
    match written {
        true => line,
        false => Vec::new(),
    }
}
