//! How much may all peers of a server use together, and how much may one of them?
//!
//! A transport makes a [`Charge`] before it takes something that is limited: a running request, an open stream, bytes in
//! memory. The charge counts twice, for the server in its [`Ledger`] and for the peer in its [`Account`], until it is
//! dropped. Every request makes charges, so they take no lock; only finding the account of a peer does.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::ground::mutex::Mutex;
use crate::ground::peer_map::PeerMap;

/// A limited resource. Requests, streams, connections and sessions are counted, the others are measured in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Requests that run, or whose replies are not sent yet.
    Requests,
    /// The bodies of requests that are being received or processed.
    Bodies,
    /// Replies, notifications included, that are not sent yet.
    Replies,
    /// Answers and events that are kept for clients that reconnect.
    Kept,
    /// Notification streams.
    Streams,
    /// Connections to the server's own socket.
    Connections,
    /// Sessions.
    Sessions,
}

const RESOURCES: usize = 7;

/// The shortest time between two warnings about refusals.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

impl Resource {
    /// Returns whether the resource is counted, not measured in bytes.
    fn is_counted(self) -> bool {
        matches!(self, Self::Requests | Self::Streams | Self::Connections | Self::Sessions)
    }

    /// Returns what the resource is called in the log, what happens beyond the limit, and the setting for the limit.
    fn description(self) -> (&'static str, &'static str, &'static str) {
        let refused = "more is refused";
        match self {
            Self::Requests => ("running requests", refused, "max_in_flight"),
            Self::Bodies => ("bytes of request bodies", refused, "body_budget"),
            Self::Replies => ("bytes of unsent replies", refused, "reply_budget"),
            Self::Kept => {
                ("bytes of kept answers and events", "the oldest streams are forgotten", "kept_budget")
            }
            Self::Streams => ("open streams", refused, "max_streams"),
            Self::Connections => ("open connections", refused, "max_connections"),
            Self::Sessions => ("open sessions", refused, "max_sessions"),
        }
    }
}

/// How much of one resource may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// How much all peers may use together.
    pub(crate) total: usize,
    /// How much one peer may use.
    pub(crate) share: usize,
}

impl Budget {
    /// Creates a budget of which one peer may use a quarter.
    pub(crate) const fn new(total: usize) -> Self {
        Self { total, share: if total < 4 { 1 } else { total / 4 } }
    }
}

/// The budgets that apply on every transport.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budgets {
    pub(crate) requests: Budget,
    pub(crate) bodies: Budget,
    pub(crate) replies: Budget,
    pub(crate) kept: Budget,
}

/// The sums of what the peers of a server use.
pub(crate) struct Ledger {
    budgets: Budgets,
    used: [AtomicUsize; RESOURCES],
    refused: [AtomicU64; RESOURCES],
    /// The accounts of the named peers that use something.
    pub(super) peers: PeerMap<Account>,
    last_warning: Mutex<Option<Instant>>,
}

impl Ledger {
    pub(crate) fn new(budgets: Budgets) -> Arc<Self> {
        Arc::new(Self {
            budgets,
            used: Default::default(),
            refused: Default::default(),
            peers: PeerMap::default(),
            last_warning: Mutex::default(),
        })
    }

    /// Creates the account of a pipe. A pipe has a share of what is counted, and all of the bytes: usually it is the
    /// only peer of its process.
    pub(crate) fn pipe_account(self: &Arc<Self>) -> Arc<Account> {
        Account::new(self, Shares { counted: true, bytes: false }, Identity::default())
    }

    /// Creates an account of callers that cannot be told apart, which have no shares.
    pub(crate) fn common_account(self: &Arc<Self>) -> Arc<Account> {
        Account::new(self, Shares::default(), Identity::default())
    }

    /// Returns how much of a resource is used.
    pub(crate) fn used(&self, resource: Resource) -> usize {
        self.used[resource as usize].load(Ordering::Relaxed)
    }

    /// Returns how often a resource was refused.
    pub(crate) fn refused(&self, resource: Resource) -> u64 {
        self.refused[resource as usize].load(Ordering::Relaxed)
    }

    fn budget(&self, resource: Resource) -> Budget {
        match resource {
            Resource::Requests => self.budgets.requests,
            Resource::Bodies => self.budgets.bodies,
            Resource::Replies => self.budgets.replies,
            Resource::Kept => self.budgets.kept,
            // The HTTP service has these budgets; see `Account::charge_within`.
            Resource::Streams | Resource::Connections | Resource::Sessions => {
                Budget { total: usize::MAX, share: usize::MAX }
            }
        }
    }

    /// Counts a refusal, and writes a warning at most once per second. `account` is given if its share is used up.
    #[cold]
    fn refuse(&self, resource: Resource, account: Option<&Account>) -> Exhausted {
        self.refused[resource as usize].fetch_add(1, Ordering::Relaxed);
        let reason = if account.is_some() { Exhausted::Share } else { Exhausted::Total };
        let now = Instant::now();
        {
            let mut last = self.last_warning.lock();
            if last.is_some_and(|last| now.duration_since(last) < WARNING_INTERVAL) {
                return reason;
            }
            *last = Some(now);
        }
        let (what, consequence, setting) = resource.description();
        let refused = self.refused(resource);
        match account.map(|account| account.identity.address) {
            Some(Some(address)) => tracing::warn!(
                %address,
                refused,
                "one address uses its whole share of the {what}, and {consequence}: if it is a proxy, name it in `trusted_proxies`; otherwise `{setting}` sets the share"
            ),
            Some(None) => tracing::warn!(
                refused,
                "one peer uses its whole share of the {what}, and {consequence}: `{setting}` sets the share"
            ),
            None => tracing::warn!(
                refused,
                "the limit on the {what} is reached, and {consequence}: `{setting}` sets the limit"
            ),
        }
        reason
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("budgets", &self.budgets)
            .field("used", &self.used)
            .field("peers", &self.peers)
            .finish_non_exhaustive()
    }
}

/// Which shares limit an account, besides the totals of the server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shares {
    /// Those of the resources that are counted.
    pub(super) counted: bool,
    /// Those of the resources that are measured in bytes.
    pub(super) bytes: bool,
}

/// How a peer is recognized.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity {
    /// `true` if the peer has a name, by which it is recognized in all its requests.
    pub(super) is_named: bool,
    /// The address, if the name is an address.
    pub(super) address: Option<IpAddr>,
}

/// The sums of what one peer uses.
pub(crate) struct Account {
    pub(crate) ledger: Arc<Ledger>,
    shares: Shares,
    pub(super) identity: Identity,
    used: [AtomicUsize; RESOURCES],
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("identity", &self.identity)
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// The peer uses its whole share.
    Share,
    /// All peers together use the total.
    Total,
}

impl Account {
    pub(super) fn new(ledger: &Arc<Ledger>, shares: Shares, identity: Identity) -> Arc<Self> {
        Arc::new(Self { ledger: ledger.clone(), shares, identity, used: Default::default() })
    }

    /// Returns whether the peer is recognized in all its requests.
    pub(crate) fn is_named(&self) -> bool {
        self.identity.is_named
    }

    /// Charges an amount of a resource that is limited on every transport.
    pub(crate) fn charge(self: &Arc<Self>, resource: Resource, amount: usize) -> Result<Charge, Exhausted> {
        self.charge_within(self.ledger.budget(resource), resource, amount)
    }

    /// Charges an amount of a resource within a budget.
    pub(crate) fn charge_within(
        self: &Arc<Self>,
        budget: Budget,
        resource: Resource,
        amount: usize,
    ) -> Result<Charge, Exhausted> {
        self.add(budget, resource, amount, 0)?;
        Ok(Charge { account: self.clone(), resource, amount })
    }

    /// Adds an amount to what is used, for an item of which `held` is counted already. A single item that has more bytes
    /// than the share or the total is allowed if nothing else is used.
    fn add(&self, budget: Budget, resource: Resource, amount: usize, held: usize) -> Result<(), Exhausted> {
        let has_share = if resource.is_counted() { self.shares.counted } else { self.shares.bytes };
        let needs_room = |before: usize| before > held || resource.is_counted();
        let (mine, all) = (&self.used[resource as usize], &self.ledger.used[resource as usize]);
        let before = mine.fetch_add(amount, Ordering::Relaxed);
        if has_share && needs_room(before) && before + amount > budget.share {
            mine.fetch_sub(amount, Ordering::Relaxed);
            return Err(self.ledger.refuse(resource, Some(self)));
        }
        let before = all.fetch_add(amount, Ordering::Relaxed);
        if needs_room(before) && before + amount > budget.total {
            all.fetch_sub(amount, Ordering::Relaxed);
            mine.fetch_sub(amount, Ordering::Relaxed);
            return Err(self.ledger.refuse(resource, None));
        }
        Ok(())
    }

    fn subtract(&self, resource: Resource, amount: usize) {
        self.used[resource as usize].fetch_sub(amount, Ordering::Relaxed);
        self.ledger.used[resource as usize].fetch_sub(amount, Ordering::Relaxed);
    }
}

/// An amount of a resource that a peer uses. Dropping the charge returns it.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    resource: Resource,
    pub(super) amount: usize,
}

impl Charge {
    /// Adds another charge of the same peer and resource to this one.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.amount += std::mem::take(&mut other.amount);
    }

    /// Changes the amount for several items together. If it cannot grow, it stays as it is.
    pub(crate) fn resize(&mut self, amount: usize) -> Result<(), Exhausted> {
        self.change(amount, 0)
    }

    pub(super) fn change(&mut self, amount: usize, held: usize) -> Result<(), Exhausted> {
        if amount > self.amount {
            let budget = self.account.ledger.budget(self.resource);
            self.account.add(budget, self.resource, amount - self.amount, held)?;
        } else {
            self.account.subtract(self.resource, self.amount - amount);
        }
        self.amount = amount;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.subtract(self.resource, self.amount);
    }
}
