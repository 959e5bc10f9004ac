//! What is done to text of models, tools, files and servers before a person or a file gets it:
//! secrets are taken out ([`redaction`]), and what would deceive a reader is shown ([`visible`]).
//! Also what changed between two texts ([`line_diff`]), and which name a misspelt one was meant to
//! be ([`spelling`]).

pub mod line_diff;
pub mod redaction;
pub mod spelling;
pub mod visible;
