//! Nodes of a fleet, on a real NATS server.

#[cfg(test)]
mod elsewhere;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod interruptions;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod moving;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod page;
#[cfg(test)]
mod placement;
#[cfg(test)]
mod places;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod takeover;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
