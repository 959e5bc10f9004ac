//! What the client does for the program: tools, addresses, questions to its user.

mod dialogs;
mod tools;
mod uris;
