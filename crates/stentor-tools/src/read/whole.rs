//! All of the lines that are asked for, as they are: what an agent gets that reads through us.

use std::io::{BufRead, BufReader, Cursor, Read};

use serde_json::{Map, Value};
use stentor_agent::tool::ToolContext;

use super::window::Range;
use super::{Arguments, TargetContent, TextSource};
use crate::paths::FileTarget;
use crate::tool_call;
use crate::tool_error::ToolError;
use crate::truncation::size;

/// The longest text that is given at once.
const MOST_BYTES: u64 = 16 << 20;

pub(super) async fn text(
    arguments: Map<String, Value>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let Arguments {
        path,
        offset,
        limit,
    } = tool_call::arguments("read", arguments)?;
    let range = Range::of(offset, limit)?;
    let target = FileTarget::judged(&path, context);
    let source = match super::find(&target, context).await? {
        TargetContent::Text(source) => source,
        TargetContent::Other(..) => {
            return Err(ToolError::refused(format!("{path} is not a text file.")));
        }
    };
    tool_call::blocking(&context.cancel, move || {
        let lines = match source {
            TextSource::Text(text) => lines(Cursor::new(text), range),
            TextSource::File(file) => lines(BufReader::with_capacity(64 * 1024, file), range),
        };
        let bytes = lines.map_err(ToolError::system("read", &target.given))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(ToolError::refused(format!(
                "{path} has more than {}, which is the most that is read at once: read it in parts, \
                 by line and limit.",
                size(MOST_BYTES)
            )));
        }
        String::from_utf8(bytes)
            .map_err(|_| ToolError::refused(format!("{path} is not text in UTF-8.")))
    })
    .await
}

/// The lines of the range, or a little more than the most that is given.
fn lines(mut source: impl BufRead, range: Range) -> std::io::Result<Vec<u8>> {
    for _ in 1..range.first {
        if source.skip_until(b'\n')? == 0 {
            return Ok(Vec::new());
        }
    }
    let mut bytes = Vec::new();
    let mut source = source.take(MOST_BYTES + 1);
    match range.limit {
        None => drop(source.read_to_end(&mut bytes)?),
        Some(limit) => {
            for _ in 0..limit {
                if source.read_until(b'\n', &mut bytes)? == 0 {
                    break;
                }
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use stentor_agent::tool::Tool;

    use super::*;
    use crate::read::Read as ReadTool;
    use crate::testing::Workshop;

    async fn reads(workshop: &Workshop, arguments: Value) -> Result<String, String> {
        let arguments = arguments.as_object().unwrap().clone();
        let tool = Arc::new(ReadTool::default());
        let text = tool.whole_text(arguments, workshop.context()).unwrap();
        text.await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn lines_are_given_as_they_are_from_the_first_that_is_wanted() {
        let workshop = Workshop::new();
        workshop.write("f", "one\r\ntwo\n\nfour");
        for (arguments, expected) in [
            (json!({ "path": "f" }), "one\r\ntwo\n\nfour"),
            (json!({ "path": "f", "offset": 2 }), "two\n\nfour"),
            (json!({ "path": "f", "offset": 2, "limit": 1 }), "two\n"),
            (json!({ "path": "f", "offset": 4, "limit": 9 }), "four"),
            (json!({ "path": "f", "offset": 5 }), ""),
            (json!({ "path": "f", "limit": 1 }), "one\r\n"),
        ] {
            let text = reads(&workshop, arguments.clone()).await;
            assert_eq!(text.as_deref(), Ok(expected), "{arguments}");
        }
    }

    #[tokio::test]
    async fn a_long_file_is_not_shortened_and_one_that_is_too_long_is_read_in_parts() {
        let workshop = Workshop::new();
        let long = "0123456789abcde\n".repeat(10_000);
        workshop.write("long", &long);
        let text = reads(&workshop, json!({ "path": "long" })).await;
        assert!(text.is_ok_and(|text| text == long));
        workshop.write("endless", "0123456789abcde\n".repeat((1 << 20) + 1));
        let text = reads(&workshop, json!({ "path": "endless" })).await;
        assert!(text.is_err_and(|why| why.contains("in parts")));
        let part = json!({ "path": "endless", "offset": 1 << 20, "limit": 1 });
        assert_eq!(reads(&workshop, part).await.unwrap(), "0123456789abcde\n");
    }

    #[tokio::test]
    async fn what_is_no_text_is_refused() {
        let workshop = Workshop::new();
        workshop.write("latin", b"caf\xe9");
        for (path, expected) in [
            ("latin", "latin is not text in UTF-8."),
            (
                "none",
                "ENOENT: no such file or directory, access 'FOLDER/none'",
            ),
        ] {
            let why = reads(&workshop, json!({ "path": path })).await.unwrap_err();
            let folder = workshop.folder.path().display().to_string();
            assert_eq!(why.replace(&folder, "FOLDER"), expected);
        }
    }
}
