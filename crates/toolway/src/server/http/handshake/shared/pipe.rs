//! How does a POST of the transport of 2024-11-05 reach the server that holds its stream?
//!
//! The id of a pipe names its node. A server that gets a POST for the pipe of another one stores it, and tells that one,
//! which takes it. There is one place for each pipe: the next POST waits until the place is free, so that POSTs stay in
//! order and take up little space. A POST is recorded as taken before it is served. So a server that does not know whether it has
//! stored a POST can find out whether the POST was taken, and withdraws it otherwise: a client that is told to send the
//! POST again must not be served twice.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::message::{News, NodeMessage};
use super::node::Node;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::stateless::seal::{Binding, SealKeys};
use crate::store::{
    Answer, Condition, Groups, Name, Operation, Outcome, Result, Step, StoreFailure, Version, random_version,
};

/// A pipe in the store.
#[derive(Clone)]
pub(in crate::server) struct SharedPipe {
    node: Arc<Node>,
    pub(in crate::server) id: String,
    /// Contains the owner, so that a caller cannot find the pipe of another one.
    group: String,
    ttl: Duration,
}

/// The outcome of an attempt to pass a POST on.
pub(in crate::server) enum PassOutcome {
    Done,
    /// There is no such pipe.
    Gone,
    /// The server that holds the pipe has not taken the last POST in time.
    Busy,
    /// The store is away, and it cannot be told whether the server that holds the pipe has taken the POST.
    Unknown,
}

/// Returns a new id of a pipe.
pub(in crate::server) fn new_pipe_id(node: Option<&Node>) -> String {
    match node {
        Some(node) => format!("{}.{}", node.id, random_hex::<16>()),
        None => random_hex::<16>(),
    }
}

impl SharedPipe {
    pub(in crate::server) fn new(
        node: Arc<Node>,
        groups: &Groups,
        id: &str,
        owner: Option<&str>,
        ttl: Duration,
    ) -> Self {
        let group = match owner {
            Some(owner) => format!("i/{id}/{}", groups.hash("pipe", &[owner])),
            None => format!("i/{id}"),
        };
        Self { node, id: id.to_owned(), group, ttl }
    }

    /// Returns how often the pipe has to be [published](Self::publish) again.
    pub(in crate::server) fn renew_interval(&self) -> Duration {
        self.ttl / 3
    }

    /// Makes the pipe known to other servers, or renews it.
    pub(in crate::server) async fn publish(&self) -> Result<()> {
        let put = Operation::Put { key: PIPE, value: Bytes::new(), version: Version(0), ttl: self.ttl };
        self.node.store.run(&self.group, &Step::new().then(put)).await.map(drop)
    }

    /// Removes the pipe from the store.
    pub(in crate::server) async fn remove(&self) -> Result<()> {
        let step = Step::new().then(Operation::Delete(PIPE)).then(Operation::Delete(POST));
        self.node.store.run(&self.group, &step).await.map(drop)
    }

    /// Passes a POST on to the server that holds the pipe.
    pub(in crate::server) async fn pass_on(&self, post: Bytes, limit: Duration) -> Result<PassOutcome> {
        let Some((holder, _)) = self.id.split_once('.') else { return Ok(PassOutcome::Gone) };
        let deadline = Instant::now() + limit;
        // The same version in each attempt: an attempt that had an unknown outcome is not counted twice.
        let version = random_version();
        let put = Operation::Put { key: POST, value: post, version, ttl: POST_TTL };
        let told = NodeMessage::write(&self.id, News::Posted);
        let step = Step::new()
            .when(Condition::Exists(PIPE))
            .when(Condition::Absent(POST))
            .then(put)
            .then(self.node.telling(holder, told));
        let mut pause = FIRST_PAUSE;
        loop {
            if !self.node.is_alive(holder).await? {
                return Ok(PassOutcome::Gone);
            }
            match self.node.store.run(&self.group, &step).await {
                Ok(Outcome::Done(_)) => return Ok(PassOutcome::Done),
                Ok(Outcome::Refused { condition: 1, .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                Ok(Outcome::Refused { condition: 1, .. }) => return Ok(PassOutcome::Busy),
                Ok(_) => return Ok(PassOutcome::Gone),
                Err(error) if error.failure() == StoreFailure::Unknown => {
                    return match self.withdraw(version).await {
                        Withdrawal::Taken => Ok(PassOutcome::Done),
                        Withdrawal::NotTaken => Err(error),
                        Withdrawal::Unknown => Ok(PassOutcome::Unknown),
                    };
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes a POST back whose outcome is not known, unless the server that holds the pipe has taken it. This may take
    /// longer than an outage: until it is settled, the client must not be told to send the POST again.
    async fn withdraw(&self, version: Version) -> Withdrawal {
        let deadline = Instant::now() + SETTLING_TIME;
        // The server that took it may not know that it has. A fail-over must not lose what its client is told, so it is
        // recorded once more, and confirmed.
        let record_again =
            Step::new().when(Condition::HasVersion(taken_key(version), version)).then(record_taken(version));
        let withdraw = Step::new()
            .when(Condition::Absent(taken_key(version)))
            .when(Condition::HasVersion(POST, version))
            .then(Operation::Delete(POST));
        loop {
            let was_taken = self.node.store.run(&self.group, &record_again).await;
            if let Ok(Outcome::Done(_)) = was_taken {
                return Withdrawal::Taken;
            }
            if was_taken.is_ok() {
                match self.node.store.run(&self.group, &withdraw).await {
                    Ok(Outcome::Refused { condition: 0, .. }) | Err(_) => {}
                    Ok(_) => return Withdrawal::NotTaken,
                }
            }
            if Instant::now() >= deadline {
                return Withdrawal::Unknown;
            }
            tokio::time::sleep(MAX_PAUSE).await;
        }
    }

    /// Returns the POST that waits, if there is one.
    pub(in crate::server) async fn waiting_post(&self) -> Result<Option<(Version, Bytes)>> {
        let get = Operation::Get { key: POST, known: None };
        let Outcome::Done(mut answers) = self.node.store.run(&self.group, &Step::new().then(get)).await?
        else {
            return Ok(None);
        };
        Ok(match answers.pop() {
            Some(Answer::Value(Some(stored))) => Some((stored.version, stored.bytes.unwrap_or_default())),
            _ => None,
        })
    }

    /// Takes a POST. Returns `false` if it was withdrawn.
    pub(in crate::server) async fn take_post(&self, version: Version) -> Result<bool> {
        let step = Step::new().when(Condition::HasVersion(POST, version)).then(record_taken(version));
        Ok(matches!(self.node.store.run(&self.group, &step).await?, Outcome::Done(_)))
    }

    /// Makes room for the next POST.
    pub(in crate::server) async fn remove_post(&self, version: Version) -> Result<()> {
        let step = Step::new().when(Condition::HasVersion(POST, version)).then(Operation::Delete(POST));
        self.node.store.run(&self.group, &step).await.map(drop)
    }
}

/// The outcome of an attempt to take a POST back.
enum Withdrawal {
    Taken,
    NotTaken,
    Unknown,
}

/// Returns the operation that records that a POST was taken. It is the same each time.
fn record_taken(version: Version) -> Operation {
    Operation::Put { key: taken_key(version), value: Bytes::new(), version, ttl: POST_TTL }
}

fn taken_key(version: Version) -> Name {
    format!("taken/{:016x}", version.0).into()
}

/// The facts about a POST that decide about its rights.
#[derive(Debug)]
pub(in crate::server) struct PostHead {
    pub(in crate::server) headers: Arc<HeaderMap>,
    pub(in crate::server) query: String,
    pub(in crate::server) remote: Option<SocketAddr>,
    /// The principal that the web application has named.
    pub(in crate::server) principal: Option<Principal>,
}

/// The stored form of a head. The names and values of the headers are as in HTTP; each byte is one character.
#[derive(Serialize, Deserialize)]
struct StoredHead {
    headers: Vec<(String, String)>,
    query: String,
    remote: Option<SocketAddr>,
    principal: Option<String>,
}

impl PostHead {
    /// Returns the bytes that pass a POST on. The head is encrypted, because it may contain credentials. Returns `None` if
    /// the head is too long.
    pub(in crate::server) fn write(&self, server: &Server, pipe: &str, frame: &[u8]) -> Option<Bytes> {
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), value.as_bytes().iter().copied().map(char::from).collect())
        };
        let stored = StoredHead {
            headers: self.headers.iter().map(text).collect(),
            query: self.query.clone(),
            remote: self.remote,
            principal: self.principal.as_ref().map(|principal| principal.as_str().to_owned()),
        };
        let plain = serde_json::to_vec(&stored).ok().filter(|plain| SealKeys::fits(plain.len()))?;
        let sealed = server.inner.seal_keys.seal(&binding(server, pipe), &plain, u64::MAX);
        Some([sealed.as_bytes(), b"\n", frame].concat().into())
    }

    /// Reads a POST that another server has passed on. It expires by the clock of the store: this server's may be wrong, and
    /// the client was told that the POST was taken.
    pub(in crate::server) fn read(server: &Server, pipe: &str, post: &Bytes) -> Option<(Self, Bytes)> {
        let end = post.iter().position(|byte| *byte == b'\n')?;
        let sealed = std::str::from_utf8(&post[..end]).ok()?;
        let opened = server.inner.seal_keys.open(&binding(server, pipe), sealed, 0..u64::MAX).ok()?;
        let stored: StoredHead = serde_json::from_slice(&opened.plain).ok()?;
        let mut headers = HeaderMap::with_capacity(stored.headers.len());
        for (name, value) in &stored.headers {
            let value: Vec<u8> =
                value.chars().map(u8::try_from).collect::<std::result::Result<_, _>>().ok()?;
            headers.append(HeaderName::try_from(name.as_str()).ok()?, HeaderValue::try_from(value).ok()?);
        }
        let StoredHead { query, remote, principal, .. } = stored;
        let head =
            Self { headers: Arc::new(headers), query, remote, principal: principal.map(Principal::new) };
        Some((head, post.slice(end + 1..)))
    }
}

fn binding<'b>(server: &'b Server, pipe: &'b str) -> Binding<'b> {
    let server = &server.inner.info.name;
    Binding { principal: None, server, method: "POST", target: pipe, arguments: None }
}

/// Exists as long as the pipe is open.
const PIPE: Name = Name::Borrowed("pipe");
/// The POST that waits to be taken.
const POST: Name = Name::Borrowed("post");
/// How long a POST waits to be taken. The server that holds the pipe looks for it at least every 15 seconds, but may not be able
/// to take it while the store fails over again and again. A POST that was accepted must not be lost then.
const POST_TTL: Duration = Duration::from_secs(600);
/// How long to try to find out whether a POST was taken.
const SETTLING_TIME: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::ground::future::BoxFuture;
    use crate::store::{MemoryStore, Secret, Store, StoreError, Subscription};

    /// A store that does the first steps and does not confirm them. With the last of them it forgets them all, as by a
    /// fail-over.
    #[derive(Default)]
    struct Forgetful {
        memory: MemoryStore,
        unconfirmed: AtomicUsize,
        /// The store does the next change of a pipe, and is away then.
        away_after_put: AtomicBool,
        is_away: AtomicBool,
    }

    impl Store for Forgetful {
        fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
            Box::pin(async move {
                if self.is_away.load(Ordering::Relaxed) {
                    return Err(StoreError::new(StoreFailure::NotDone, "it is away"));
                }
                let outcome = self.memory.run(group, step).await;
                let writes =
                    step.operations.iter().any(|operation| matches!(operation, Operation::Put { .. }));
                if group.starts_with("i/") && writes && self.away_after_put.swap(false, Ordering::Relaxed) {
                    self.is_away.store(true, Ordering::Relaxed);
                    return Err(StoreError::new(StoreFailure::Unknown, "it is not confirmed"));
                }
                let one_less = |left: usize| left.checked_sub(1);
                let is_done = matches!(outcome, Ok(Outcome::Done(_)));
                if !group.starts_with("i/") || !writes || !is_done {
                    return outcome;
                }
                match self.unconfirmed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
                    Err(_) => return outcome,
                    Ok(1) => {
                        let mut forget = Step::new().then(Operation::Delete(POST));
                        for operation in &step.operations {
                            if let Operation::Put { key, .. } = operation {
                                forget = forget.then(Operation::Delete(key.clone()));
                            }
                        }
                        self.memory.run(group, &forget).await?;
                    }
                    Ok(_) => {}
                }
                // Others go on meanwhile.
                tokio::time::sleep(Duration::from_millis(10)).await;
                Err(StoreError::new(StoreFailure::Unknown, "it is not confirmed"))
            })
        }

        fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
            self.memory.publish(channel, message)
        }

        fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
            self.memory.subscribe(channel)
        }

        fn secret(&self) -> Secret {
            self.memory.secret()
        }
    }

    /// The POST and the record that it was taken are written, but not confirmed.
    #[tokio::test(start_paused = true)]
    async fn a_post_is_not_accepted_if_a_fail_over_has_lost_that_it_was_taken() {
        let store = Arc::new(Forgetful::default());
        let [holder, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        let groups = Groups::new(&store.secret());
        let id = new_pipe_id(Some(&holder));
        let pipe =
            |node: &Arc<Node>| SharedPipe::new(node.clone(), &groups, &id, None, Duration::from_secs(60));
        let (held, passing) = (pipe(&holder), pipe(&other));
        assert!(holder.is_store_reachable(&Arc::new(Silent)).await);
        held.publish().await.unwrap();
        store.unconfirmed.store(3, Ordering::Relaxed);
        let take = async {
            let (version, _) = loop {
                if let Some(waiting) = held.waiting_post().await.unwrap() {
                    break waiting;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            held.take_post(version).await.expect_err("it is not confirmed");
        };
        let pass_on = passing.pass_on("frame".into(), Duration::from_secs(10));
        let (passed, ()) = tokio::join!(pass_on, take);
        assert!(passed.is_err(), "its client has to send it again");
        assert!(held.waiting_post().await.unwrap().is_none());
    }

    /// A client that is told to send a POST again must not be served twice, however long the store is away.
    #[tokio::test(start_paused = true)]
    async fn a_post_that_is_refused_after_an_outage_is_not_taken() {
        let store = Arc::new(Forgetful::default());
        let [holder, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        let groups = Groups::new(&store.secret());
        let id = new_pipe_id(Some(&holder));
        let pipe =
            |node: &Arc<Node>| SharedPipe::new(node.clone(), &groups, &id, None, Duration::from_secs(60));
        let (held, passing) = (pipe(&holder), pipe(&other));
        assert!(holder.is_store_reachable(&Arc::new(Silent)).await);
        held.publish().await.unwrap();
        store.away_after_put.store(true, Ordering::Relaxed);
        let outage = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            store.is_away.store(false, Ordering::Relaxed);
        };
        let pass_on = passing.pass_on("frame".into(), Duration::from_secs(10));
        let (passed, ()) = tokio::join!(pass_on, outage);
        assert!(passed.is_err(), "its client has to send it again");
        assert!(held.waiting_post().await.unwrap().is_none());
    }

    struct Silent;

    impl super::super::node::NodeEvents for Silent {
        fn receive(&self, _message: NodeMessage) {}

        fn look(&self) {}

        fn look_everywhere(&self) {}

        fn nodes_died(&self) {}
    }
}
