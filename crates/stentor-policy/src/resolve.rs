//! Where a path really is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The path after every link and `..`, also where its last parts do not exist (yet): a write
/// through a dangling link ends up at the link's target. Nothing if the links go in circles.
pub fn resolve(path: &Path) -> Option<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut links = 0;
    let mut resolved = PathBuf::from("/");
    let mut ahead: VecDeque<PathStep> = steps(path).collect();
    while let Some(step) = ahead.pop_front() {
        match step {
            PathStep::Root => resolved = PathBuf::from("/"),
            PathStep::Up => {
                resolved.pop();
            }
            PathStep::Down(name) => {
                let next = resolved.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) => {
                        links += 1;
                        if links > MOST_LINKS {
                            return None;
                        }
                        for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                            ahead.push_front(step);
                        }
                    }
                    Err(_) => resolved = next,
                }
            }
        }
    }
    Some(resolved)
}

enum PathStep {
    Root,
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl Iterator<Item = PathStep> + '_ {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(PathStep::Root),
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_dots_are_followed_to_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        std::fs::create_dir_all(at("work/sub")).unwrap();
        std::fs::create_dir_all(at("other")).unwrap();
        std::fs::write(at("other/file"), "").unwrap();
        symlink("../other", at("work/out")).unwrap();
        symlink(at("other/not-there"), at("work/dangling")).unwrap();
        symlink("sub", at("work/in")).unwrap();
        symlink("loop-b", at("work/loop-a")).unwrap();
        symlink("loop-a", at("work/loop-b")).unwrap();
        for (path, expected) in [
            ("work/sub/new", Some("work/sub/new")),
            ("work/sub/../x", Some("work/x")),
            ("work/../other/file", Some("other/file")),
            ("work/out/file", Some("other/file")),
            ("work/out/new/deep", Some("other/new/deep")),
            // The parent of a link's target, not of the link.
            ("work/out/../x", Some("x")),
            ("work/dangling", Some("other/not-there")),
            ("work/in/x", Some("work/sub/x")),
            ("work/none/../../other", Some("other")),
            ("work/loop-a/x", None),
        ] {
            assert_eq!(resolve(&at(path)), expected.map(at), "{path}");
        }
        assert_eq!(resolve(Path::new("/../..")), Some(PathBuf::from("/")));
    }
}
