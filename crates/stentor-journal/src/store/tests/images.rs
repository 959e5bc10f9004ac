use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::store::blobs::INLINE_BYTES;
use crate::store::{copy_with_pictures, create, fork, open};

fn picture(fill: u8, bytes: usize) -> String {
    STANDARD.encode(vec![fill; bytes])
}

fn with_picture(id: &str, parent: Option<&str>, data: &str) -> Entry {
    let blocks = vec![
        ContentBlock::text("look"),
        ContentBlock::image(data, "image/png"),
    ];
    let message = Arc::new(Message::user(blocks, 1));
    entry(id, parent, EntryKind::Message { message })
}

fn blob_names(dir: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(dir.join("blobs")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = found
        .map(|blob| blob.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_large_picture_is_kept_once_and_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let data = picture(7, 100_000);
    let entries = [
        with_picture("a", None, &data),
        with_picture("b", Some("a"), &data),
    ];
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    for entry in &entries {
        journal.append(entry).unwrap();
    }
    journal.sync().await.unwrap();
    let path = journal.path().unwrap().to_path_buf();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() < 2_000);
    let names = blob_names(dir.path());
    assert_eq!(names.len(), 1);
    let reference = format!("\"data\":\"blob:sha256:{}\"", names[0]);
    assert_eq!(text.matches(&reference).count(), 2);
    let blob = dir.path().join("blobs").join(&names[0]);
    assert_eq!(fs::read(&blob).unwrap(), vec![7; 100_000]);
    let mode = fs::metadata(&blob).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(journal.read_all().unwrap(), entries);
    assert_eq!(journal.path_to("b").unwrap(), entries);
    drop(journal);
    let opened = open(&path).unwrap();
    assert_eq!(opened.context, entries);
    assert_eq!(opened.warnings, Vec::<String>::new());
}

#[test]
fn what_is_small_or_not_plain_base64_stays_in_the_entry() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    let small = picture(1, INLINE_BYTES / 4 * 3);
    assert_eq!(small.len(), INLINE_BYTES);
    let odd = "not base64 ".repeat(INLINE_BYTES);
    let entries = [
        with_picture("a", None, &small),
        with_picture("b", Some("a"), &odd),
    ];
    for entry in &entries {
        journal.append(entry).unwrap();
    }
    assert_eq!(blob_names(dir.path()), Vec::<String>::new());
    assert_eq!(journal.read_all().unwrap(), entries);
}

#[test]
fn a_missing_or_damaged_picture_leaves_a_note_and_a_warning() {
    for damage in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
        let large = with_picture("a", None, &picture(9, 80_000));
        journal.append(&large).unwrap();
        let path = journal.path().unwrap().to_path_buf();
        drop(journal);
        let name = blob_names(dir.path()).remove(0);
        let blob = dir.path().join("blobs").join(&name);
        if damage {
            fs::write(&blob, "short").unwrap();
        } else {
            fs::remove_file(&blob).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let opened = open(&path).unwrap();
        let EntryKind::Message { message } = &opened.context[0].kind else {
            panic!("a message")
        };
        let text = message.as_user().unwrap().content.text();
        assert_eq!(
            text,
            format!("look\n[image missing: image/png blob:sha256:{name}]")
        );
        assert_eq!(opened.warnings.len(), 1);
        assert!(opened.warnings[0].contains(&name));
        drop(opened);
        assert_eq!(fs::read(&path).unwrap(), before, "the reference stays");
        // Said again, the picture is whole again.
        let mut opened = open(&path).unwrap();
        opened.journal.append(&large).unwrap();
        assert_eq!(opened.journal.read_all().unwrap()[0], large);
    }
}

#[test]
fn a_reference_with_a_path_in_it_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret"), "key").unwrap();
    let data = "blob:sha256:../secret";
    let path = session_file(dir.path(), &[line(&with_picture("a", None, data))]);
    let opened = open(&path).unwrap();
    assert_eq!(opened.context, [with_picture("a", None, data)]);
}

#[test]
fn a_fork_in_another_folder_has_its_pictures_inside() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    let entry = with_picture("a", None, &picture(3, 90_000));
    let mut journal = create(&one, header("s1"), &clock()).unwrap();
    journal.append(&entry).unwrap();
    let source = journal.path().unwrap();
    let near = fork(source, None, &one, header("s2"), &clock()).unwrap();
    assert_eq!(near.context, std::slice::from_ref(&entry));
    assert_eq!(blob_names(&one).len(), 1);
    let far = fork(source, None, &two, header("s3"), &clock()).unwrap();
    fs::remove_dir_all(&one).unwrap();
    assert_eq!(blob_names(&two), Vec::<String>::new());
    assert_eq!(far.journal.read_all().unwrap(), [entry]);
}

#[test]
fn a_copy_has_its_pictures_inside_and_is_the_same_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    let entries = [
        with_picture("a", None, &picture(3, 90_000)),
        with_picture("b", Some("a"), &picture(4, 10)),
    ];
    for entry in &entries {
        journal.append(entry).unwrap();
    }
    let mut copy = Vec::new();
    copy_with_pictures(journal.path().unwrap(), &mut copy).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("copy.jsonl");
    fs::write(&path, &copy).unwrap();
    assert_eq!(open(&path).unwrap().context, entries);
    let original = fs::read_to_string(journal.path().unwrap()).unwrap();
    let copy = String::from_utf8(copy).unwrap();
    let unchanged = |text: &str| {
        text.lines()
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(unchanged(&copy), unchanged(&original));
}

#[test]
fn pictures_are_also_found_where_omp_keeps_them() {
    let agent = tempfile::tempdir().unwrap();
    let dir = agent.path().join("sessions/-w");
    let entry = with_picture("a", None, &picture(4, 90_000));
    let mut journal = create(&dir, header("s1"), &clock()).unwrap();
    journal.append(&entry).unwrap();
    fs::rename(dir.join("blobs"), agent.path().join("blobs")).unwrap();
    assert_eq!(journal.read_all().unwrap(), [entry]);
}
