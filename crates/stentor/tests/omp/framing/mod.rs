//! How frames are written: lines, chunks of long ones, deltas.

mod chunks;
mod deltas;
mod lines;
