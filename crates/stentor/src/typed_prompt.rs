//! What a person typed, made into what the agent is asked: slash commands of files and servers are
//! expanded, and the files that it mentions are attached. Commands of extensions stay as they are: a run
//! offers them to the extensions first.

use std::path::{Path, PathBuf};

use stentor_agent::commands::ExpandError;
use stentor_agent::session::{ContextNeed, Session, SessionError};
use stentor_agent::tasks;
use stentor_journal::conversation::estimate_blocks;
use stentor_journal::message::ContentBlock;
use stentor_model::hosted::is_hosted;
use stentor_model::wire::Wire;

use crate::attached_files::{AttachError, attached};
use crate::slash;

/// Why a typed text comes to nothing.
#[derive(Debug, thiserror::Error)]
pub enum TypedPromptError {
    #[error("{0}")]
    UnknownCommand(String),
    #[error(transparent)]
    Command(#[from] ExpandError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{}", said(.0))]
    File(#[from] AttachError),
    #[error("{0} is not a picture that models take (PNG, JPEG, GIF, WebP)")]
    NoPicture(PathBuf),
    #[error("cannot read the files: {0}")]
    Stopped(String),
    #[error(
        "the prompt is about {tokens} tokens long, and the context window of {model} holds {window}\
         {}: shorten it, or choose a model with a larger window{}",
        occupied(.taken), if *.is_own { OWN_SERVER } else { "" }
    )]
    TooLong {
        tokens: u64,
        model: String,
        window: u64,
        /// What the rest of the request takes.
        taken: ContextNeed,
        /// It is on a server that the user could give a larger one.
        is_own: bool,
    },
}

/// What else one can do where the window is that of one's own server.
const OWN_SERVER: &str = ". If its server has more room than that, say so with context_window in the \
                          configuration";

/// What takes up the window besides the prompt.
fn occupied(taken: &ContextNeed) -> String {
    let parts = [
        ("the instructions and tools take", taken.instructions),
        ("the conversation so far takes", taken.conversation),
    ];
    let parts = parts.into_iter().filter(|(_, tokens)| *tokens > 0);
    let parts: Vec<String> = parts
        .map(|(what, tokens)| format!("{what} about {tokens}"))
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(", of which {}", parts.join(" and ")),
    }
}

/// The text of an error of a file, without the mark that pi's clients look for.
fn said(error: &AttachError) -> String {
    let text = error.to_string();
    text.strip_prefix("Error: ")
        .map_or(text.clone(), str::to_owned)
}

/// What a person asks.
pub struct TypedPrompt<'a> {
    pub text: &'a str,
    /// `@path` in the text attaches a file.
    pub names_files: bool,
    /// What was piped in.
    pub piped: Option<&'a str>,
    /// Pictures that were named beside the text.
    pub pictures: &'a [PathBuf],
}

impl TypedPrompt<'_> {
    /// What the agent is asked: the text first, then what goes with it, each a block of its own.
    /// Names of files that are not there are words of the text, and listed.
    pub async fn to_blocks(
        &self,
        session: &Session,
        cwd: &Path,
    ) -> Result<(Vec<ContentBlock>, Vec<String>), TypedPromptError> {
        let text = self.text;
        if let Some((name, _)) = slash::split(text) {
            let commands = session.slash();
            let listed = commands.list().await;
            // A server that is still starting may know it: expanding waits for that.
            if commands.called_in_time(text).await.is_none()
                && commands.expand(text).await?.is_none()
            {
                let names = listed.iter().map(|one| one.name.as_str());
                return Err(TypedPromptError::UnknownCommand(slash::unknown(
                    name, names,
                )));
            }
        }
        let expanded = session.expand(vec![ContentBlock::text(text)]).await;
        let mut blocks = expanded?;
        // The blank line is for whoever joins the blocks.
        blocks.extend(self.piped.map(|it| ContentBlock::text(format!("\n{it}"))));
        let mentioning = if self.names_files { text } else { "" };
        let (folder, mentioning) = (cwd.to_owned(), mentioning.to_owned());
        let pictures = self.pictures.to_vec();
        let files = tasks::spawn_blocking(move || files(&folder, &mentioning, &pictures)).await;
        let files = files.map_err(|error| TypedPromptError::Stopped(error.to_string()))?;
        let (files, missing) = files?;
        blocks.extend(files);
        fits(session, &blocks).await?;
        Ok((blocks, missing))
    }
}

/// Whether the model could take all that would be sent. What does not fit costs nothing this way.
async fn fits(session: &Session, blocks: &[ContentBlock]) -> Result<(), TypedPromptError> {
    let tokens = estimate_blocks(blocks);
    let state = session.state().await?;
    let Some(model) = state.model else {
        return Ok(());
    };
    // What is part of this program reads the prompt alone, and another agent has its own instructions.
    let taken = match Wire::from_api(&model.api) {
        None => ContextNeed::default(),
        Some(_) => session.context_need().await?,
    };
    // A long conversation is summarised before the prompt is sent.
    let taken = match state.auto_compaction {
        true => ContextNeed {
            conversation: 0,
            ..taken
        },
        false => taken,
    };
    let all = tokens + taken.instructions + taken.conversation;
    match all > model.context_window {
        false => Ok(()),
        true => Err(TypedPromptError::TooLong {
            tokens,
            model: model.full_name(),
            window: model.context_window,
            taken,
            is_own: !is_hosted(&model.base_url) && Wire::from_api(&model.api).is_some(),
        }),
    }
}

/// What a person is told of a file that is mentioned and not there.
pub fn not_attached(name: &str) -> String {
    format!("there is no file {name}, so nothing is attached for it")
}

/// The files that a text mentions and the pictures, as blocks, and the names of files that are not
/// there. Waits for the disk.
fn files(
    cwd: &Path,
    text: &str,
    pictures: &[PathBuf],
) -> Result<(Vec<ContentBlock>, Vec<String>), TypedPromptError> {
    let MentionedFiles { mut files, missing } = mentioned(cwd, text);
    for picture in pictures {
        let path = cwd.join(picture);
        let attached = attached(cwd, &[picture.display().to_string()], "")?;
        if attached.len() < 2 {
            return Err(TypedPromptError::NoPicture(path));
        }
        files.push(picture.display().to_string());
    }
    if files.is_empty() {
        return Ok((Vec::new(), missing));
    }
    let blocks = attached(cwd, &files, "")?.into_iter();
    // Empty files leave an empty text.
    let is_something = |block: &ContentBlock| block.as_text().is_none_or(|text| !text.is_empty());
    Ok((blocks.filter(is_something).collect(), missing))
}

/// What a text names as `@path`, or as `@"a path with spaces"`, each once.
#[derive(Debug, Default, PartialEq)]
struct MentionedFiles {
    files: Vec<String>,
    /// What can hardly be anything but a file, and is none.
    missing: Vec<String>,
}

fn mentioned(cwd: &Path, text: &str) -> MentionedFiles {
    let mut found = MentionedFiles::default();
    let add = |names: &mut Vec<String>, name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let is_file = |name: &str| !name.is_empty() && cwd.join(name).is_file();
    for mention in mentions(text) {
        let without_end = match mention.is_quoted {
            true => mention.name,
            false => mention
                .name
                .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']),
        };
        let mut names = [mention.name, without_end].into_iter();
        // A folder is no mistake, and neither is a name of something else: `@alice`, `@scope/package`.
        let has_ending = Path::new(without_end).extension().is_some();
        match names.find(|name| is_file(name)) {
            Some(file) => add(&mut found.files, file),
            None if cwd.join(without_end).exists() => {}
            None if mention.is_quoted || has_ending => add(&mut found.missing, without_end),
            None => {}
        }
    }
    found
}

/// A word that begins with `@`.
struct Mention<'a> {
    name: &'a str,
    is_quoted: bool,
}

fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, from) = rest.split_at(at);
        let is_word = before.is_empty() && all.is_empty() && rest.len() == text.len()
            || before.ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '\''));
        let name = from.get(1..).unwrap_or_default();
        let quoted = name
            .strip_prefix('"')
            .and_then(|inner| inner.split_once('"'));
        let (name, is_quoted, after) = match quoted {
            Some((name, after)) => (name, true, after),
            None => {
                let end = name.find(char::is_whitespace).unwrap_or(name.len());
                let (name, after) = name.split_at(end);
                (name, false, after)
            }
        };
        if is_word {
            all.push(Mention { name, is_quoted });
            rest = after;
        } else {
            rest = from.get(1..).unwrap_or_default();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_mentioned_by_words_that_name_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "x").unwrap();
        std::fs::write(folder.path().join("my file.txt"), "x").unwrap();
        std::fs::create_dir(folder.path().join("src.d")).unwrap();
        for (text, files, missing) in [
            ("look at @a.txt, please", &["a.txt"][..], &[][..]),
            ("@a.txt", &["a.txt"], &[]),
            ("(@a.txt) and @a.txt again", &["a.txt"], &[]),
            ("\"@a.txt\"", &["a.txt"], &[]),
            ("mail me@a.txt or @nobody", &[], &[]),
            ("@x@a.txt", &[], &["x@a.txt"]),
            (
                "see @\"my file.txt\", and @\"a.txt\"",
                &["my file.txt", "a.txt"],
                &[],
            ),
            ("see @my file.txt or @b.txt?", &[], &["b.txt"]),
            ("@\"no such file\"", &[], &["no such file"]),
            ("@\"open", &[], &[]),
            ("@types/node, @src.d, @", &[], &[]),
        ] {
            let found = mentioned(folder.path(), text);
            let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let expected: (Vec<String>, Vec<String>) = (texts(files), texts(missing));
            assert_eq!((found.files, found.missing), expected, "{text}");
        }
    }
}
