//! Each rule of section 10.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use stentor_journal::message::Message;

use super::*;

const ALL: [InputKind; 3] = [InputKind::Text, InputKind::Image, InputKind::Document];

fn file(path: impl AsRef<Path>) -> Attachment {
    Attachment {
        path: path.as_ref().to_string_lossy().into_owned(),
        name: None,
        mime: None,
    }
}

/// The content of the user message as `get_messages` gives it, the folder replaced by `DIR`.
fn content(folder: &Path, message: &str, files: &[Attachment], inputs: &[InputKind]) -> Value {
    let blocks = read(message.to_owned(), files, inputs).unwrap();
    let message = Message::user(blocks, 0);
    let rendered = super::super::history::render(&[Arc::new(message)]);
    let text = serde_json::to_string(&rendered[0]["content"]).unwrap();
    serde_json::from_str(&text.replace(&folder.display().to_string(), "DIR")).unwrap()
}

fn png() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01".to_vec();
    bytes.extend(b"\x08\x06\0\0\0crc!\0\0\0\0IEND\xaeB`\x82");
    bytes
}

#[test]
fn a_path_that_breaks_a_rule_and_a_file_that_is_not_there_refuse_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("good"), "x").unwrap();
    std::fs::write(dir.join("empty"), "").unwrap();
    symlink(dir.join("good"), dir.join("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.join("fifo"), Mode::RWXU).unwrap();
    let cannot = "Cannot open attachment (check path, permissions, and symlinks)";
    let up = format!("{}/../x", dir.display());
    for (path, expected) in [
        (
            "a/b".to_owned(),
            "attachment path must be absolute: a/b".to_owned(),
        ),
        (
            String::new(),
            "attachment path must be absolute: ".to_owned(),
        ),
        (
            up.clone(),
            format!("attachment path must not contain ..: {up}"),
        ),
        (dir.join("gone").display().to_string(), cannot.to_owned()),
        (dir.join("link").display().to_string(), cannot.to_owned()),
        (
            dir.display().to_string(),
            "Attachment must be a regular file".to_owned(),
        ),
        (
            dir.join("fifo").display().to_string(),
            "Attachment must be a regular file".to_owned(),
        ),
        (
            dir.join("empty").display().to_string(),
            "Attachment is empty".to_owned(),
        ),
    ] {
        let files = [file(dir.join("good")), file(&path)];
        let refused = read("m".into(), &files, &ALL).map_err(|error| error.to_string());
        assert_eq!(refused, Err(expected), "{path}");
    }
    let nine = vec![file(dir.join("good")); 9];
    let refused = read("m".into(), &nine, &ALL).map_err(|error| error.to_string());
    assert_eq!(refused, Err("At most 8 attachments are allowed".to_owned()));
    assert!(read("m".into(), &nine[..8], &ALL).is_ok());
    let dotted = file(format!("{}/./good", dir.display()));
    assert!(read("m".into(), &[dotted], &ALL).is_ok());
}

#[test]
fn content_decides_what_a_file_is_and_the_text_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("a.txt"), png()).unwrap();
    std::fs::write(dir.join("b.bin"), "tea\tfor two\r\n").unwrap();
    std::fs::write(dir.join("c"), "%PDF-1.4\nx\n%%EOF\n").unwrap();
    let mut named = file(dir.join("b.bin"));
    named.name = Some("../no\ntes.md".into());
    named.mime = Some("image/png".into());
    let files = [file(dir.join("a.txt")), named, file(dir.join("c"))];
    assert_eq!(
        content(dir, "see", &files, &ALL),
        json!([
            {"type": "text", "text": "see"},
            {"type": "image", "source":
                {"type": "base64", "media_type": "image/png", "data": STANDARD.encode(png())}},
            {"type": "document", "title": "..notes.md", "source":
                {"type": "text", "media_type": "text/plain", "data": "tea\tfor two\r\n"}},
            {"type": "document", "title": "c", "source":
                {"type": "base64", "media_type": "application/pdf",
                 "data": STANDARD.encode("%PDF-1.4\nx\n%%EOF\n")}},
        ])
    );
    assert_eq!(
        content(dir, "", &files[..1], &ALL)[0]["type"],
        "image",
        "an empty text is left out"
    );
}

#[test]
fn what_cannot_be_embedded_stays_with_the_prompt_as_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.join(name), bytes).unwrap();
    write("bin", b"\0\x01\x02");
    write("half.png", &png()[..30]);
    write("long.txt", &vec![b'x'; limits::MAX_TEXT_BYTES + 1]);
    write("quote\"d\\", b"\xff");
    let huge = std::fs::File::create(dir.join("huge")).unwrap();
    huge.set_len(limits::MAX_FILE_BYTES + 1).unwrap();
    for (name, shown) in [
        ("bin", "bin"),
        ("half.png", "half.png"),
        ("long.txt", "long.txt"),
        ("quote\"d\\", "quote\\\"d\\\\"),
        ("huge", "huge"),
    ] {
        assert_eq!(
            content(dir, "look", &[file(dir.join(name))], &ALL),
            json!(format!("[user attached files: \"DIR/{shown}\"]\nlook")),
        );
    }
    write("p.png", &png());
    write("d.pdf", b"%PDF-1.4 %%EOF");
    let files = [file(dir.join("p.png")), file(dir.join("d.pdf"))];
    assert_eq!(
        content(dir, "", &files, &[InputKind::Text]),
        json!("[user attached files: \"DIR/p.png\", \"DIR/d.pdf\"]\n"),
        "a model that takes neither"
    );
}

#[test]
fn of_files_that_are_too_large_together_the_later_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut pdf = b"%PDF-".to_vec();
    pdf.resize(8 * 1024 * 1024, b' ');
    pdf.extend(b"%%EOF");
    for name in ["a", "b"] {
        std::fs::write(dir.join(name), &pdf).unwrap();
    }
    let blocks = read(
        "m".into(),
        &[file(dir.join("a")), file(dir.join("b"))],
        &ALL,
    )
    .unwrap();
    let text = format!("[user attached files: \"{}\"]\nm", dir.join("b").display());
    assert_eq!(blocks.len(), 2);
    assert_eq!(blocks[0].as_text(), Some(text.as_str()));
}
