//! Policies over a folder with links out of it.

use super::*;
use crate::WebAddress;
use crate::resolve::resolve;
use std::os::unix::fs::symlink;

mod answers;
mod hosts;
mod modes;
mod rules;

struct Ground {
    _folder: tempfile::TempDir,
    work: PathBuf,
    other: PathBuf,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (work, other) = (base.join("work"), base.join("other"));
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    symlink(&other, work.join("out")).unwrap();
    symlink(other.join("new"), work.join("dangling")).unwrap();
    Ground {
        _folder: folder,
        work,
        other,
    }
}

impl Ground {
    fn on(&self, path: &str) -> Touches {
        Touches {
            paths: vec![self.work.join(path)],
            ..Touches::default()
        }
    }
}

fn command(command: &str) -> Touches {
    Touches {
        command: Some(command.into()),
        ..Touches::default()
    }
}

fn input(text: &str) -> Touches {
    Touches {
        is_input: true,
        ..command(text)
    }
}

fn web(host: &str) -> Touches {
    Touches {
        web: vec![WebAddress {
            host: host.into(),
            url: format!("https://{host}/x"),
        }],
        ..Touches::default()
    }
}

fn claims_to_read() -> Touches {
    Touches {
        claims_to_read: true,
        ..Touches::default()
    }
}

fn rules(text: &str) -> Vec<Rule> {
    #[derive(serde::Deserialize)]
    struct Rules {
        rules: Vec<Rule>,
    }
    toml::from_str::<Rules>(&format!("rules = [{text}]"))
        .unwrap()
        .rules
}

/// A decision in one letter: may run, is asked, is denied.
fn letter(decision: &Decision) -> char {
    match decision {
        Decision::Allow => 'r',
        Decision::Ask(_) => 'a',
        Decision::Deny(_) => 'd',
    }
}

/// What an "always" to such a call would be remembered as.
fn always(tool: &str, effect: ToolEffect, touches: &Touches, cwd: &Path) -> AlwaysAnswers {
    let mut touches = touches.clone();
    touches.paths = touches
        .paths
        .iter()
        .filter_map(|path| resolve(path))
        .collect();
    Policy::default().always(tool, effect, &touches, cwd)
}
