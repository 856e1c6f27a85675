//! Are the servers set up so that a store can rely on them?

use std::time::Duration;

use redis::Value;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::connector::{Connector, OpenCause, OpenError, Opened};
use crate::durability::Durability;
use crate::error::SetupError;
use crate::link::Counters;
use crate::locate::{Connected, Locator};
use crate::servers::primary_place;
use crate::url::{Address, Target, TargetKind};

/// Connects to the servers of a target and checks their settings. A server that is not ready gets some time.
pub(crate) async fn check(
    target: &Target,
    connector: &Connector,
    sentinel: &Connector,
    durability: Durability,
) -> Result<(), SetupError> {
    let deadline = Instant::now() + START_LIMIT;
    let mut backoff = Backoff::default();
    loop {
        let failure = match connect(target, connector, sentinel).await {
            Ok(servers) => {
                let mut is_loading = false;
                for (address, mut opened) in servers {
                    let info = read_info(&mut opened, connector.timeout)
                        .await
                        .map_err(|cause| refused(OpenError::new(&address, cause)))?;
                    is_loading |= info.get("loading") == Some("1");
                    check_server(&info, target, durability)?;
                }
                if !is_loading {
                    return Ok(());
                }
                "the server still loads its data".to_owned()
            }
            Err(error) if is_final(&error) => return Err(refused(error)),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            let message = format!(
                "no store could be opened within {START_LIMIT:?}: {failure}; check that the server runs and can be reached"
            );
            return Err(SetupError::new("url", message).caused_by(failure));
        }
        tokio::time::sleep(backoff.next_attempt()).await;
    }
}

/// Connects to each server that takes steps.
async fn connect(
    target: &Target,
    connector: &Connector,
    sentinel: &Connector,
) -> Result<Vec<(Address, Opened)>, OpenError> {
    #[cfg(feature = "cluster")]
    if target.kind == TargetKind::Cluster {
        let addresses = std::sync::Arc::new(std::sync::Mutex::new(target.addresses.clone()));
        let mut nodes: Vec<Address> = Vec::new();
        for (_, _, address) in crate::cluster::read_slots(connector, &addresses).await? {
            if !nodes.contains(&address) {
                nodes.push(address);
            }
        }
        let mut servers = Vec::new();
        let mut failure = None;
        for address in nodes {
            match connector.open(&address).await {
                Ok(opened) => servers.push((address, opened)),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "a node of the Redis Cluster cannot be checked");
                    failure = Some(error);
                }
            }
        }
        if let Some(error) = failure.filter(|_| servers.is_empty()) {
            return Err(error);
        }
        return Ok(servers);
    }
    let place = primary_place(target, sentinel, &Counters::default());
    let locator = Locator { connector: connector.clone(), place };
    let Connected { address, opened, .. } = locator.connect().await?;
    Ok(vec![(address, opened)])
}

/// Returns whether trying again is of no use.
fn is_final(error: &OpenError) -> bool {
    error.is_login()
        || is_certificate(error)
        || is_no_cluster(error)
        || matches!(*error.cause, OpenCause::HasNoRole)
}

fn is_certificate(error: &OpenError) -> bool {
    error.cause.to_string().contains("certificate")
}

fn is_no_cluster(error: &OpenError) -> bool {
    error.cause.to_string().contains("cluster support disabled")
}

fn refused(error: OpenError) -> SetupError {
    let address = error.address.as_ref().map(ToString::to_string).unwrap_or_default();
    if error.is_login() {
        // The text of the server may name the user, so it is left out.
        let message = format!(
            "{address} refuses the credentials of the URL, or forbids this user a command that is needed; check both, and its access rules"
        );
        return SetupError::new("user", message);
    }
    if is_no_cluster(&error) {
        return SetupError::new("url", format!("{address} is not part of a Redis Cluster: write redis://"));
    }
    if matches!(*error.cause, OpenCause::HasNoRole) {
        let message =
            format!("{address} is a Sentinel, or not a Redis server: write redis+sentinel://a,b,c/name");
        return SetupError::new("url", message);
    }
    if is_certificate(&error) {
        let message = format!(
            "the certificate of {address} is not trusted: give its authority, and the host it is for"
        );
        return SetupError::new("root_certificate", message).caused_by(error);
    }
    SetupError::new("url", error.to_string()).caused_by(error)
}

/// The answer to `INFO`.
struct Info(String);

impl Info {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_end)
    }

    /// Returns the first two numbers of a version.
    fn version(&self, name: &str) -> Option<(u32, u32)> {
        let mut numbers = self.get(name)?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

async fn read_info(opened: &mut Opened, limit: Duration) -> Result<Info, OpenCause> {
    let mut text = match opened.query(&redis::cmd("INFO"), limit).await? {
        Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::VerbatimString { text, .. } => text,
        _ => String::new(),
    };
    if !text.contains("maxmemory_policy:") {
        // Some hosted servers leave it out of `INFO`; some of those allow this instead.
        let policy = redis::cmd("CONFIG").arg("GET").arg("maxmemory-policy").take();
        if let Ok(Value::Map(settings)) = opened.query(&policy, limit).await
            && let Some((_, Value::BulkString(policy))) = settings.first()
        {
            text.push_str("maxmemory_policy:");
            text.push_str(&String::from_utf8_lossy(policy));
        }
    }
    Ok(Info(text))
}

fn check_server(info: &Info, target: &Target, durability: Durability) -> Result<(), SetupError> {
    if info.get("cluster_enabled") == Some("1") && target.kind == TargetKind::Single {
        let message = "the server is part of a Redis Cluster: write redis+cluster://a,b,c";
        return Err(SetupError::new("url", message));
    }
    let (name, version, oldest, oldest_synced) = match info.version("valkey_version") {
        Some(version) => ("Valkey", Some(version), OLDEST_VALKEY, OLDEST_VALKEY),
        None => ("Redis", info.version("redis_version"), OLDEST_REDIS, OLDEST_REDIS_SYNCED),
    };
    if let Some(version) = version {
        let needs = |oldest: (u32, u32), setting, what: &str| {
            let message = format!(
                "{name} {}.{} is too old {what}: it needs {}.{}",
                version.0, version.1, oldest.0, oldest.1
            );
            SetupError::new(setting, message)
        };
        if version < oldest {
            return Err(needs(oldest, "url", "for this store"));
        }
        if matches!(durability, Durability::Synced(_)) && version < oldest_synced {
            return Err(needs(oldest_synced, "durability", "for `Synced`"));
        }
    }
    match info.get("maxmemory_policy") {
        Some("noeviction") => {}
        Some(policy) => {
            return Err(SetupError::new(
                "maxmemory-policy",
                format!(
                    "it is `{policy}`, and Redis would delete sessions when its memory is full: set `maxmemory-policy noeviction`"
                ),
            ));
        }
        None => tracing::warn!("Redis does not say its maxmemory-policy: make sure that it is noeviction"),
    }
    if matches!(durability, Durability::Synced(_)) && info.get("aof_enabled") == Some("0") {
        return Err(SetupError::new(
            "appendonly",
            "it is `no`, but `Synced` needs the disk: set `appendonly yes`",
        ));
    }
    if let Durability::Replicated(needed) | Durability::Synced(needed) = durability
        && let Some(connected) = info.get("connected_slaves").and_then(|count| count.parse::<u32>().ok())
        && connected < needed
    {
        tracing::warn!(
            connected,
            needed,
            "Redis has fewer replicas than `durability` waits for: changes will fail"
        );
    }
    Ok(())
}

/// The time that servers have to become ready.
const START_LIMIT: Duration = Duration::from_secs(5);
const OLDEST_REDIS: (u32, u32) = (6, 2);
const OLDEST_REDIS_SYNCED: (u32, u32) = (7, 2);
const OLDEST_VALKEY: (u32, u32) = (7, 2);

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(url: &str, durability: Durability, info: &str) -> Option<String> {
        let target = Target::parse(url).unwrap();
        let info = Info(info.replace(' ', "\r\n"));
        check_server(&info, &target, durability).err().map(|error| error.setting().to_owned())
    }

    #[test]
    fn a_wrong_setting_of_the_server_is_named() {
        let written = Durability::Written;
        for (url, durability, info, expected) in [
            ("redis://h", written, "redis_version:6.2.14 maxmemory_policy:noeviction", None),
            ("redis://h", written, "redis_version:6.0.16", Some("url")),
            ("redis://h", written, "redis_version:7.2.4 valkey_version:7.2.5", None),
            ("redis://h", written, "cluster_enabled:1", Some("url")),
            ("redis://h", written, "maxmemory_policy:allkeys-lru", Some("maxmemory-policy")),
            ("redis://h", Durability::Synced(0), "redis_version:7.0.15 aof_enabled:1", Some("durability")),
            ("redis://h", Durability::Synced(0), "redis_version:7.2.0 aof_enabled:0", Some("appendonly")),
            ("redis://h", Durability::Synced(0), "redis_version:7.2.0 aof_enabled:1", None),
        ] {
            assert_eq!(setting(url, durability, info).as_deref(), expected, "{info}");
        }
    }
}
