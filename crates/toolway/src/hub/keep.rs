//! Who looks after a server? A task: it connects, reads the lists, hears of changes, and begins again when the server is gone.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::Shared;
use super::breaker::Guarded;
use super::lists::{ALL, Lists};
use super::member::{Member, Refresh};
use crate::client::calls::watch::Heard;
use crate::client::{Client, ClientBuilder, Target, Watch};
use crate::error::{Chain, Error, Result};

/// Looks after one server, until it is aborted.
pub(super) struct Keeper {
    pub(super) hub: Arc<Shared>,
    pub(super) member: Arc<Member>,
    pub(super) target: Target,
    pub(super) builder: ClientBuilder,
    pub(super) orders: mpsc::Receiver<Refresh>,
    /// Those who wait until everything was read again.
    pub(super) waiting: Vec<Refresh>,
}

/// Why a server is not looked at any more as it was.
enum Ended {
    /// It may be gone; this is why, if that is known.
    Lost(Option<Error>),
    /// Somebody has closed the client.
    Closed,
}

impl Keeper {
    pub(super) async fn run(mut self) {
        loop {
            let client = self.connect().await;
            self.hub.connected(&self.member, &client);
            self.attend(&client).await;
            tracing::debug!(server = &*self.member.name, "the client was closed; the hub connects again");
        }
    }

    /// Connects for the first time, as often as it takes.
    async fn connect(&mut self) -> Client {
        loop {
            let guarded = Guarded { target: self.target.clone(), breaker: self.member.breaker.clone() };
            match self.builder.clone().connect(Target::new(guarded)).await {
                Ok(client) => return client,
                Err(error) => self.failed(error),
            }
            self.pause(std::future::pending()).await;
        }
    }

    /// Looks after a server that was connected once, until its client is closed.
    async fn attend(&mut self, client: &Client) {
        let mut openings = client.openings();
        loop {
            let counted = self.member.breaker.counted();
            match self.begin(client, &mut openings).await {
                Ok((watch, lists)) => match self.tend(client, &mut openings, watch, lists).await {
                    Ended::Closed => return,
                    // There may be another connection already.
                    Ended::Lost(None) if client.is_connected() => {}
                    Ended::Lost(error) => {
                        let error = error.unwrap_or_else(|| client.loss());
                        tracing::info!(server = &*self.member.name, error = %Chain(&error), "a server is gone");
                        self.hub.unavailable(&self.member, error);
                    }
                },
                Err(_) if client.is_closed() => return,
                Err(error) => {
                    openings.borrow_and_update();
                    self.failed(error);
                }
            }
            // Where no connection had to be opened, nobody else has counted it.
            if self.member.breaker.counted() == counted {
                self.member.breaker.count();
            }
            let member = self.member.clone();
            let reached = async {
                tokio::select! {
                    _ = openings.changed() => {}
                    () = member.reached.notified() => {}
                }
            };
            self.pause(reached).await;
        }
    }

    fn failed(&mut self, error: Error) {
        tracing::debug!(server = &*self.member.name, error = %Chain(&error), "a server is unavailable");
        self.hub.unavailable(&self.member, error);
        self.answer();
    }

    /// Tells those who wait that everything was tried.
    fn answer(&mut self) {
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(());
        }
    }

    /// Waits until the server may be tried again, somebody wants it to be, or a call has reached it.
    async fn pause(&mut self, reached: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = reached => {}
            Some(refresh) = self.orders.recv() => {
                self.member.breaker.reset();
                self.waiting.push(refresh);
            }
            () = sleep_until(self.member.breaker.next()) => {}
        }
    }

    /// Begins to hear of changes, and reads everything.
    async fn begin(&mut self, client: &Client, openings: &mut Openings) -> Result<(Option<Watch>, Lists)> {
        const NONE: [&str; 0] = [];
        let watch = match timeout(MAX_WATCHING, client.watch(NONE)).await {
            Ok(Ok(watch)) => Some(watch),
            // It does not want to tell, or does not say whether it does.
            Ok(Err(error)) if error.rpc().is_some() => None,
            Err(_) => None,
            Ok(Err(error)) => return Err(error),
        };
        openings.borrow_and_update();
        client.forget_tools();
        let mut lists = self.member.lists();
        lists.read_all(client).await?;
        self.hub.ready(&self.member, lists.clone());
        self.answer();
        Ok((watch, lists))
    }

    /// Keeps the lists true, as long as the server is there.
    async fn tend(
        &mut self,
        client: &Client,
        openings: &mut Openings,
        mut watch: Option<Watch>,
        mut lists: Lists,
    ) -> Ended {
        let mut polite = Instant::now() + MIN_BETWEEN;
        loop {
            let untold: Vec<_> = ALL
                .into_iter()
                .filter(|list| watch.as_ref().is_none_or(|watch| !watch.tells_of(list)))
                .collect();
            let due = untold.iter().filter_map(|list| lists.due(list)).min();
            let is_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let heard = async {
                match &mut watch {
                    Some(watch) => watch.next_or_lost().await,
                    None => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                biased;
                _ = openings.changed() => return Ended::Lost(None),
                () = client.lost() => return Ended::Lost(None),
                heard = heard => match heard {
                    Heard::Lost => return Ended::Lost(None),
                    Heard::Over => return Ended::Closed,
                    Heard::Changed(list) => {
                        sleep_until(polite).await;
                        polite = Instant::now() + MIN_BETWEEN;
                        lists.read(client, &list).await
                    }
                },
                () = self.member.look.notified() => match client.probe(MAX_PROBE).await {
                    Err(error) if error.rpc().is_none() => Err(error),
                    _ => continue,
                },
                Some(refresh) = self.orders.recv() => {
                    self.waiting.push(refresh);
                    client.forget_tools();
                    lists.read_all(client).await
                }
                () = is_due => {
                    let now = Instant::now();
                    let mut outcome = Ok(());
                    for list in untold {
                        if lists.due(&list).is_some_and(|due| due <= now) {
                            outcome = outcome.and(lists.read(client, &list).await);
                        }
                    }
                    outcome
                }
            };
            match outcome {
                Ok(()) => {
                    self.hub.ready(&self.member, lists.clone());
                    self.answer();
                }
                Err(_) if client.is_closed() => return Ended::Closed,
                Err(error) => return Ended::Lost(Some(error)),
            }
        }
    }
}

/// Tells when a conversation is opened again.
type Openings = tokio::sync::watch::Receiver<u64>;

/// How long a server may take to say that it will tell of changes. Without it, the hub goes on without.
const MAX_WATCHING: Duration = Duration::from_secs(5);

/// How long a server may take to say that it is there, when somebody doubts it.
const MAX_PROBE: Duration = Duration::from_secs(10);

/// The least time between two readings of a list because the server says that it has changed.
const MIN_BETWEEN: Duration = Duration::from_millis(100);
