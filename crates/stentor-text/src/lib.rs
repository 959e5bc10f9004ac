//! What is done to text of models, tools, files and servers before a person or a file gets it:
//! secrets are taken out ([`redaction`]), and what would deceive a reader is shown ([`visible`]).

pub mod redaction;
pub mod visible;
