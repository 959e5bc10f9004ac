//! The psi dialect over real pipes, with a scripted model. Each test names the rule it guards;
//! every frame that any of them sees is checked as the frontend's own parser would.

mod actions;
mod client;
mod deltas;
mod dialogs;
mod envelope;
mod eql;
mod focus;
mod jobs;
mod login;
mod navigation;
mod prompting;
mod settings;
mod slash;
mod subscribing;
mod transcript;
mod world;
