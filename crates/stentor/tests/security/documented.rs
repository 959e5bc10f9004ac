//! Every guarantee of `docs/security.md` names tests that are there.

use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The rows of the tables of guarantees, each with what it names as its tests.
fn guarantees(page: &str) -> Vec<(&str, &str)> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        let cells = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"));
        match cells.and_then(|cells| cells.rsplit_once(" | ")) {
            Some(("guarantee", "test")) => is_inside = true,
            Some(row) if is_inside => rows.push(row),
            Some(_) => {}
            None => is_inside &= line.starts_with("|--"),
        }
    }
    rows
}

/// Whether there is a test of this name: a file, a module, or a function in a module.
fn exists(name: &str) -> bool {
    let bases = ["stentor/tests/security", "stentor/src", "stentor-model/src"];
    if name == "unsafe_code" {
        let workspace = std::fs::read_to_string(crates().join("../Cargo.toml")).unwrap();
        return workspace.contains("unsafe_code = \"forbid\"");
    }
    if name.contains('/') {
        let files = ["", "stentor/tests"].map(|base| crates().join(base).join(name));
        return files.iter().any(|file| file.exists());
    }
    let path = name.replace("::", "/");
    let (parent, function) = path.rsplit_once('/').unwrap_or(("", &path));
    bases.iter().any(|base| {
        let base = crates().join(base);
        let read = |file: String| std::fs::read_to_string(base.join(file)).unwrap_or_default();
        read(format!("{path}.rs")).contains("#[test]")
            || base.join(&path).join("tests.rs").exists()
            || read(format!("{parent}.rs")).contains(&format!("fn {function}()"))
    })
}

#[test]
fn every_guarantee_names_tests_that_exist() {
    let page = std::fs::read_to_string(crates().join("../docs/security.md")).unwrap();
    let rows = guarantees(&page);
    assert!(rows.len() > 40, "{}", rows.len());
    for (guarantee, tests) in rows {
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test for: {guarantee}");
        for name in names {
            assert!(exists(name), "{name} of: {guarantee}");
        }
    }
}
