//! How does a connection stay open, and when is it better not to try?
//!
//! A link has one connection, and a task that opens it again when it is lost. After several failures in a row the link
//! is closed for steps: they fail at once, until a probe has connected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use toolway_store::{Result, StoreError, StoreFailure};

use crate::backoff::Backoff;
use crate::connector::Opened;
use crate::locate::{Connected, Locator, Place};
use crate::task::Task;
use crate::url::Address;

/// One connection that is opened again when it is lost.
pub(crate) struct Link {
    state: watch::Receiver<LinkState>,
    signals: mpsc::Sender<Signal>,
    failures: Arc<AtomicU32>,
    losses: Arc<LinkLosses>,
    place: Place,
    _keeper: Task,
}

/// The connections of one link that were lost.
struct LinkLosses {
    /// One more than the number of the last lost connection.
    last: AtomicU64,
    /// The lost connections of all links.
    count: Arc<AtomicU64>,
}

impl LinkLosses {
    /// Notes that the connection with this number is lost, unless this is known.
    fn add(&self, number: u64) {
        if self.last.fetch_max(number + 1, Ordering::AcqRel) <= number {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Counters of the connections of all links of a store.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    pub(crate) opened: Arc<watch::Sender<u64>>,
    pub(crate) lost: Arc<AtomicU64>,
}

/// The states of a link.
#[derive(Clone)]
pub(crate) enum LinkState {
    /// Steps wait for the connection.
    Connecting,
    Up(Lease),
    /// Steps fail at once. The text says why.
    Closed(Arc<str>),
}

/// The connection of a link at the time of a step.
#[derive(Clone)]
pub(crate) struct Lease {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) address: Address,
    /// The epoch in which the Sentinels have named its server.
    epoch: u64,
    /// No other connection of this process has this number.
    pub(crate) number: u64,
}

/// Something that a step noticed about a connection.
struct Signal {
    connection: u64,
    kind: SignalKind,
}

#[derive(Clone, Copy)]
enum SignalKind {
    /// It is lost, or its server is not the primary any more.
    Lost,
    /// A step has waited for its reply until its time was over.
    Silent,
    /// The next step would have to wait behind one that was given up.
    Abandoned,
}

/// The reasons why a link gives up its connection.
#[derive(PartialEq)]
enum Ending {
    Closed,
    Lost,
    NoReply,
    NoReplies,
    Abandoned,
    Left,
}

impl Ending {
    fn reason(&self) -> &'static str {
        match self {
            Self::Closed => "the server has closed it",
            Self::Lost => "a step found it closed, or its server not the primary",
            Self::NoReply => "the server does not reply",
            Self::NoReplies => "several steps in a row had no reply",
            Self::Abandoned => "a step on it was given up",
            Self::Left => "the Sentinels name another primary",
        }
    }
}

impl Link {
    /// A link, and its task. `counters` count the connections, and `reached` those of the links to the same server.
    pub(crate) fn new(locator: Locator, counters: &Counters, reached: Arc<watch::Sender<u64>>) -> Self {
        let (sender, state) = watch::channel(LinkState::Connecting);
        let (signals, receiver) = mpsc::channel(SIGNALS);
        let failures = Arc::new(AtomicU32::new(0));
        let losses = Arc::new(LinkLosses { last: AtomicU64::new(0), count: counters.lost.clone() });
        let place = locator.place.clone();
        let keeper = Keeper {
            limit: locator.connector.timeout,
            locator,
            state: sender,
            signals: receiver,
            failures: failures.clone(),
            opened: counters.opened.clone(),
            reached,
            losses: losses.clone(),
        };
        Self { state, signals, failures, losses, place, _keeper: Task::spawn(keeper.run()) }
    }

    /// Waits for the connection until `deadline`. It is not the one with the number `lost`.
    pub(crate) async fn lease(&self, lost: Option<u64>, deadline: Instant) -> Result<Lease> {
        let mut state = self.state.clone();
        loop {
            match &*state.borrow_and_update() {
                LinkState::Up(lease) if lost == Some(lease.number) || self.has_left(lease) => {}
                LinkState::Up(lease) => return Ok(lease.clone()),
                LinkState::Closed(why) => {
                    return Err(not_done(format!("Redis has failed several times in a row: {why}")));
                }
                LinkState::Connecting => {}
            }
            match tokio::time::timeout_at(deadline, state.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(not_done("the connection to Redis is closed")),
                Err(_) => return Err(not_done("there is no connection to Redis yet")),
            }
        }
    }

    /// Returns whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        matches!(&*self.state.borrow(), LinkState::Up(lease) if !self.has_left(lease))
    }

    /// Returns whether the server of a connection is a former primary.
    pub(crate) fn has_left(&self, lease: &Lease) -> bool {
        self.place.has_left(&lease.address, lease.epoch)
    }

    /// Returns the changes of the state.
    pub(crate) fn states(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }

    /// Notes that a step had a reply.
    pub(crate) fn succeeded(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that a connection is lost, or that its server is not the primary any more.
    pub(crate) fn lost(&self, lease: &Lease) {
        self.losses.add(lease.number);
        self.signal(lease, SignalKind::Lost);
    }

    /// Closes a connection, because its step was given up.
    pub(crate) fn abandon(&self, lease: &Lease) {
        self.signal(lease, SignalKind::Abandoned);
    }

    /// Notes that a step had no reply in time.
    pub(crate) fn silent(&self, lease: &Lease) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.signal(lease, SignalKind::Silent);
    }

    fn signal(&self, lease: &Lease, kind: SignalKind) {
        // A full queue has the same signal in it many times already.
        _ = self.signals.try_send(Signal { connection: lease.number, kind });
    }
}

impl LinkState {
    pub(crate) fn address(&self) -> Option<&Address> {
        match self {
            Self::Up(lease) => Some(&lease.address),
            _ => None,
        }
    }
}

struct Keeper {
    locator: Locator,
    limit: Duration,
    state: watch::Sender<LinkState>,
    signals: mpsc::Receiver<Signal>,
    failures: Arc<AtomicU32>,
    opened: Arc<watch::Sender<u64>>,
    reached: Arc<watch::Sender<u64>>,
    losses: Arc<LinkLosses>,
}

impl Keeper {
    async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            // A fail-over while it connects is noticed, and so is another link that succeeds.
            let epoch = self.locator.place.epoch();
            let mut reached = self.reached.subscribe();
            let connected = self.locator.connect().await;
            let is_refused = connected.is_err();
            let why = match connected {
                Ok(connected) => {
                    let server = connected.address.clone();
                    tracing::debug!(%server, "connected to Redis");
                    let why = self.hold(connected).await;
                    tracing::warn!(%server, reason = why, "lost the connection to Redis");
                    backoff = Backoff::default();
                    Arc::from(why)
                }
                Err(error) => {
                    tracing::debug!(%error, "could not connect to Redis");
                    Arc::from(error.to_string())
                }
            };
            let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            let pause = if failures >= FAILURES_IN_A_ROW {
                if self.state.send_replace(LinkState::Closed(Arc::clone(&why))).is_not_closed() {
                    tracing::warn!(failures, reason = &*why, "Redis is not used until a probe has connected");
                }
                backoff.next_probe()
            } else {
                self.state.send_replace(LinkState::Connecting);
                backoff.next_attempt()
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = reached.changed(), if is_refused => {}
                () = self.locator.place.advanced(epoch) => {}
            }
        }
    }

    /// Offers a connection to the steps until it is lost, and returns why it is.
    async fn hold(&mut self, connected: Connected) -> &'static str {
        let Connected { address, epoch, opened: Opened { connection, mut pushes } } = connected;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        // One more failure closes a link that was closed before.
        self.failures.fetch_min(FAILURES_IN_A_ROW - 1, Ordering::Relaxed);
        let lease = Lease { connection, address, epoch, number };
        self.state.send_replace(LinkState::Up(lease.clone()));
        self.opened.send_modify(|count| *count += 1);
        self.reached.send_modify(|count| *count += 1);
        let ending = self.watch(&lease, &mut pushes).await;
        if ending != Ending::Abandoned {
            self.losses.add(number);
        }
        ending.reason()
    }

    /// Waits for the end of a connection.
    async fn watch(&mut self, lease: &Lease, pushes: &mut mpsc::UnboundedReceiver<PushInfo>) -> Ending {
        loop {
            tokio::select! {
                () = self.locator.place.left(&lease.address, lease.epoch) => return Ending::Left,
                push = pushes.recv() => match push {
                    Some(push) if push.kind != PushKind::Disconnection => {}
                    _ => return Ending::Closed,
                },
                Some(signal) = self.signals.recv() => {
                    if signal.connection != lease.number {
                        continue;
                    }
                    match signal.kind {
                        SignalKind::Lost => return Ending::Lost,
                        SignalKind::Abandoned => return Ending::Abandoned,
                        SignalKind::Silent if self.failures.load(Ordering::Relaxed) >= FAILURES_IN_A_ROW => {
                            return Ending::NoReplies;
                        }
                        SignalKind::Silent => {
                            let mut probe = lease.connection.clone();
                            let ping = redis::cmd("PING");
                            let reply = probe.send_packed_command(&ping);
                            if !matches!(tokio::time::timeout(self.limit, reply).await, Ok(Ok(_))) {
                                return Ending::NoReply;
                            }
                        }
                    }
                }
            }
        }
    }
}

impl LinkState {
    fn is_not_closed(&self) -> bool {
        !matches!(self, Self::Closed(_))
    }
}

pub(crate) fn not_done(message: impl Into<String>) -> StoreError {
    StoreError::new(StoreFailure::NotDone, message)
}

/// The number of failures after which a link is closed.
const FAILURES_IN_A_ROW: u32 = 5;
const SIGNALS: usize = 64;
/// The number of the next connection.
static NUMBERS: AtomicU64 = AtomicU64::new(0);
