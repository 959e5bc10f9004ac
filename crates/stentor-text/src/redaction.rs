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

/// An address without the parts that carry keys: user, password, query, fragment, and what of the
/// path nobody chose.
pub fn public_address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let kept = url.get(..end).unwrap_or(url);
    match kept.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host_end);
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let path = path.split('/').zip(secret_parts(host, path));
            let path = path.map(|(part, is_secret)| if is_secret { MASK } else { part });
            let path: Vec<&str> = path.collect();
            format!("{scheme}://{host}{}", path.join("/"))
        }
        None => kept.to_owned(),
    }
}

/// For each part of a path between slashes, whether it is a key: it looks like one, or it is in the
/// address of a webhook, where whoever knows the path may use it.
fn secret_parts(host: &str, path: &str) -> impl Iterator<Item = bool> {
    let mut in_webhook = host.starts_with("hooks.") || host.starts_with("hook.");
    path.split('/').map(move |part| {
        let is_usual = matches!(part, "" | "services" | "hooks" | "catch" | "workflows");
        let is_secret = !is_usual && (in_webhook || path_part_looks_random(part));
        in_webhook |= matches!(part, "webhook" | "webhooks");
        is_secret
    })
}

fn path_part_looks_random(part: &str) -> bool {
    // Names of models and versions have hyphens and digits, too, but no long pieces with them.
    let mut pieces = part.split(['-', '.', ':', '~', '%']);
    is_uuid(part) || pieces.any(|piece| looks_random(piece) || mixes_cases_and_digits(piece))
}

fn is_uuid(part: &str) -> bool {
    let lengths = part.split('-').map(str::len);
    let is_written_so = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    lengths.eq([8, 4, 4, 4, 12]) && part.bytes().all(is_written_so)
}

/// Capitals, small letters, and digits in several places: no name is written so.
fn mixes_cases_and_digits(piece: &str) -> bool {
    const SHORTEST: usize = 16;
    let is_not_digit = |c: char| !c.is_ascii_digit();
    let numbers = piece.split(is_not_digit).filter(|part| !part.is_empty());
    piece.len() >= SHORTEST
        && piece.bytes().any(|byte| byte.is_ascii_uppercase())
        && piece.bytes().any(|byte| byte.is_ascii_lowercase())
        && numbers.count() >= 2
}

/// The parts of an address that carry keys: its user, its password, the values in its query, and
/// what of its path nobody chose.
pub fn secrets_in_address(url: &str) -> Vec<String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    let in_path = path.split('/').zip(secret_parts(host, path));
    let in_path = in_path.filter_map(|(part, is_secret)| is_secret.then_some(part));
    let values = query
        .split(['&', '#'])
        .filter_map(|pair| pair.split_once('='))
        .map(|(_, value)| value);
    let parts = [user]
        .into_iter()
        .chain(user.split(':'))
        .chain(values)
        .chain(in_path)
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
    // In front of another word they say little: `--session-timeout`, `--pass-through`.
    const LAST_WORDS: [&str; 7] = ["dsn", "jwt", "pass", "pat", "pw", "session", "sid"];
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_secret =
        |word: &&str| WORDS.contains(word) || ENDINGS.iter().any(|ending| word.ends_with(ending));
    let is_switched_off = words.contains(&"no");
    let last = words.last().copied().unwrap_or_default();
    words.iter().any(is_secret)
        || words.ends_with(&["session", "id"])
        || (LAST_WORDS.contains(&last) && !is_switched_off)
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
    } else if is_value && (is_secret_option(option, word) || looks_random(word)) {
        word
    } else {
        return None;
    };
    // A reference to a variable tells its name and not its value.
    let is_reference = secret.starts_with("${") && !secret.contains(":-");
    (!secret.is_empty() && !is_reference).then_some(secret)
}

/// Whether an option has this secret. `-k` is short for a key, but also for trusting an address.
fn is_secret_option(option: &str, value: &str) -> bool {
    names_a_secret(option) || (option == "-k" && !value.contains("://"))
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
            (
                "https://hooks.example/services/T0/B0/XXXX",
                "https://hooks.example/services/[key]/[key]/[key]",
                &["T0", "B0", "XXXX"],
            ),
            (
                "https://h/api/webhooks/123/abc-def",
                "https://h/api/webhooks/[key]/[key]",
                &["123", "abc-def"],
            ),
            (
                "https://h/s/9f8a7b6c5d4e3f2a1b0c9d8e/mcp",
                "https://h/s/[key]/mcp",
                &["9f8a7b6c5d4e3f2a1b0c9d8e"],
            ),
            (
                "https://h/bot12345:AAb7cDeF2gHiJkLmNo-x/#f",
                "https://h/[key]/",
                &["bot12345:AAb7cDeF2gHiJkLmNo-x"],
            ),
            (
                "https://h/6f9619ff-8b86-d011-b42d-00c04fc964ff",
                "https://h/[key]",
                &["6f9619ff-8b86-d011-b42d-00c04fc964ff"],
            ),
            (
                "https://h/services/deployments/claude-3-5-sonnet-20241022-v2/getUserReport2024",
                "https://h/services/deployments/claude-3-5-sonnet-20241022-v2/getUserReport2024",
                &[],
            ),
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
            (
                &["x", "--pat", "a", "--jwt", "b"],
                "x --pat [key] --jwt [key]",
            ),
            (
                &["x", "--pass", "a", "--pw", "b"],
                "x --pass [key] --pw [key]",
            ),
            (&["x", "--dsn=a://b:c@d/e", "f"], "x --dsn=[key] f"),
            (
                &["x", "--session", "a", "-k", "b"],
                "x --session [key] -k [key]",
            ),
            (&["x", "--session-id", "a"], "x --session-id [key]"),
            (&["x", "--session-timeout", "5"], "x --session-timeout 5"),
            (&["x", "--no-session", "folder"], "x --no-session folder"),
            (
                &["x", "--path", "a", "--bypass", "b"],
                "x --path a --bypass b",
            ),
            (&["x", "-k", "https://h/a"], "x -k https://h/a"),
            (&["x", "https://h:80/a"], "x https://h:80/a"),
        ] {
            let words = words.iter().copied();
            assert_eq!(command_without_secrets(words).join(" "), shown);
        }
        let words = ["x", "--token", "abc", "KEY=def", "-H", "A: b"];
        assert_eq!(secrets_in_command(words), ["abc", "def", "b"]);
    }
}
