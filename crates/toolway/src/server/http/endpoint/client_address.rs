//! Which address does a request behind a proxy come from?

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ::http::HeaderMap;
use ::http::header::{FORWARDED, HeaderName};

use crate::ground::error::{Error, ErrorKind};

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A range of IP addresses, such as `10.0.0.0/8`, or a single address.
///
/// ```
/// use toolway::server::http::Network;
///
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains([10, 1, 2, 3].into()));
/// assert!(!network.contains([11, 1, 2, 3].into()));
/// assert!("10.0.0.0/33".parse::<Network>().is_err());
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Returns whether an address is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                let shift = 32 - u32::from(self.prefix);
                u32::from(one).checked_shr(shift) == u32::from(other).checked_shr(shift)
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                let shift = 128 - u32::from(self.prefix);
                u128::from(one).checked_shr(shift) == u128::from(other).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl<A: Into<IpAddr>> From<A> for Network {
    fn from(address: A) -> Self {
        let address = address.into().to_canonical();
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let whole: Option<Self> = address.parse::<IpAddr>().ok().map(Self::from);
        let network = match (whole, prefix) {
            (Some(whole), Some(prefix)) => match prefix.parse() {
                Ok(prefix) if prefix <= whole.prefix => Some(Self { prefix, ..whole }),
                _ => None,
            },
            (whole, _) => whole,
        };
        network.ok_or_else(|| {
            let text = format!("{text:?} is not a network: write an address, or a range such as 10.0.0.0/8");
            Error::new(ErrorKind::Misuse, text)
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The proxies whose `Forwarded` and `X-Forwarded-For` headers are believed.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProxies(pub(crate) Vec<Network>);

impl TrustedProxies {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Returns the address of the client that a proxy names: the last one that is not a trusted proxy itself. Returns
    /// `None` if the request does not come from a trusted proxy, or if it names no client, or two different ones.
    pub(crate) fn client_of(&self, remote: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.contains(remote) {
            return None;
        }
        let lines = |name: &HeaderName| -> Option<Vec<&str>> {
            let lines = headers.get_all(name).iter().map(|line| line.to_str().ok());
            lines.collect::<Option<Vec<_>>>()
        };
        let forwarded = lines(&FORWARDED)?;
        let x_forwarded_for = lines(&X_FORWARDED_FOR)?;
        let hops = |lines: Vec<&str>, address: fn(&str) -> Option<IpAddr>| {
            let hops: Vec<_> =
                lines.iter().flat_map(|line| line.split(',')).map(|hop| address(hop.trim())).collect();
            self.last_untrusted(&hops)
        };
        match (hops(forwarded, forwarded_address), hops(x_forwarded_for, parse_address)) {
            (Some(one), Some(other)) if one != other => None,
            (one, other) => one.or(other),
        }
    }

    /// Returns the last address that is not a trusted proxy, or the first proxy if there are only proxies. A hop
    /// without a readable address ends the search: what is before it cannot be believed.
    fn last_untrusted(&self, hops: &[Option<IpAddr>]) -> Option<IpAddr> {
        let mut nearest = None;
        for hop in hops.iter().rev() {
            let address = (*hop)?;
            nearest = Some(address);
            if !self.contains(address) {
                break;
            }
        }
        nearest
    }
}

/// Reads the `for` parameter of an element of `Forwarded` (RFC 7239).
fn forwarded_address(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    parse_address(value.trim().trim_matches('"'))
}

/// Reads an address with or without a port; an IPv6 address may be in brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip())).ok()?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(remote: &str, headers: &[(&'static str, &str)]) -> Option<String> {
        let proxies = TrustedProxies(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        let headers =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let client = proxies.client_of(remote.parse().unwrap(), &headers.collect())?;
        Some(client.to_string())
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_trusted_proxy() {
        let x = "x-forwarded-for";
        for (remote, headers, expected) in [
            ("192.0.2.1", &[(x, "198.51.100.1")][..], None),
            ("10.0.0.1", &[], None),
            ("10.0.0.1", &[(x, "198.51.100.1")], Some("198.51.100.1")),
            ("10.0.0.1", &[(x, "6.6.6.6, 198.51.100.1")], Some("198.51.100.1")),
            ("10.0.0.1", &[(x, "6.6.6.6, 198.51.100.1, 10.9.9.9")], Some("198.51.100.1")),
            ("10.0.0.1", &[(x, "6.6.6.6"), (x, "198.51.100.1:4711")], Some("198.51.100.1")),
            ("10.0.0.1", &[(x, "10.0.0.3, 10.0.0.2")], Some("10.0.0.3")),
            ("10.0.0.1", &[(x, "6.6.6.6, unknown, 10.0.0.2")], None),
            (
                "fd00::1",
                &[("forwarded", "for=6.6.6.6, for=\"[2001:db8::17]:4711\";proto=https")],
                Some("2001:db8::17"),
            ),
            ("10.0.0.1", &[("forwarded", "proto=https;For=198.51.100.1")], Some("198.51.100.1")),
            ("10.0.0.1", &[("forwarded", "for=_hidden")], None),
            ("::ffff:10.0.0.1", &[(x, "::ffff:198.51.100.1")], Some("198.51.100.1")),
            // A client may send the header that its proxy does not set.
            ("10.0.0.1", &[("forwarded", "for=6.6.6.6"), (x, "198.51.100.1")], None),
            ("10.0.0.1", &[("forwarded", "for=198.51.100.1"), (x, "198.51.100.1")], Some("198.51.100.1")),
        ] {
            assert_eq!(client(remote, headers).as_deref(), expected, "{remote} {headers:?}");
        }
    }

    #[test]
    fn a_network_has_an_address_and_a_prefix_that_fits_it() {
        for text in ["0.0.0.0/0", "::/0", "10.0.0.1", "10.0.0.0/8", "fd00::/8", "::1"] {
            assert!(text.parse::<Network>().is_ok(), "{text}");
        }
        for text in
            ["", "10.0.0/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "localhost", "10.0.0.0/8/8"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains([203, 0, 113, 9].into()));
    }
}
