//! Which addresses are those of hosted models: neither of this machine nor of the network it is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Endings of names that are not looked up in the internet.
const LOCAL_ENDINGS: [&str; 6] = [
    "localhost",
    "local",
    "internal",
    "lan",
    "home",
    "localdomain",
];

/// Whether an address can only be that of a server in the internet, spoken to in private.
pub fn is_hosted(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else {
        return false;
    };
    url.scheme() == "https" && url.host_str().is_some_and(is_public)
}

fn is_public(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_public_v4(address),
        Ok(IpAddr::V6(address)) => is_public_v6(address),
        Err(_) => {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            // A name without a dot is one of the network this machine is in.
            let ending = name.rsplit_once('.').map(|(_, ending)| ending);
            ending.is_some_and(|ending| !LOCAL_ENDINGS.contains(&ending))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // Of a provider: 100.64.0.0/10, which private networks use as well.
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || first == 0
        || first >= 240
        || is_shared)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.to_ipv4_mapped() {
        Some(mapped) => is_public_v4(mapped),
        // Only these are given out.
        None => address.segments()[0] & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn every_provider_of_the_catalogue_is_hosted() {
        for provider in catalogue::providers() {
            assert!(is_hosted(&provider.base_url), "{}", provider.id);
        }
    }

    #[test]
    fn this_machine_its_network_and_what_is_not_encrypted_are_not_hosted() {
        for (address, hosted) in [
            ("https://models.acme.example/v1", true),
            ("https://8.8.8.8/v1", true),
            ("https://[2001:4860:4860::8888]/v1", true),
            ("http://models.acme.example/v1", false),
            ("https://localhost:8080", false),
            ("https://LOCALHOST.", false),
            ("https://a.localhost", false),
            ("https://nas", false),
            ("https://nas.local", false),
            ("https://127.0.0.1:1", false),
            ("https://127.1", false),
            ("https://2130706433", false),
            ("https://0.0.0.0", false),
            ("https://10.1.2.3", false),
            ("https://192.168.0.9", false),
            ("https://172.16.0.1", false),
            ("https://169.254.169.254", false),
            ("https://100.64.0.1", false),
            ("https://[::1]", false),
            ("https://[::]", false),
            ("https://[fd00::1]", false),
            ("https://[fe80::1]", false),
            ("https://[::ffff:127.0.0.1]", false),
            ("unix:///run/model.sock", false),
            ("", false),
        ] {
            assert_eq!(is_hosted(address), hosted, "{address}");
        }
    }
}
