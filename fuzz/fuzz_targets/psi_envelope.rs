//! Any line is a request with a name and an id, or one refusal whose frame the frontend
//! understands; any text is a query or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stentor_psi_check::check;
use stentor_wire::eql;
use stentor_wire::psi::{ErrorCode, Op, Refused, Request, frame};

fuzz_target!(|line: &str| {
    match Request::read(line) {
        Ok(request) => {
            match request.names() {
                Ok((id, op)) => {
                    assert!(!id.trim().is_empty() && !op.trim().is_empty());
                    if let Some(known) = Op::parse(op) {
                        assert_eq!(known.as_str(), op);
                    }
                }
                Err(refused) => understood(&refused),
            }
            understood(&request.refused(ErrorCode::NotReady, "handshake first"));
        }
        Err(refused) => understood(&refused),
    }
    let _ = eql::parse(line);
    let _ = eql::parse_entity(line);
});

/// The frame of a refusal is one line that the frontend reads.
fn understood(refused: &Refused) {
    let mut out = Vec::new();
    frame::refusal(&mut out, refused);
    let text = std::str::from_utf8(&out).expect("frames are UTF-8");
    let line = text.strip_suffix('\n').expect("a frame ends its line");
    check(line).expect("a frame the frontend understands");
}
