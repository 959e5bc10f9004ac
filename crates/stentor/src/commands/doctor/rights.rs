//! Who else can look into what is the user's alone.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::DoctorReport;
use crate::config::Config;
use crate::models::Models;
use crate::session_places;
use crate::shell_argument::shell_argument;

const SECTION: &str = "Rights";

const OTHERS_WRITE: u32 = 0o022;
const OTHERS: u32 = 0o077;
const MODE: u32 = 0o7777;

impl DoctorReport {
    /// The modes of the folders and of the files with credentials, as far as they exist.
    pub(super) fn rights(&mut self, config: &Config, models: &Models) {
        let settings = &config.settings;
        let data = settings.data_dir.as_ref().map(|data| data.value.clone());
        let sessions = session_places::own(settings, false).root();
        let credentials = models.registry().credentials_file().to_owned();
        let mut folders: Vec<PathBuf> = config.places.config_dir.clone().into_iter().collect();
        folders.extend(data);
        folders.push(sessions);
        for folder in folders {
            self.right(&folder, "others can read what is in it", "700", false);
        }
        let of_servers = credentials.with_file_name("mcp-credentials.json");
        for file in [credentials, of_servers] {
            self.right(&file, "others can read the keys in it", "600", true);
        }
    }

    /// One of them: that others read it is broken for keys, and worth knowing for the rest.
    fn right(&mut self, path: &Path, open: &str, wanted: &str, is_secret: bool) {
        let Ok(about) = fs::metadata(path) else {
            return;
        };
        let (shown, mode) = (path.display(), about.mode() & MODE);
        if !is_ours(&about) {
            let advice = format!(
                "make it yours: `sudo chown \"$USER\" {}`",
                shell_argument(path)
            );
            return self.bad(SECTION, format!("{shown} belongs to another user"), &advice);
        }
        let advice = format!("run `chmod {wanted} {}`", shell_argument(path));
        if mode & OTHERS == 0 {
            self.good(SECTION, format!("{shown}: mode {mode:04o}, only yours"));
        } else if mode & OTHERS_WRITE != 0 {
            let what = format!("{shown}: mode {mode:04o}, others can change it");
            self.bad(SECTION, what, &advice);
        } else if is_secret {
            self.bad(
                SECTION,
                format!("{shown}: mode {mode:04o}, {open}"),
                &advice,
            );
        } else {
            self.note(
                SECTION,
                format!("{shown}: mode {mode:04o}, {open}"),
                &advice,
            );
        }
    }
}

/// What the administrator has made is as good as one's own.
fn is_ours(about: &Metadata) -> bool {
    const ROOT: u32 = 0;
    let user = rustix::process::geteuid().as_raw();
    about.uid() == user || about.uid() == ROOT
}
