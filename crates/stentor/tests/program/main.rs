//! The built program over real pipes, with the scripted model and the guide.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod world;
