//! By which name is a peer recognized, and which value belongs to it?

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};

use crate::ground::mutex::Mutex;

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
pub(super) struct PeerMap<T>(Mutex<HashMap<PeerName, Weak<T>>>);

impl<T> Default for PeerMap<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> fmt::Debug for PeerMap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PeerMap").field(&self.len()).finish()
    }
}

impl<T> PeerMap<T> {
    /// Returns the value of a peer, or creates it.
    pub(super) fn get_or_insert(&self, name: PeerName, create: impl FnOnce(&PeerName) -> Arc<T>) -> Arc<T> {
        let mut values = self.0.lock();
        if let Some(known) = values.get_mut(&name) {
            return known.upgrade().unwrap_or_else(|| {
                let value = create(&name);
                *known = Arc::downgrade(&value);
                value
            });
        }
        // Values that are no longer used are removed before the map would have to grow.
        if values.len() == values.capacity() {
            values.retain(|_, value| value.strong_count() > 0);
        }
        let value = create(&name);
        values.insert(name, Arc::downgrade(&value));
        value
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
