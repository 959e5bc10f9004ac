//! What can go wrong in a tool, in words a model can act on.

use std::io;
use std::path::{Path, PathBuf};

use stentor_agent::box_error::BoxError;
use stentor_agent::permission::CallRefused;
use stentor_agent::tool::ToolOutput;

/// Why a tool did not do what it was asked. Its text becomes the result of the call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The call was cancelled before it had an outcome.
    #[error("Operation aborted")]
    Aborted,
    /// The arguments make no sense, or the thing asked for cannot be done. The text says why.
    #[error("{0}")]
    Refused(String),
    /// The operating system said no, in the words clients know.
    #[error("{}", system_text(.error, .call, .path))]
    System {
        call: &'static str,
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The session lets the call not run.
    #[error(transparent)]
    NotPermitted(#[from] CallRefused),
    /// The place the tool works in said no.
    #[error(transparent)]
    Place(BoxError),
}

impl ToolError {
    /// For `map_err`: the system call that failed, and on what.
    pub(crate) fn system(call: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::System { call, path, error }
    }

    /// A refusal in the given words.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }

    /// The name of the system's error code, such as `ENOENT`, if there is one.
    pub(crate) fn code(&self) -> Option<&'static str> {
        match self {
            Self::System { error, .. } => code_and_words(error).map(|(code, _)| code),
            Self::Aborted | Self::Refused(_) | Self::NotPermitted(_) | Self::Place(_) => None,
        }
    }
}

impl From<ToolError> for ToolOutput {
    fn from(fault: ToolError) -> Self {
        Self::error(fault.to_string())
    }
}

fn system_text(error: &io::Error, call: &str, path: &Path) -> String {
    let path = path.display();
    match code_and_words(error) {
        Some((code, words)) => format!("{code}: {words}, {call} '{path}'"),
        None => format!("{error}, {call} '{path}'"),
    }
}

/// The names and words of the errors one meets with files.
fn code_and_words(error: &io::Error) -> Option<(&'static str, &'static str)> {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error)?;
    [
        (Errno::NOENT, ("ENOENT", "no such file or directory")),
        (Errno::ACCESS, ("EACCES", "permission denied")),
        (Errno::PERM, ("EPERM", "operation not permitted")),
        (Errno::NOTDIR, ("ENOTDIR", "not a directory")),
        (Errno::ISDIR, ("EISDIR", "illegal operation on a directory")),
        (Errno::EXIST, ("EEXIST", "file already exists")),
        (
            Errno::LOOP,
            ("ELOOP", "too many symbolic links encountered"),
        ),
        (Errno::NAMETOOLONG, ("ENAMETOOLONG", "name too long")),
        (Errno::NOSPC, ("ENOSPC", "no space left on device")),
        (Errno::DQUOT, ("EDQUOT", "disk quota exceeded")),
        (Errno::ROFS, ("EROFS", "read-only file system")),
        (Errno::MFILE, ("EMFILE", "too many open files")),
        (Errno::IO, ("EIO", "i/o error")),
    ]
    .into_iter()
    .find_map(|(known, text)| (known == errno).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_read_as_clients_know_them() {
        let path = Path::new("/a/b");
        for (errno, text) in [
            (
                rustix::io::Errno::NOENT,
                "ENOENT: no such file or directory, access '/a/b'",
            ),
            (
                rustix::io::Errno::ACCESS,
                "EACCES: permission denied, access '/a/b'",
            ),
        ] {
            let fault = ToolError::system("access", path)(errno.into());
            assert_eq!(fault.to_string(), text);
        }
        let fault = ToolError::system("read", path)(io::Error::other("odd"));
        assert_eq!(fault.to_string(), "odd, read '/a/b'");
    }
}
