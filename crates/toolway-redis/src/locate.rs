//! Which server is the one to connect to now?

use redis::Value;

#[cfg(feature = "cluster")]
use std::sync::{Arc, Mutex, PoisonError};

use crate::connector::{Connector, OpenCause, OpenError, Opened};
use crate::url::Address;

/// Finds a server and connects to it.
pub(crate) struct Locator {
    pub(crate) connector: Connector,
    pub(crate) place: Place,
}

/// The servers among which one is chosen.
pub(crate) enum Place {
    /// This server, which must be a primary.
    Primary(Address),
    /// The primary that these Sentinels name.
    #[cfg(feature = "sentinel")]
    Sentinel { sentinels: Vec<Address>, name: String, connector: Connector },
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

impl Locator {
    pub(crate) async fn connect(&self) -> Result<(Address, Opened), OpenError> {
        match &self.place {
            Place::Primary(address) => self.connect_primary(address.clone()).await,
            #[cfg(feature = "sentinel")]
            Place::Sentinel { sentinels, name, connector } => {
                let address = ask_sentinels(sentinels, name, connector).await?;
                self.connect_primary(address).await
            }
            #[cfg(feature = "cluster")]
            Place::Node(address) => Ok((address.clone(), self.connector.open(address).await?)),
            #[cfg(feature = "cluster")]
            Place::FirstNode(addresses) => self.connect_one_of(snapshot(addresses)).await,
            #[cfg(feature = "cluster")]
            Place::AnyNode(addresses) => {
                self.connect_one_of(crate::backoff::shuffled(snapshot(addresses))).await
            }
        }
    }

    #[cfg(feature = "cluster")]
    async fn connect_one_of(&self, addresses: Vec<Address>) -> Result<(Address, Opened), OpenError> {
        let mut failure = OpenError { address: None, cause: Arc::new(OpenCause::NoNode) };
        for address in addresses {
            match self.connector.open(&address).await {
                Ok(opened) => return Ok((address, opened)),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect_primary(&self, address: Address) -> Result<(Address, Opened), OpenError> {
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
        Ok((address, opened))
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

#[cfg(feature = "sentinel")]
async fn ask_sentinels(
    sentinels: &[Address],
    name: &str,
    connector: &Connector,
) -> Result<Address, OpenError> {
    let mut failures = Vec::new();
    let question = redis::cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name).take();
    for sentinel in crate::backoff::shuffled(sentinels.to_vec()) {
        let answer = match connector.open(&sentinel).await {
            Ok(mut opened) => opened.query(&question, connector.timeout).await,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        match answer {
            Ok(Value::Array(parts)) => {
                if let Some(address) = read_address(&parts) {
                    return Ok(address);
                }
            }
            Ok(_) => failures.push(format!("{sentinel}: it watches no primary of this name")),
            Err(cause) => failures.push(format!("{sentinel}: {cause}")),
        }
    }
    let cause = OpenCause::UnknownPrimary(failures.join("; "));
    Err(OpenError { address: None, cause: std::sync::Arc::new(cause) })
}

#[cfg(feature = "sentinel")]
fn read_address(parts: &[Value]) -> Option<Address> {
    let [Value::BulkString(host), Value::BulkString(port)] = parts else { return None };
    let host = String::from_utf8(host.clone()).ok()?;
    Some(Address { host, port: std::str::from_utf8(port).ok()?.parse().ok()? })
}
