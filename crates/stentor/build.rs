//! Links what must run before `main` (`native/malloc_limits.c`), and in releases puts the functions that every
//! start runs side by side (`native/start_order.ld`).

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

fn main() {
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        limit_malloc();
    }
    if variable("PROFILE") == "release" {
        order_functions();
    }
}

fn limit_malloc() {
    const SOURCE: &str = "native/malloc_limits.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    // As an object and not as a library, out of which a linker takes only what is called.
    for object in cc::Build::new().file(SOURCE).compile_intermediates() {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}

fn order_functions() {
    const SCRIPT: &str = "native/start_order.ld";
    println!("cargo::rerun-if-changed={SCRIPT}");
    let script = format!("{}/{SCRIPT}", variable("CARGO_MANIFEST_DIR"));
    if linker_takes(&script) {
        println!("cargo::rustc-link-arg-bins=-T");
        println!("cargo::rustc-link-arg-bins={script}");
    }
}

/// Whether a program can be linked by this script: GNU ld and LLD can, other linkers refuse it, and then the program is
/// built without.
fn linker_takes(script: &str) -> bool {
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("empty.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition", "2024", "--target", &variable("TARGET")]);
    rustc.args(["-C", "link-arg=-T", "-C", &format!("link-arg={script}")]);
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc
        .arg("-o")
        .arg(Path::new(&folder).join("empty"))
        .arg(&source);
    rustc.stdout(Stdio::null()).stderr(Stdio::null());
    rustc.status().is_ok_and(|status| status.success())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
