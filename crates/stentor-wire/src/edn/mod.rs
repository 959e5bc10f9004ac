//! EDN as the psi dialect uses it (section 2 of its reference).
//!
//! The two directions are not symmetric. The [`Reader`] takes all of EDN, because any client may
//! write it. The [`EdnWriter`] gives only what the frontend's built-in parser reads back, because
//! one form outside that subset costs the whole frame; it cannot be talked into anything else.
//!
//! ```
//! use stentor_wire::edn::{self, EdnWriter, Keyword};
//!
//! let request = edn::read_one(r#"{:id "req-1" :kind :request :op "ping"}"#)?;
//! assert_eq!(request.get("op").and_then(|op| op.as_str()), Some("ping"));
//!
//! let mut line = Vec::new();
//! EdnWriter::new(&mut line).map(|frame| {
//!     frame.field("id", "req-1").field("kind", &Keyword("response")).field("ok", &true);
//! });
//! assert_eq!(line, br#"{:id "req-1" :kind :response :ok true}"#);
//! # Ok::<(), edn::ReadError>(())
//! ```

mod collections;
mod error;
mod reader;
mod string;
mod tag;
mod token;
mod value;
mod write;
mod writer;

pub use collections::{Map, Set};
pub use error::{ReadError, ReadErrorKind};
pub use reader::{MAX_DEPTH, Reader, read_one};
pub use value::{Tagged, Value};
pub use write::{Fields, Keyword, WriteEdn};
pub use writer::{EdnWriter, escape_into};
