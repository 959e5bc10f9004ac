//! How the program is started, and what it finds there.

mod configured;
mod json_mode;
mod places;
mod process;
