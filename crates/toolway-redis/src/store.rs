//! How is Redis a store?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_store::{
    BoxFuture, Outcome, Result, Secret, Step, Store, StoreError, StoreFailure, Subscription,
};

use crate::connector::Connector;
use crate::decode;
use crate::durability::Durability;
use crate::encode::Call;
use crate::error::SetupError;
use crate::format::{BEFORE_NEXT_ENTRY, Format};
use crate::keys::{Keys, OWN_GROUP};
use crate::messages::Messages;
use crate::repeat::{is_ambiguous, must_be_confirmed};
use crate::servers::Servers;
use crate::start;
use crate::task::Task;
use crate::url::Target;
use crate::visit::{Request, Visitor, Work};

/// A store on Redis or Valkey. A clone is a handle to the same connections.
///
/// ```no_run
/// use std::time::Duration;
/// use toolway_redis::{Durability, Redis};
///
/// # async fn example() -> Result<(), toolway_redis::SetupError> {
/// let store = Redis::builder("redis+sentinel://:password@one,two,three/primary")
///     .prefix("shop1:")
///     .durability(Durability::Replicated(1))
///     .timeout(Duration::from_millis(300))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Redis {
    inner: Arc<Inner>,
}

struct Inner {
    visitor: Arc<Visitor>,
    messages: Arc<Messages>,
    keys: Keys,
    servers: String,
    durability: Durability,
    secret: Secret,
    format: Arc<Format>,
    _guardian: Task,
}

impl Redis {
    pub(crate) async fn open(
        target: &Target,
        connector: &Connector,
        sentinel: &Connector,
        keys: Keys,
        durability: Durability,
        format: u32,
    ) -> Result<Self, SetupError> {
        start::check(target, connector, sentinel, durability).await?;
        let confirmed = if durability == Durability::Written { 0 } else { CONFIRMED_CONNECTIONS };
        let servers = Servers::new(target, connector, sentinel, confirmed);
        // In a Redis Cluster this waits until the node that publishes messages is known.
        servers.node_of(OWN_GROUP, Instant::now() + connector.timeout).await.map_err(not_allowed)?;
        let (locator, link) = servers.for_messages(connector);
        let messages = Arc::new(Messages::new(locator, link));
        let connections = servers.connections();
        let visitor = Arc::new(Visitor::new(servers, connector.timeout, durability));
        let mut drawn = [0; 32];
        let no_random =
            |error| SetupError::new("random", format!("the operating system gives no random bytes: {error}"));
        getrandom::fill(&mut drawn).map_err(no_random)?;
        let format = Arc::new(Format::new(format, getrandom::u64().map_err(no_random)?));
        let marks = Marks { visitor: visitor.clone(), keys: keys.clone(), format: format.clone() };
        let entered = marks.enter().await.map_err(not_allowed)?;
        format.entered(&entered, keys.prefix())?;
        let secret = marks.secret(&drawn).await.map_err(not_allowed)?;
        let addresses: Vec<_> = target.addresses.iter().map(ToString::to_string).collect();
        let inner = Inner {
            _guardian: Task::spawn(marks.guard(secret, connections)),
            visitor,
            messages,
            keys,
            servers: addresses.join(","),
            durability,
            secret,
            format,
        };
        let store = Self { inner: Arc::new(inner) };
        store.run(OWN_GROUP, &Step::new()).await.map_err(not_allowed)?;
        store.subscribe("start").await.map_err(|error| {
            let prefix = store.inner.keys.prefix();
            let message = format!("it may not subscribe to channels: add `&{prefix}*` to its access rules");
            SetupError::new("user", message).caused_by(error)
        })?;
        Ok(store)
    }
}

impl Store for Redis {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            let Inner { visitor, keys, durability, format, .. } = &*self.inner;
            format.check()?;
            let call = Call::new(&keys.of_group(group), step, !visitor.servers().redirects());
            let request = Request {
                group,
                work: Work::Script(&call),
                is_repeatable: step.is_repeatable(),
                is_confirmed: *durability != Durability::Written && must_be_confirmed(step),
            };
            let reply = visitor.visit(request).await?;
            let outcome = decode::outcome(reply.value, step, call.moved)?;
            if reply.is_repeat && is_ambiguous(step, &outcome) {
                let message = "the reply to the step was lost, and it cannot be told whether a repeat met its own change";
                return Err(StoreError::new(StoreFailure::Unknown, message));
            }
            Ok(outcome)
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            let channel = self.inner.keys.channel(channel);
            let command = redis::cmd("PUBLISH").arg(&channel).arg(&message[..]).take();
            command_of(&self.inner.visitor, OWN_GROUP, &command).await.map(drop)
        })
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            let subscription = self.inner.messages.subscribe(self.inner.keys.channel(channel)).await?;
            Ok(Box::new(subscription) as Box<dyn Subscription>)
        })
    }

    fn secret(&self) -> Secret {
        self.inner.secret
    }

    fn losses(&self) -> u64 {
        self.inner.visitor.servers().losses()
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("servers", &self.inner.servers)
            .field("prefix", &self.inner.keys.prefix())
            .field("durability", &self.inner.durability)
            .field("format", &self.inner.format.in_use())
            .finish_non_exhaustive()
    }
}

/// What a store writes about itself: its format and its secret.
struct Marks {
    visitor: Arc<Visitor>,
    keys: Keys,
    format: Arc<Format>,
}

impl Marks {
    /// Enters this server among those that share the store. Returns the format in use.
    async fn enter(&self) -> Result<Value> {
        command_of(&self.visitor, OWN_GROUP, &self.format.enter(&self.keys)).await
    }

    /// Returns the secret that is stored, after storing this one if there is none.
    async fn secret(&self, drawn: &[u8; 32]) -> Result<Secret> {
        let stored = self.write_once(&self.keys.secret(), drawn).await?;
        let bytes = <[u8; 32]>::try_from(&stored[..]).map_err(|_| {
            StoreError::new(StoreFailure::Broken, format!("the key {:?} is not a secret", self.keys.secret()))
        })?;
        Ok(Secret::new(bytes))
    }

    /// Keeps this server among those that share the store, and writes the format and the secret again when Redis has lost
    /// them, so that servers that start later have the same.
    async fn guard(self, secret: Secret, mut connections: watch::Receiver<u64>) {
        connections.mark_unchanged();
        loop {
            match tokio::time::timeout(BEFORE_NEXT_ENTRY, connections.changed()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return,
            }
            while let Err(error) = self.write_again(secret).await {
                tracing::debug!(%error, "could not write the secret again");
                tokio::time::sleep(BEFORE_NEXT_GUARD).await;
            }
        }
    }

    async fn write_again(&self, secret: Secret) -> Result<()> {
        let before = self.format.in_use();
        if let Err(error) = self.format.entered(&self.enter().await?, self.keys.prefix()) {
            tracing::error!(%error, "replace this server");
        } else if self.format.in_use() != before {
            tracing::info!(format = self.format.in_use(), "all servers can read the next format of the data");
        }
        if self.secret(secret.as_bytes()).await? != secret {
            tracing::error!(
                "Redis has lost the secret of this store, and another server has drawn a new one: restart this server"
            );
        }
        Ok(())
    }

    /// Returns the value of a key, after setting it if there is none.
    async fn write_once(&self, key: &str, value: &[u8]) -> Result<Vec<u8>> {
        let set = redis::cmd("SET").arg(key).arg(value).arg("NX").take();
        let get = redis::cmd("GET").arg(key).take();
        command_of(&self.visitor, OWN_GROUP, &set).await?;
        match command_of(&self.visitor, OWN_GROUP, &get).await? {
            Value::BulkString(found) => Ok(found),
            _ => Err(StoreError::new(StoreFailure::NotDone, format!("the key {key:?} has vanished"))),
        }
    }
}

/// Sends a command that may be repeated to the server of a group.
async fn command_of(visitor: &Visitor, group: &str, command: &Cmd) -> Result<Value> {
    let work = Work::Command(command);
    let request = Request { group, work, is_repeatable: true, is_confirmed: false };
    Ok(visitor.visit(request).await?.value)
}

fn not_allowed(error: StoreError) -> SetupError {
    let setting = if error.failure() == StoreFailure::Broken { "user" } else { "url" };
    SetupError::new(setting, error.to_string()).caused_by(error)
}

/// The time between two attempts to write the secret again.
const BEFORE_NEXT_GUARD: Duration = Duration::from_secs(1);
/// The number of connections for steps that wait for replicas or for the disk.
const CONFIRMED_CONNECTIONS: usize = 4;
