//! Which server is the one to connect to now?

use redis::Value;

#[cfg(any(feature = "cluster", feature = "sentinel"))]
use std::sync::Arc;
#[cfg(feature = "cluster")]
use std::sync::{Mutex, PoisonError};

use crate::connector::{Connector, OpenCause, OpenError, Opened};
#[cfg(feature = "sentinel")]
use crate::sentinel::Sentinels;
use crate::url::Address;

/// Finds a server and connects to it.
pub(crate) struct Locator {
    pub(crate) connector: Connector,
    pub(crate) place: Place,
}

/// The servers among which one is chosen.
#[derive(Clone)]
pub(crate) enum Place {
    /// This server, which must be a primary.
    Primary(Address),
    /// The primary that these Sentinels name.
    #[cfg(feature = "sentinel")]
    Sentinel(Arc<Sentinels>),
    /// This node of a Redis Cluster. The nodes redirect by themselves.
    #[cfg(feature = "cluster")]
    Node(Address),
    /// The first of these nodes of a Redis Cluster that can be reached.
    #[cfg(feature = "cluster")]
    FirstNode(Arc<Mutex<Vec<Address>>>),
    /// Any of these nodes of a Redis Cluster.
    #[cfg(feature = "cluster")]
    AnyNode(Arc<Mutex<Vec<Address>>>),
}

/// A connection to the server that was chosen.
pub(crate) struct Connected {
    pub(crate) address: Address,
    /// The epoch in which the Sentinels have named the server; 0 without Sentinels.
    pub(crate) epoch: u64,
    pub(crate) opened: Opened,
}

impl Place {
    /// Returns the number of fail-overs that are known, as the Sentinels count them.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            #[cfg(feature = "sentinel")]
            Self::Sentinel(sentinels) => sentinels.epoch(),
            _ => 0,
        }
    }

    /// Returns whether another server has become the one to connect to since an epoch.
    pub(crate) fn has_left(&self, address: &Address, epoch: u64) -> bool {
        match self {
            #[cfg(feature = "sentinel")]
            Self::Sentinel(sentinels) => sentinels.have_left(address, epoch),
            _ => {
                _ = (address, epoch);
                false
            }
        }
    }

    /// Waits until another server has become the one to connect to since an epoch.
    pub(crate) async fn left(&self, address: &Address, epoch: u64) {
        match self {
            #[cfg(feature = "sentinel")]
            Self::Sentinel(sentinels) => sentinels.left(address, epoch).await,
            _ => {
                _ = (address, epoch);
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until there was a fail-over since an epoch.
    pub(crate) async fn advanced(&self, epoch: u64) {
        match self {
            #[cfg(feature = "sentinel")]
            Self::Sentinel(sentinels) => sentinels.advanced(epoch).await,
            _ => {
                _ = epoch;
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Locator {
    pub(crate) async fn connect(&self) -> Result<Connected, OpenError> {
        match &self.place {
            Place::Primary(address) => self.connect_primary(address.clone(), 0).await,
            #[cfg(feature = "sentinel")]
            Place::Sentinel(sentinels) => {
                let primary = sentinels.primary().await?;
                let connected = self.connect_primary(primary.address.clone(), primary.epoch).await;
                if connected.is_err() {
                    sentinels.unreachable(&primary);
                }
                connected
            }
            #[cfg(feature = "cluster")]
            Place::Node(address) => self.connect_one_of(vec![address.clone()]).await,
            #[cfg(feature = "cluster")]
            Place::FirstNode(addresses) => self.connect_one_of(snapshot(addresses)).await,
            #[cfg(feature = "cluster")]
            Place::AnyNode(addresses) => {
                self.connect_one_of(crate::backoff::shuffled(snapshot(addresses))).await
            }
        }
    }

    #[cfg(feature = "cluster")]
    async fn connect_one_of(&self, addresses: Vec<Address>) -> Result<Connected, OpenError> {
        let mut failure = OpenError { address: None, cause: Arc::new(OpenCause::NoNode) };
        for address in addresses {
            match self.connector.open(&address).await {
                Ok(opened) => return Ok(Connected { address, epoch: 0, opened }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect_primary(&self, address: Address, epoch: u64) -> Result<Connected, OpenError> {
        let mut opened = self.connector.open(&address).await?;
        // `INFO` and not `ROLE`, because access rules without `@admin` forbid `ROLE`.
        let role = opened.query(redis::cmd("INFO").arg("replication"), self.connector.timeout).await;
        let role = match role {
            Ok(Value::BulkString(text)) => role_of(&String::from_utf8_lossy(&text)),
            Ok(Value::VerbatimString { text, .. }) => role_of(&text),
            Ok(_) => Err(OpenCause::HasNoRole),
            Err(cause) => Err(cause),
        };
        role.map_err(|cause| OpenError::new(&address, cause))?;
        Ok(Connected { address, epoch, opened })
    }
}

#[cfg(feature = "cluster")]
fn snapshot(addresses: &Mutex<Vec<Address>>) -> Vec<Address> {
    addresses.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Fails if a server is not a primary.
fn role_of(info: &str) -> Result<(), OpenCause> {
    match info.lines().find_map(|line| line.trim_end().strip_prefix("role:")) {
        Some("master") => Ok(()),
        Some(_) => Err(OpenCause::IsReplica),
        None => Err(OpenCause::HasNoRole),
    }
}
