//! What a call costs: one shell command, and a search of a generated tree.

fn main() {
    divan::main();
}
