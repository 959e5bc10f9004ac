//! Clients of one server in sessions of another, without a network between the two.

#[cfg(test)]
mod acp;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod single;
