//! The bytes and the frames: how a line is cut out of a byte stream, and how EDN and JSON-RPC are
//! read from it and written to it.
//!
//! **Here:** [`framing`] (lines, the size limit, UTF-8), [`edn`] (a reader of full EDN, a writer of
//! the subset that the frontend reads back), [`eql`] (queries written in EDN), [`jsonrpc`] (envelopes
//! and ids), [`sse`] (server-sent events), [`attach`] (the first lines of a connection to a server),
//! [`link`] (what a relay and its server say to each other),
//! and the frames of the dialects: [`psi`].
//!
//! **Deliberately absent:** IO, async, clocks, logging, and every agent concept. Functions take
//! bytes and give values, or take values and append bytes to the caller's buffer; who reads, who
//! writes and who adds the newline is decided elsewhere. Nothing in this crate panics on input,
//! whatever the input is.

pub mod acp;
pub mod attach;
pub mod edn;
pub mod eql;
pub mod extension;
pub mod framing;
pub mod jsonrpc;
pub mod link;
pub mod omp;
pub mod psi;
pub mod sse;
pub mod synaps;
