//! The file with the tokens of HTTP clients: one to drive, one to observe.
//!
//! ```text
//! drive TOKEN
//! observe TOKEN
//! ```

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::OFlags;
use stentor_serve::http::{NoToken, ServerTokens, Token};
use tempfile::NamedTempFile;

/// Only the user may read it.
const OWN: u32 = 0o600;

/// What nobody else may do with it.
const OTHERS: u32 = 0o077;

/// A file of tokens is not longer.
const MOST_BYTES: u64 = 4096;

/// The tokens of a file.
pub struct TokenFile {
    pub tokens: ServerTokens,
    /// It was made just now.
    pub is_new: bool,
}

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error("{} can be read by others; `chmod 600` it, or remove it and get a new one", .0.display())]
    Readable(PathBuf),
    #[error("{} belongs to somebody else", .0.display())]
    NotOurs(PathBuf),
    #[error("{}: it must have a line `drive TOKEN` and a line `observe TOKEN`; remove it and get a new one", .0.display())]
    Missing(PathBuf),
    #[error("{}: {why}", path.display())]
    Unusable { path: PathBuf, why: NoToken },
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
}

/// Where the tokens are unless somebody says otherwise.
pub fn beside(socket: &Path) -> PathBuf {
    socket.with_file_name("serve.token")
}

impl TokenFile {
    /// The tokens of a file, which is made if it is not there.
    pub fn read_or_make(path: &Path) -> Result<Self, TokenFileError> {
        let failed = |why| TokenFileError::Io {
            path: path.to_owned(),
            why,
        };
        let (drive, observe) = (random_token(), random_token());
        let text = format!("drive {drive}\nobserve {observe}\n");
        let is_new = match path.symlink_metadata() {
            Ok(_) => false,
            // Nobody sees a half of it, and what another server made meanwhile stays.
            Err(_) => match written(path, &text)
                .map_err(failed)?
                .persist_noclobber(path)
            {
                Ok(_) => true,
                Err(why) if why.error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(why) => return Err(failed(why.error)),
            },
        };
        let tokens = read(path)?;
        Ok(Self { tokens, is_new })
    }
}

/// A file that is complete and has yet to get its name. Only the user can read it.
fn written(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let own = Permissions::from_mode(OWN);
    let mut file = tempfile::Builder::new()
        .prefix(".serve-")
        .permissions(own)
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The tokens of a file.
pub fn read(path: &Path) -> Result<ServerTokens, TokenFileError> {
    let failed = |why| TokenFileError::Io {
        path: path.to_owned(),
        why,
    };
    // One that is no file must not be waited for.
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options()
        .read(true)
        .custom_flags(without_waiting)
        .open(path);
    let file = file.map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(TokenFileError::Missing(path.to_owned()));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(TokenFileError::NotOurs(path.to_owned()));
    }
    if about.mode() & OTHERS != 0 {
        return Err(TokenFileError::Readable(path.to_owned()));
    }
    let mut text = String::new();
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let token = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let (_, token) = lines
            .find(|(of, _)| *of == name)
            .ok_or_else(|| TokenFileError::Missing(path.to_owned()))?;
        Token::parse(token.trim()).map_err(|why| TokenFileError::Unusable {
            path: path.to_owned(),
            why,
        })
    };
    Ok(ServerTokens {
        drive: token("drive")?,
        observe: token("observe")?,
    })
}

/// 244 random bits.
fn random_token() -> String {
    let random = || uuid::Uuid::new_v4().into_bytes();
    URL_SAFE_NO_PAD.encode([random(), random()].concat())
}
