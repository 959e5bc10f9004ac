//! Links what must run before `main`: see `native/malloc_limits.c`.

fn main() {
    const SOURCE: &str = "native/malloc_limits.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    // As an object and not as a library, out of which a linker takes only what is called.
    for object in cc::Build::new().file(SOURCE).compile_intermediates() {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}
