//! Which addresses may a client connect to, if the URL comes from a server?
//!
//! The documents of a server name URLs, and a hostile one names addresses inside the network of the client. Names are
//! resolved first, and the connection goes to the addresses that were checked.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// The kinds of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressClass {
    Public,
    /// Addresses of a private network.
    Private,
    Loopback,
    /// Addresses that lead to the machine or its cloud, or to many.
    Forbidden,
}

/// Returns the class of an address. An IPv4 address inside an IPv6 address counts as what it is.
pub(super) fn class_of(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => class_of_v6(address),
    }
}

fn class_of_v4(address: Ipv4Addr) -> AddressClass {
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        _ if address.is_loopback() => AddressClass::Loopback,
        (0 | 224.., ..) | (169, 254, _) => AddressClass::Forbidden,
        (10, ..)
        | (172, 16..=31, _)
        | (192, 168, _)
        | (100, 64..=127, _)
        | (198, 18 | 19, _)
        | (192, 0, 0 | 2)
        | (198, 51, 100)
        | (203, 0, 113)
        | (192, 88, 99) => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

fn class_of_v6(address: Ipv6Addr) -> AddressClass {
    let segments = address.segments();
    if let Some(inner) = embedded_v4(segments) {
        return match class_of_v4(inner) {
            // Translators of a network find the IPv4 address at different places, so this may be the wrong one.
            AddressClass::Public if is_local_translation(segments) => AddressClass::Private,
            class => class,
        };
    }
    match segments[0] {
        _ if address.is_loopback() => AddressClass::Loopback,
        _ if address.is_unspecified() => AddressClass::Forbidden,
        // The metadata service of a cloud has a private address.
        0xfd00 if segments[1] == 0xec2 => AddressClass::Forbidden,
        0xfe80..=0xfebf | 0xff00.. => AddressClass::Forbidden,
        // Protocols and benchmarks (2001::/23) and documentation.
        0x2001 if matches!(segments[1], 0..0x200 | 0xdb8) => AddressClass::Private,
        0x3fff if segments[1] < 0x1000 => AddressClass::Private,
        0x2000..=0x3fff => AddressClass::Public,
        // Private, site-local, and everything else that is not global unicast.
        _ => AddressClass::Private,
    }
}

/// Returns whether an address is translated to IPv4 by the network that it is used in, and not by the common prefix of NAT64.
fn is_local_translation(segments: [u16; 8]) -> bool {
    segments[..2] == [0x64, 0xff9b] && segments[2..6] != [0; 4]
}

/// Returns the IPv4 address that an IPv6 address leads to: mapped, compatible, NAT64, 6to4 and Teredo.
fn embedded_v4(segments: [u16; 8]) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0, 0, high @ 1..=0xffff, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, .., high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        // The address of the client is inverted.
        [0x2001, 0, .., high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

/// The addresses that a client may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Policy {
    pub(super) allows_private: bool,
    pub(super) allows_loopback: bool,
}

impl Policy {
    /// Allows what the server that the application named has: a public server cannot lead into the network. Only a host that
    /// means this machine by itself allows loopback, because the owner of any other name chooses its addresses.
    pub(super) fn of_server(host: &str, addresses: &[IpAddr]) -> Self {
        let bare = without_brackets(host);
        let is_private = |address: &IpAddr| class_of(*address) == AddressClass::Private;
        Self {
            allows_private: !addresses.is_empty() && addresses.iter().all(is_private),
            allows_loopback: match IpAddr::from_str(bare) {
                Ok(address) => class_of(address) == AddressClass::Loopback,
                Err(_) => is_local_name(bare),
            },
        }
    }

    pub(super) fn allows(self, address: IpAddr) -> bool {
        match class_of(address) {
            AddressClass::Public => true,
            AddressClass::Private => self.allows_private,
            AddressClass::Loopback => self.allows_loopback,
            AddressClass::Forbidden => false,
        }
    }

    /// Returns whether the host may be connected to, if it is an address.
    pub(super) fn allows_literal(self, host: &str) -> bool {
        let bare = without_brackets(host);
        match IpAddr::from_str(bare) {
            Ok(address) => self.allows(address),
            Err(_) if is_local_name(bare) => self.allows_loopback,
            // `0x7f.1`, `127.1` and `2130706433` are addresses to some resolvers.
            Err(_) => !looks_like_address(bare),
        }
    }
}

/// Returns an IPv6 address of a URL without its brackets, and any other host as it is.
fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns whether a name always means this machine (RFC 6761).
fn is_local_name(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}

/// Returns whether the last label of a name has only digits, or is hexadecimal: no domain ends so.
fn looks_like_address(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match digits {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Resolves names to addresses that may be connected to.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    pub(super) policy: Policy,
    pub(super) lookup: Arc<Lookup>,
}

/// Finds the addresses of a name.
pub(super) type Lookup =
    dyn Fn(String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> + Send + Sync;

/// Finds the addresses of a name as the system does.
pub(super) fn system_lookup(
    name: String,
) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
    Box::pin(async move {
        let found = tokio::net::lookup_host((without_brackets(&name), 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

/// Finds the addresses of a name that a proxy resolves as well. Where only the proxy knows names, a name server may not even
/// answer.
pub(super) async fn look_up_briefly(lookup: &Lookup, name: &str) -> std::io::Result<Vec<IpAddr>> {
    match tokio::time::timeout(MAX_LOOKUP, lookup(name.to_owned())).await {
        Ok(found) => found,
        Err(late) => Err(late.into()),
    }
}

/// Returns whether a name leads to an address that may not be connected to, as far as this machine knows. Behind a proxy,
/// many names are known only to the proxy.
pub(super) async fn leads_inside(lookup: &Lookup, name: &str, policy: Policy) -> bool {
    let found = look_up_briefly(lookup, name).await.unwrap_or_default();
    found.into_iter().any(|address| !policy.allows(address))
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (policy, lookup) = (self.policy, (self.lookup)(name.as_str().to_owned()));
        Box::pin(async move {
            let addresses = lookup.await?;
            // One address inside the network is enough: the next connection may use it.
            if addresses.iter().any(|address| !policy.allows(*address)) {
                return Err(std::io::Error::other(ForbiddenAddress));
            }
            let sockets: Vec<_> = addresses.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(sockets.into_iter())
        })
    }
}

/// The error for a name that leads into the network.
#[derive(Debug)]
pub(super) struct ForbiddenAddress;

impl fmt::Display for ForbiddenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address is inside the network")
    }
}

impl std::error::Error for ForbiddenAddress {}

/// How long a name is looked up that a proxy resolves as well.
const MAX_LOOKUP: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_what_they_lead_to() {
        use AddressClass::{Forbidden, Loopback, Private, Public};
        for (address, class) in [
            ("93.184.216.34", Public),
            ("127.0.0.1", Loopback),
            ("127.8.8.8", Loopback),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.32.0.1", Public),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("198.18.0.1", Private),
            ("169.254.169.254", Forbidden),
            ("0.0.0.0", Forbidden),
            ("0.1.2.3", Forbidden),
            ("224.0.0.1", Forbidden),
            ("255.255.255.255", Forbidden),
            ("2606:4700::1111", Public),
            ("::1", Loopback),
            ("::", Forbidden),
            ("fd12::1", Private),
            ("fd00:ec2::254", Forbidden),
            ("fe80::1", Forbidden),
            ("ff02::1", Forbidden),
            ("fec0::1", Private),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", Forbidden),
            ("::10.0.0.1", Private),
            ("::ffff:0:10.0.0.1", Private),
            ("64:ff9b::169.254.169.254", Forbidden),
            ("64:ff9b::93.184.216.34", Public),
            ("64:ff9b:1::10.0.0.1", Private),
            ("64:ff9b:1::93.184.216.34", Private),
            ("64:ff9b:1:a9fe:a9:fe00:5db8:d822", Private),
            ("2001:2::1", Private),
            ("2001:db8::1", Private),
            ("3fff::1", Private),
            ("2001:200::1", Public),
            ("2002:7f00:1::", Loopback),
            ("2002:a9fe:a9fe::1", Forbidden),
            ("2001::80ff:fffe", Loopback),
            ("2001:0:1:2:3:4:5601:5601", Forbidden),
        ] {
            assert_eq!(class_of(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn a_public_server_cannot_lead_inside() {
        let public = Policy::of_server("mcp.example", &["93.184.216.34".parse().unwrap()]);
        let private = Policy::of_server("mcp.example", &["10.1.1.1".parse().unwrap()]);
        let local = Policy::of_server("localhost", &["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]);
        for (host, outside, intranet, own) in [
            ("8.8.8.8", true, true, true),
            ("10.0.0.1", false, true, false),
            ("127.0.0.1", false, false, true),
            ("[::1]", false, false, true),
            ("[::ffff:10.0.0.1]", false, true, false),
            ("169.254.169.254", false, false, false),
            ("127.1", false, false, false),
            ("2130706433", false, false, false),
            ("0x7f000001", false, false, false),
            ("0177.0.0.1", false, false, false),
            ("127.0.0.0x1", false, false, false),
            ("127.0.0.1.", false, false, false),
            ("localhost", false, false, true),
            ("LOCALHOST.", false, false, true),
            ("id.localhost", false, false, true),
            ("localhost.example", true, true, true),
            ("id.example", true, true, true),
        ] {
            let allowed = [public, private, local].map(|policy| policy.allows_literal(host));
            assert_eq!(allowed, [outside, intranet, own], "{host}");
        }
    }

    /// The owner of a name chooses its addresses, and so must not choose what its server may lead to.
    #[test]
    fn the_name_of_a_server_does_not_open_loopback_or_the_network() {
        for (host, addresses, allows_private, allows_loopback) in [
            ("mcp.example", &["127.0.0.1"][..], false, false),
            ("mcp.example", &["::1"], false, false),
            ("mcp.example", &["93.184.216.34", "127.0.0.1"], false, false),
            ("mcp.example", &["93.184.216.34", "10.0.0.1"], false, false),
            ("mcp.example", &["10.0.0.1", "127.0.0.1"], false, false),
            ("mcp.example", &["10.0.0.1", "fd12::1"], true, false),
            ("mcp.example", &[], false, false),
            ("localhost.example", &["127.0.0.1"], false, false),
            ("10.0.0.1", &["10.0.0.1"], true, false),
            ("127.0.0.1", &["127.0.0.1"], false, true),
            ("127.8.8.8", &["127.8.8.8"], false, true),
            ("[::1]", &["::1"], false, true),
            ("[::ffff:127.0.0.1]", &["::ffff:127.0.0.1"], false, true),
            ("localhost", &["127.0.0.1", "::1"], false, true),
            ("LOCALHOST.", &["127.0.0.1"], false, true),
            ("mcp.localhost", &["127.0.0.1"], false, true),
        ] {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let policy = Policy::of_server(host, &addresses);
            assert_eq!(policy, Policy { allows_private, allows_loopback }, "{host} {addresses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_only_the_proxy_knows_leads_nowhere_inside() {
        let silent: Box<Lookup> = Box::new(|_| Box::pin(std::future::pending()));
        assert!(!leads_inside(&*silent, "id.example", Policy::default()).await);
        let unknown: Box<Lookup> =
            Box::new(|_| Box::pin(async { Err(std::io::Error::other("no such name")) }));
        assert!(!leads_inside(&*unknown, "id.example", Policy::default()).await);
    }

    #[tokio::test]
    async fn a_name_with_one_forbidden_address_is_refused() {
        for (addresses, is_allowed) in [
            (&["93.184.216.34"][..], true),
            (&["93.184.216.34", "10.0.0.1"], false),
            (&["169.254.169.254"], false),
        ] {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let lookup: Arc<Lookup> = Arc::new(move |_| {
                let addresses = addresses.clone();
                Box::pin(async move { Ok(addresses) })
            });
            let policy = Policy::default();
            assert_eq!(leads_inside(&*lookup, "id.example", policy).await, !is_allowed);
            let found = GuardedResolver { policy, lookup }.call("id.example".parse().unwrap()).await;
            assert_eq!(found.is_ok(), is_allowed);
        }
    }

    /// The DNS of an attacker answers with an allowed address first, and with a forbidden one that leads to the same
    /// machine afterwards.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_name_is_resolved_once_for_each_connection() {
        use hyper_util::client::legacy::connect::HttpConnector;
        use std::sync::atomic::{AtomicUsize, Ordering};
        use tokio::net::{TcpListener, TcpStream};
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, lookups) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let count = lookups.clone();
        let lookup: Arc<Lookup> = Arc::new(move |_| {
            let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let address = if is_first { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
            Box::pin(async move { Ok(vec![IpAddr::V4(address)]) })
        });
        let policy = Policy { allows_private: false, allows_loopback: true };
        let mut connector = HttpConnector::new_with_resolver(GuardedResolver { policy, lookup });
        let url = format!("http://id.example:{port}/").parse::<::http::Uri>().unwrap();
        let connected = connector.call(url.clone()).await.unwrap();
        assert_eq!(lookups.load(Ordering::SeqCst), 1, "the address that was checked is the one that is used");
        listener.accept().await.unwrap();
        drop(connected);
        assert!(connector.call(url).await.is_err());
        // The forbidden address leads to the listener, and the test is the first to connect to it.
        let own = TcpStream::connect((Ipv4Addr::UNSPECIFIED, port)).await.unwrap();
        let (_, from) = listener.accept().await.unwrap();
        assert_eq!(from, own.local_addr().unwrap());
    }
}
