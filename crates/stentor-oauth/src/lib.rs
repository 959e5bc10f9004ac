//! What every login in a browser needs, at a provider of models or at an MCP server: the page on this
//! machine that the browser returns to, the proof that belongs to it, and a file of credentials that
//! processes share.

mod callback;
mod credential_file;
mod pasted;
mod pkce;
pub mod secret;

pub use callback::{CallbackServer, Returned};
pub use credential_file::{CredentialFile, CredentialFileError, CredentialLock};
pub use pasted::{PasteError, pasted_code};
pub use pkce::{NoRandomness, Proof, random_text};
