//! What is said to the model, and when it is delivered.

mod queues;
mod slash;
mod steering;
