//! How often is a step sent, and what does the caller hear?

use std::time::Duration;

use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use toolway_store::{Result, StoreError, StoreFailure};

use crate::backoff::draw;
use crate::durability::Durability;
use crate::encode::Call;
use crate::link::{Lease, Link, not_done};
use crate::refusal::{Refusal, Remedy};
use crate::servers::Servers;
use crate::url::Address;

/// Sends commands to the servers of a store.
pub(crate) struct Visitor {
    servers: Servers,
    timeout: Duration,
    durability: Durability,
    script_hash: String,
    in_flight: Semaphore,
}

/// Something to send.
pub(crate) struct Request<'r> {
    pub(crate) group: &'r str,
    pub(crate) work: Work<'r>,
    /// Sent again if its outcome is not known.
    pub(crate) is_repeatable: bool,
    /// Done only when it is as durable as the store promises.
    pub(crate) is_confirmed: bool,
}

pub(crate) enum Work<'r> {
    Script(&'r Call<'r>),
    Command(&'r Cmd),
}

/// The reply to a request.
pub(crate) struct Reply {
    pub(crate) value: Value,
    /// `true` if the request was sent before with an unknown outcome, so that it may have been done twice.
    pub(crate) is_repeat: bool,
}

/// A failed attempt.
enum Failure {
    /// It was not sent.
    NotSent(StoreError),
    /// Its outcome is not known. The text says why.
    Lost(String),
    Refused(Refusal),
}

impl Visitor {
    pub(crate) fn new(servers: Servers, timeout: Duration, durability: Durability) -> Self {
        let script_hash = redis::Script::new(SCRIPT).get_hash().to_owned();
        Self { servers, timeout, durability, script_hash, in_flight: Semaphore::new(MOST_IN_FLIGHT) }
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Sends a request until it has a reply, its time is over, or sending it again could do harm.
    pub(crate) async fn visit(&self, request: Request<'_>) -> Result<Reply> {
        let Ok(_permit) = self.in_flight.try_acquire() else {
            return Err(not_done(format!("{MOST_IN_FLIGHT} commands are on their way to Redis already")));
        };
        let deadline = Instant::now() + self.timeout;
        let mut lost = None;
        let mut asked = None;
        let mut lost_connection = None;
        loop {
            let attempt = self.attempt(&request, asked.take(), &mut lost_connection, deadline);
            let failure = match attempt.await {
                Ok(value) => return Ok(Reply { value, is_repeat: lost.is_some() }),
                Err(failure) => failure,
            };
            let error = match failure {
                Failure::NotSent(error) => {
                    self.servers.doubt();
                    return Err(lost.map_or(error, unknown));
                }
                Failure::Lost(why) => {
                    self.servers.doubt();
                    if !request.is_repeatable {
                        return Err(unknown(why));
                    }
                    lost = Some(why.clone());
                    unknown(why)
                }
                Failure::Refused(refusal) => {
                    match &refusal.remedy {
                        Remedy::Fail(kind) => {
                            let error = refusal.error(*kind);
                            return Err(lost.map_or(error, unknown));
                        }
                        Remedy::Moved(address) => self.servers.moved(request.group, address),
                        Remedy::Ask(address) => asked = Some(address.clone()),
                        _ => self.servers.doubt(),
                    }
                    refusal.error(StoreFailure::NotDone)
                }
            };
            // A redirected step goes on at once; everything else needs a moment.
            let pause = if asked.is_some() { Duration::ZERO } else { draw(SHORTEST_PAUSE, LONGEST_PAUSE) };
            if Instant::now() + pause + self.reserve() >= deadline {
                return Err(lost.map_or(error, unknown));
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns the time that an attempt must have. With less, its outcome would often be unknown.
    fn reserve(&self) -> Duration {
        self.timeout / 5
    }

    async fn attempt(
        &self,
        request: &Request<'_>,
        asked: Option<Address>,
        lost_connection: &mut Option<u64>,
        deadline: Instant,
    ) -> Result<Value, Failure> {
        let named = asked.as_ref().and_then(|address| self.servers.node_at(address));
        let node = match named {
            Some(node) => node,
            None => self.servers.node_of(request.group, deadline).await.map_err(Failure::NotSent)?,
        };
        let (link, _turn) = node.link(request.is_confirmed, deadline).await.map_err(Failure::NotSent)?;
        let lease = link.lease(*lost_connection, deadline).await.map_err(Failure::NotSent)?;
        if deadline.saturating_duration_since(Instant::now()) < self.reserve() {
            return Err(Failure::NotSent(not_done("the connection to Redis came too late")));
        }
        let mut connection = lease.connection.clone();
        let first = match request.work {
            Work::Script(call) => call.command("EVALSHA", &self.script_hash),
            Work::Command(command) => command.clone(),
        };
        let exchange = async {
            let is_asked = asked.is_some();
            let refusal =
                match self.exchange(&mut connection, first, is_asked, request.is_confirmed, deadline).await {
                    Err(Failure::Refused(refusal)) => refusal,
                    other => return other,
                };
            match request.work {
                Work::Script(call) if refusal.remedy == Remedy::SendScript => {
                    let second = call.command("EVAL", SCRIPT);
                    self.exchange(&mut connection, second, is_asked, request.is_confirmed, deadline).await
                }
                _ => Err(Failure::Refused(refusal)),
            }
        };
        let abandoned = request.is_confirmed.then(|| Abandoned { link, lease: &lease });
        let outcome = tokio::time::timeout_at(deadline, exchange).await;
        abandoned.into_iter().for_each(Abandoned::settle);
        match outcome {
            Ok(Err(Failure::Lost(why))) => {
                *lost_connection = Some(lease.number);
                link.lost(&lease);
                Err(Failure::Lost(why))
            }
            // What a former primary has done is lost, although it lives.
            Ok(Ok(_)) if link.has_left(&lease) => {
                *lost_connection = Some(lease.number);
                link.lost(&lease);
                Err(Failure::Lost(format!("{} is not the primary any more", lease.address)))
            }
            Ok(result) => {
                link.succeeded();
                match result {
                    Err(Failure::Refused(refusal)) if refusal.remedy == Remedy::FindPrimary => {
                        *lost_connection = Some(lease.number);
                        link.lost(&lease);
                        Err(Failure::Refused(refusal))
                    }
                    Err(Failure::Refused(refusal)) if refusal.remedy == Remedy::Doubt => {
                        Err(Failure::Lost(refusal.message()))
                    }
                    other => self.confirm(request, other?),
                }
            }
            Err(_) => {
                link.silent(&lease);
                Err(Failure::Lost(format!("{} has not replied within {:?}", lease.address, self.timeout)))
            }
        }
    }

    /// Sends a command, with what must go before and after it, and returns the replies to it and to what went after it.
    async fn exchange(
        &self,
        connection: &mut redis::aio::MultiplexedConnection,
        command: Cmd,
        is_asked: bool,
        is_confirmed: bool,
        deadline: Instant,
    ) -> Result<(Value, Option<Value>), Failure> {
        let wait = if is_confirmed { self.wait(deadline) } else { None };
        if wait.is_none() && !is_asked {
            let reply = connection.send_packed_command(&command).await.and_then(Value::extract_error);
            return Ok((reply.map_err(failure)?, None));
        }
        let mut pipeline = Pipeline::new();
        if is_asked {
            pipeline.add_command(redis::cmd("ASKING"));
        }
        pipeline.add_command(command);
        let is_waiting = wait.is_some();
        if let Some(wait) = wait {
            pipeline.add_command(wait);
        }
        let count = usize::from(is_asked) + 1 + usize::from(is_waiting);
        let mut replies = connection.send_packed_commands(&pipeline, 0, count).await.map_err(failure)?;
        let mut replies = replies.drain(usize::from(is_asked)..);
        let reply = replies.next().unwrap_or_default().extract_error().map_err(failure)?;
        Ok((reply, replies.next()))
    }

    /// Returns the command that waits until what was written is as durable as the store promises.
    fn wait(&self, deadline: Instant) -> Option<Cmd> {
        // It must reply before the time of the step is over.
        let left = deadline.saturating_duration_since(Instant::now()) * 9 / 10;
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
        match self.durability {
            Durability::Written => None,
            Durability::Replicated(replicas) => Some(redis::cmd("WAIT").arg(replicas).arg(left).take()),
            Durability::Synced(replicas) => Some(redis::cmd("WAITAOF").arg(1).arg(replicas).arg(left).take()),
        }
    }

    /// Returns the reply, if it is as durable as the store promises.
    fn confirm(
        &self,
        request: &Request<'_>,
        (reply, waited): (Value, Option<Value>),
    ) -> Result<Value, Failure> {
        // A step that was refused has nothing to lose.
        let is_done = match (&request.work, &reply) {
            (Work::Script(_), Value::Array(parts)) => parts.first() == Some(&Value::Int(0)),
            _ => true,
        };
        let Some(waited) = waited.filter(|_| is_done) else { return Ok(reply) };
        let is_enough =
            |count: &Value, needed: u32| matches!(count, Value::Int(count) if *count >= i64::from(needed));
        let is_confirmed = match (self.durability, &waited) {
            (Durability::Written, _) => true,
            (Durability::Replicated(replicas), count) => is_enough(count, replicas),
            (Durability::Synced(replicas), Value::Array(counts)) => {
                matches!(&counts[..], [here, there] if is_enough(here, 1) && is_enough(there, replicas))
            }
            _ => false,
        };
        if is_confirmed {
            return Ok(reply);
        }
        Err(Failure::Lost(format!(
            "it was written, but not confirmed as {:?} in time: Redis said {waited:?}",
            self.durability
        )))
    }
}

/// A step on a connection of its own. If its caller drops it, the connection is closed, because the next step would have to
/// wait behind it.
struct Abandoned<'l> {
    link: &'l Link,
    lease: &'l Lease,
}

impl Abandoned<'_> {
    /// Notes that the caller has waited for the outcome.
    fn settle(self) {
        std::mem::forget(self);
    }
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.link.abandon(self.lease);
    }
}

fn failure(error: RedisError) -> Failure {
    match Refusal::new(error) {
        Ok(refusal) => Failure::Refused(refusal),
        Err(error) => Failure::Lost(format!("the connection to Redis was lost: {error}")),
    }
}

fn unknown(why: String) -> StoreError {
    StoreError::new(StoreFailure::Unknown, why)
}

/// The script that does a step.
const SCRIPT: &str = include_str!("step.lua");
/// The largest number of requests at the same time.
const MOST_IN_FLIGHT: usize = 4096;
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
