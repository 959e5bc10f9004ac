//! The psi dialect over real pipes, with a scripted model. Each test names the rule it guards;
//! every frame that any of them sees is checked as the frontend's own parser would.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod attack;
#[cfg(test)]
mod client;
#[cfg(test)]
mod deltas;
#[cfg(test)]
mod dialogs;
#[cfg(test)]
mod envelope;
#[cfg(test)]
mod eql;
#[cfg(test)]
mod focus;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod login;
#[cfg(test)]
mod navigation;
#[cfg(test)]
mod prompting;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod slash;
#[cfg(test)]
mod slash_others;
#[cfg(test)]
mod subscribing;
#[cfg(test)]
mod transcript;
#[cfg(test)]
mod unloading;
#[cfg(test)]
mod world;
