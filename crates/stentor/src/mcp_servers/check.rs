//! Whether a server that is to be added makes sense, so that no file is written that fails later.
//!
//! Files that people write are not held to all of this: there a wrong address is the failure of
//! one server when it starts, and no reason to refuse the whole file.

use super::error::ServerError;
use super::table::{self, check_name};

/// Checks a server before it is written.
pub fn check(name: &str, server: &toml::Table) -> Result<(), ServerError> {
    check_name(name)?;
    let server: table::ServerTable = server.clone().try_into()?;
    table::kind_and_look(&server)?;
    if let Some(url) = &server.url {
        check_url(url)?;
    }
    server
        .env
        .keys()
        .try_for_each(|name| check_variable(name))?;
    let mut headers = server.headers.iter();
    headers.try_for_each(|(name, value)| check_header(name, value))
}

/// An address may begin with a variable, whose value is not known yet.
fn check_url(url: &str) -> Result<(), ServerError> {
    let wrong = |why| Err(ServerError::Url(why));
    if url.is_empty() {
        return wrong("is empty");
    }
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return wrong("contains a blank or a control character");
    }
    if url.starts_with("${") {
        return Ok(());
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong("does not begin with http:// or https://");
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return wrong("begins with neither http:// nor https://");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if host.contains("${") {
        return Ok(());
    }
    let (host, port) = match host.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (host, None),
    };
    if host.is_empty() {
        return wrong("names no host");
    }
    match port {
        Some(port) if port.parse::<u16>().is_err() => wrong("has an invalid port"),
        _ => Ok(()),
    }
}

fn check_variable(name: &str) -> Result<(), ServerError> {
    match name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        false => Ok(()),
        true => Err(ServerError::Variable(name.to_owned())),
    }
}

fn check_header(name: &str, value: &str) -> Result<(), ServerError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if !name.chars().all(is_plain) {
        return Err(ServerError::HeaderName(name.to_owned()));
    }
    match value.contains(|c: char| c.is_control() && c != '\t') {
        false => Ok(()),
        true => Err(ServerError::HeaderValue(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(server: &str) -> Result<(), String> {
        check("x", &server.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_can_work_is_right() {
        for server in [
            "command = \"npx\"\nargs = [\"\", \" \"]\nenv = { \"A.B-C\" = \"\" }",
            "url = \"https://example.org\"",
            "url = \"HTTP://user:pw@[::1]:8080/mcp?key=a\"",
            "url = \"http://[::1]\"",
            "url = \"${BASE}/mcp\"",
            "url = \"https://${HOST}:${PORT}/\"\ntransport = \"sse\"",
            "url = \"http://h\"\nheaders = { X-Key = \"${KEY}\\tä\" }",
        ] {
            assert_eq!(checked(server), Ok(()), "{server}");
        }
    }

    #[test]
    fn what_cannot_work_is_told_without_secrets() {
        for (server, why) in [
            ("command = \"\"", "its `command` is empty"),
            ("command = \" \"", "its `command` is empty"),
            (
                "command = \"x\"\nenv = { \"A B\" = \"1\" }",
                "not a valid variable name",
            ),
            ("url = \"\"", "the URL is empty"),
            (
                "url = \"notaurl\"",
                "does not begin with http:// or https://",
            ),
            ("url = \"ftp://x/\"", "neither http:// nor https://"),
            ("url = \"http://secret me@h\"", "contains a blank"),
            ("url = \"http:///secret\"", "names no host"),
            ("url = \"http://:80\"", "names no host"),
            ("url = \"http://h:99999/secret\"", "invalid port"),
            (
                "url = \"http://h\"\nheaders = { \"Foo bar\" = \"secret\" }",
                "not a valid header name",
            ),
            (
                "url = \"http://h\"\nheaders = { A = \"secret\\nB: c\" }",
                "contains a line break",
            ),
        ] {
            let told = checked(server).unwrap_err();
            assert!(
                told.contains(why) && !told.contains("secret"),
                "{server}: {told}"
            );
        }
        assert!(
            check("a b", &toml::Table::new())
                .unwrap_err()
                .to_string()
                .contains("name")
        );
    }
}
