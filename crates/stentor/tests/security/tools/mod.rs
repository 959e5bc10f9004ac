//! What tools and commands can reach, and what they leave behind.
