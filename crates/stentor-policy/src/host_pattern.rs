//! Patterns of hosts on the web, as rules have them.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::pattern::Wildcard;
use crate::touches::{PROVIDER_HOST, WebAddress};

/// True when there can be an address with such a host. Addresses have one way of writing each.
pub(super) fn is_sound(pattern: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    if pattern == PROVIDER_HOST {
        return true;
    }
    let (name, port) = split_port(&pattern);
    let is_port = |port: &str| {
        let number = port.parse::<u16>().ok();
        port == "*" || number.is_some_and(|number| number > 0 && number.to_string() == port)
    };
    port.is_none_or(is_port) && is_name(name)
}

fn is_name(name: &str) -> bool {
    if let Some(address) = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let parsed = address.parse::<Ipv6Addr>().ok();
        return address.contains('*') || parsed.is_some_and(|parsed| parsed.to_string() == address);
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_*".contains(&byte);
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_letter);
    // What ends in a number is an address, which is written with all four of them.
    let last = name.rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x");
    let is_number = match digits {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    let is_address = || name.contains('*') || name.parse::<Ipv4Addr>().is_ok();
    name.split('.').all(is_label) && (!is_number || is_address())
}

/// Every host must be allowed; one that is denied or asked about is enough. A pattern without a port
/// denies and asks about all ports of its hosts, and allows the usual ones.
pub(super) fn matches(pattern: &str, web: &[WebAddress], allows: bool) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    let (name, port) = split_port(&pattern);
    let wildcard = Wildcard::new(name);
    let mut covered = web.iter().map(|address| {
        let (host, own_port) = split_port(&address.host);
        let is_port = match port {
            None => !allows || own_port.is_none() || wildcard.is_anything(),
            Some("*") => true,
            Some(port) => own_port.or_else(|| usual_port(&address.url)) == Some(port),
        };
        is_port && wildcard.matches(host)
    });
    match allows {
        true => !web.is_empty() && covered.all(|covered| covered),
        false => covered.any(|covered| covered),
    }
}

/// A host and its port, which may be `*` in a pattern.
fn split_port(host: &str) -> (&str, Option<&str>) {
    let is_port = |port: &str| port == "*" || port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && is_port(port) => (name, Some(port)),
        Some(_) | None => (host, None),
    }
}

fn usual_port(url: &str) -> Option<&'static str> {
    match url.split_once(':')?.0 {
        "https" => Some("443"),
        "http" => Some("80"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_sound_if_an_address_can_have_such_a_host() {
        for host in [
            "example.org",
            "*.Example.org",
            "a_b.example.org:8080",
            "xn--bcher-kva.example",
            "127.0.0.1:80",
            "10.*",
            "[::1]",
            "[::1]:80",
            "*",
            "*:*",
            "localhost:*",
            PROVIDER_HOST,
        ] {
            assert!(is_sound(host), "{host}");
        }
        for host in [
            "bücher.example",
            "https://example.org",
            "https:example.org",
            "me@example.org",
            "example.org.",
            "example.org.:80",
            "example.org:",
            "example.org:http",
            "example.org:99999",
            "example.org:080",
            "example.org:0",
            "example.org/x",
            "example.org?x",
            ".example.org",
            "exa mple.org",
            " example.org ",
            "%65xample.org",
            "127.1",
            "2130706433",
            "0x7f000001",
            "127.0.0.01",
            "::1",
            "::1:80",
            "[0:0::1]",
            "[::1",
            "",
        ] {
            assert!(!is_sound(host), "{host}");
        }
    }
}
