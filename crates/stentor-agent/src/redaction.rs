//! Keeping keys and passwords out of what people and files get to see.

use std::borrow::Cow;

/// What stands where a key was.
pub const MASK: &str = "[key]";

/// The shortest text that is taken for a secret wherever it appears: a shorter one, such as the
/// placeholder `x` of a local server, would tear words apart and protects nothing.
const SHORTEST_SECRET_BYTES: usize = 8;

/// How keys of the known providers begin. A provider that echoes a key it was sent may have
/// shortened it, so that comparing with the key itself is not enough.
const KEY_BEGINNINGS: [&str; 9] = [
    "sk-", "sk_", "AIza", "gsk_", "xai-", "ghu_", "gho_", "ghp_", "tgp_",
];

/// `text` without any of `secrets` and without anything that looks like a key.
pub fn redact<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if secret.len() >= SHORTEST_SECRET_BYTES && text.contains(secret) {
            text = text.replace(secret, MASK);
        }
    }
    for beginning in KEY_BEGINNINGS {
        text = mask_words_beginning_with(&text, beginning);
    }
    text
}

/// An address without the parts that carry keys: user, password, query and fragment.
pub fn public_address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let kept = url.get(..end).unwrap_or(url);
    match kept.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host_end);
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => kept.to_owned(),
    }
}

/// The parts of an address that carry keys: its user, its password and the values in its query.
pub fn secrets_in_address(url: &str) -> Vec<String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let host = address.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    let values = query
        .split(['&', '#'])
        .filter_map(|pair| pair.split_once('='))
        .map(|(_, value)| value);
    let parts = [user]
        .into_iter()
        .chain(user.split(':'))
        .chain(values)
        .filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Whether what has this name, a variable, a header or an option, is a key or a password.
pub fn names_a_secret(name: &str) -> bool {
    const ENDINGS: [&str; 6] = ["key", "token", "secret", "password", "passwd", "passphrase"];
    const WORDS: [&str; 7] = [
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "credential",
        "credentials",
        "pwd",
    ];
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| WORDS.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending)))
}

/// The words of a command as they can be shown.
pub fn command_without_secrets<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    let mut before = "";
    let mut shown = Vec::new();
    for word in words {
        shown.push(word_without_secret(before, word));
        before = word;
    }
    shown
}

/// The parts of a command that [`command_without_secrets`] hides.
pub fn secrets_in_command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut before = "";
    let mut secrets = Vec::new();
    for word in words {
        secrets.extend(secret_in_word(before, word));
        before = word;
    }
    secrets
}

fn word_without_secret<'a>(before: &str, word: &'a str) -> Cow<'a, str> {
    if let Some(secret) = secret_in_word(before, word) {
        return Cow::Owned(word.replace(secret, MASK));
    }
    if word.contains("://") {
        let (name, address) = match word.split_once('=') {
            Some((name, address)) if !name.contains("://") => (name, address),
            _ => ("", word),
        };
        let equals = if name.is_empty() { "" } else { "=" };
        return Cow::Owned(format!("{name}{equals}{}", public_address(address)));
    }
    Cow::Owned(redact(word, []))
}

/// What of a word is secret, given the one before it.
fn secret_in_word<'a>(before: &str, word: &'a str) -> Option<&'a str> {
    let is_value = !word.starts_with('-');
    // `--token=abc` has its value already.
    let option = match before.starts_with('-') && !before.contains('=') {
        true => before,
        false => "",
    };
    let (name, value) = match word.split_once(['=', ':']) {
        Some((name, value)) if !value.starts_with("//") => (name, value.trim_start()),
        _ => ("", word),
    };
    // Headers and variables are given as a name and a value in one word.
    let is_pair = matches!(option, "-H" | "--header" | "-e" | "--env") && !name.is_empty();
    let secret = if is_pair || names_a_secret(name) {
        value
    } else if is_value && (names_a_secret(option) || looks_random(word)) {
        word
    } else {
        return None;
    };
    // A reference to a variable tells its name and not its value.
    let is_reference = secret.starts_with("${") && !secret.contains(":-");
    (!secret.is_empty() && !is_reference).then_some(secret)
}

/// Long, of letters and digits mixed: nobody chose this word, so it is a key or the like.
fn looks_random(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.len() >= 20 && digits >= 4 && digits < word.len() && word.bytes().all(is_plain)
}

/// Masks every word of `text` that begins so and goes on for at least four more characters.
fn mask_words_beginning_with(text: &str, beginning: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(beginning) {
        let (before, word) = rest.split_at(at);
        let starts_a_word = before
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric());
        let end = word
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.')))
            .unwrap_or(word.len());
        let (key, after) = word.split_at(end.max(beginning.len()));
        out.push_str(before);
        if starts_a_word && key.len() >= beginning.len() + 4 {
            out.push_str(MASK);
        } else {
            out.push_str(key);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_vanish_from_texts_whole_or_shortened() {
        for (text, clean) in [
            ("bad key my-own-token!", "bad key [key]!"),
            (
                "Incorrect API key provided: sk-proj-***abcd.",
                "Incorrect API key provided: [key]",
            ),
            ("task-oriented ask-me", "task-oriented ask-me"),
            ("sk-", "sk-"),
            ("AIzaSyA1234567 is wrong", "[key] is wrong"),
        ] {
            assert_eq!(redact(text, ["my-own-token"]), clean);
        }
    }

    #[test]
    fn an_address_is_shown_without_user_password_and_query() {
        for (url, shown, secrets) in [
            ("https://h/v1", "https://h/v1", &[][..]),
            (
                "https://me:hush-hush@h:80/a@b?key=abc&x=#y",
                "https://h:80/a@b",
                &["me:hush-hush", "me", "hush-hush", "abc"],
            ),
            ("http://token@h", "http://h", &["token", "token"]),
            ("", "", &[]),
        ] {
            assert_eq!(public_address(url), shown, "{url}");
            assert_eq!(secrets_in_address(url), secrets, "{url}");
        }
    }

    #[test]
    fn a_command_is_shown_without_its_secrets() {
        for (words, shown) in [
            (&["npx", "-y", "server", "/srv"][..], "npx -y server /srv"),
            (&["x", "--api-key", "abc"], "x --api-key [key]"),
            (&["x", "--apiKey=abc", "-v"], "x --apiKey=[key] -v"),
            (&["x", "--token", "--verbose"], "x --token --verbose"),
            (&["env", "GH_TOKEN=abc", "x"], "env GH_TOKEN=[key] x"),
            (&["docker", "-e", "MODE=abc"], "docker -e MODE=[key]"),
            (
                &["x", "--header", "X-Team: blue"],
                "x --header X-Team: [key]",
            ),
            (
                &["x", "Authorization: Bearer abc"],
                "x Authorization: [key]",
            ),
            (&["x", "--token", "${TOKEN}"], "x --token ${TOKEN}"),
            (&["x", "--token=${TOKEN:-abc}"], "x --token=[key]"),
            (&["x", "--token=abc", "folder"], "x --token=[key] folder"),
            (&["x", "sk-abcdef123"], "x [key]"),
            (&["x", "9f8a7b6c5d4e3f2a1b0c9d8e"], "x [key]"),
            (
                &["x", "postgres://me:pw@h/db?sslmode=require"],
                "x postgres://h/db",
            ),
            (&["x", "--db=https://me:pw@h/db"], "x --db=https://h/db"),
            (&["x", "--max-tokens", "5"], "x --max-tokens 5"),
            (&["x", "https://h:80/a"], "x https://h:80/a"),
        ] {
            let words = words.iter().copied();
            assert_eq!(command_without_secrets(words).join(" "), shown);
        }
        let words = ["x", "--token", "abc", "KEY=def", "-H", "A: b"];
        assert_eq!(secrets_in_command(words), ["abc", "def", "b"]);
    }
}
