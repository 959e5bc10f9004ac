//! Extensions, each a process of its own. Those of the tests are the programs in this folder.

mod custom_messages;
mod life;
mod ui;
