//! Agents as children: the client library against the built program in all four dialects.

#[cfg(test)]
mod acp_child;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod behind;
#[cfg(test)]
mod checked;
#[cfg(test)]
mod choosing;
#[cfg(test)]
mod confined;
#[cfg(test)]
mod context;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod driven;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod host_tools;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod own_turns;
#[cfg(test)]
mod patience;
#[cfg(test)]
mod reported;
#[cfg(test)]
mod resumed;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod steered;
#[cfg(test)]
mod untold;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
