//! By which name is a peer recognized, and which value belongs to it?

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use crate::ground::weak_map::WeakMap;

/// The name by which a peer is recognized in all its requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PeerName {
    Principal(Arc<str>),
    Address(IpAddr),
}

impl PeerName {
    /// Names the peer at an address. A network of the size that one IPv6 customer gets (/64) is one peer, and an IPv4
    /// address has the same name in both notations.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from(network))
            }
            address @ IpAddr::V4(_) => address,
        })
    }

    /// Returns the address, if the name is an address.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Principal(_) => None,
            Self::Address(address) => Some(*address),
        }
    }
}

/// A value for each peer. A value is forgotten when it is no longer used elsewhere.
pub(super) type PeerMap<T> = WeakMap<PeerName, T>;
