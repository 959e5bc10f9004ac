//! Which addresses of the network belong to everybody, and which to this machine, its network or
//! whoever hosts it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is that is not everybody's; nothing for one on the internet.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

/// Blocks of the registry of special-purpose addresses, and the one address of a cloud's metadata
/// that looks like any other.
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this machine"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a provider's network"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LINK),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 0, 2, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 88, 99, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    (Ipv4Addr::new(198, 18, 0, 0), 15, RESERVED),
    (Ipv4Addr::new(198, 51, 100, 0), 24, RESERVED),
    (Ipv4Addr::new(203, 0, 113, 0), 24, RESERVED),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a group of machines"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, RESERVED),
];

const LOOPBACK: &str = "this machine";
const PRIVATE: &str = "a private network";
const LINK: &str = "the local network";
const METADATA: &str = "a cloud's metadata";
const RESERVED: &str = "a reserved address";

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let is_in = |(block, bits, _): &&(Ipv4Addr, u32, &str)| {
        let mask = u32::MAX << (32 - bits);
        address.to_bits() & mask == block.to_bits() & mask
    };
    let found = SPECIAL_V4.iter().find(is_in);
    found.map(|(_, _, what)| *what)
}

/// Only `2000::/3` is on the internet, and not all of it. An address that stands for one of IPv4 is
/// what that one is.
fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inner = |bits: u128| Ipv4Addr::from_bits(bits as u32);
    let bits = address.to_bits();
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => not_public_v4(inner(bits)),
        [0x2002, ..] => not_public_v4(inner(bits >> 80)),
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Some(LOOPBACK),
        [0xfe80..=0xfebf, ..] => Some(LINK),
        [0xfc00..=0xfdff, ..] => Some(PRIVATE),
        [0xff00..=0xffff, ..] => Some("a group of machines"),
        // Teredo, addresses of protocols, documentation.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some(RESERVED),
        [0x2000..=0x3fff, ..] => None,
        _ => Some(RESERVED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_the_internet_is_public() {
        for (address, expected) in [
            ("8.8.8.8", None),
            ("1.1.1.1", None),
            ("100.63.255.255", None),
            ("100.128.0.1", None),
            ("172.15.0.1", None),
            ("172.32.0.1", None),
            ("0.0.0.0", Some("this machine")),
            ("0.1.2.3", Some("this machine")),
            ("127.0.0.1", Some("this machine")),
            ("127.255.255.254", Some("this machine")),
            ("10.1.2.3", Some("a private network")),
            ("172.16.0.1", Some("a private network")),
            ("172.31.255.255", Some("a private network")),
            ("192.168.1.1", Some("a private network")),
            ("100.64.0.1", Some("a provider's network")),
            ("100.100.100.200", Some("a provider's network")),
            ("169.254.169.254", Some("the local network")),
            ("168.63.129.16", Some("a cloud's metadata")),
            ("192.0.0.192", Some("a reserved address")),
            ("198.19.0.1", Some("a reserved address")),
            ("203.0.113.9", Some("a reserved address")),
            ("224.0.0.1", Some("a group of machines")),
            ("255.255.255.255", Some("a reserved address")),
            ("2606:4700:4700::1111", None),
            ("2a00:1450:4001:80b::200e", None),
            ("::", Some("this machine")),
            ("::1", Some("this machine")),
            ("::ffff:127.0.0.1", Some("this machine")),
            ("::ffff:10.0.0.1", Some("a private network")),
            ("::ffff:8.8.8.8", None),
            ("::7f00:1", Some("a reserved address")),
            ("64:ff9b::7f00:1", Some("this machine")),
            ("64:ff9b::a9fe:a9fe", Some("the local network")),
            ("64:ff9b::808:808", None),
            ("64:ff9b:1::808:808", Some("a reserved address")),
            ("2002:7f00:1::", Some("this machine")),
            ("2002:808:808::1", None),
            ("2001:0:1::1", Some("a reserved address")),
            ("2001:db8::1", Some("a reserved address")),
            ("fe80::1", Some("the local network")),
            ("fd00:ec2::254", Some("a private network")),
            ("fc00::1", Some("a private network")),
            ("ff02::1", Some("a group of machines")),
            ("fec0::1", Some("a reserved address")),
            ("100::1", Some("a reserved address")),
        ] {
            let parsed: IpAddr = address.parse().unwrap();
            assert_eq!(not_public(parsed), expected, "{address}");
        }
    }
}
