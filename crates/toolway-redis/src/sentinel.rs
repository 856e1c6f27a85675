//! Which server do the Sentinels name as the primary?
//!
//! Sentinels learn of a fail-over one after the other, and the former primary may live on for a while and take itself for
//! the primary. So the answers of Sentinels are compared by their epoch, which grows with each fail-over. All connections
//! go to the primary of the highest epoch, and leave it when a Sentinel names another one in a higher epoch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::{PushKind, Value};
use tokio::sync::watch;

use crate::backoff::{Backoff, shuffled};
use crate::connector::{Connector, OpenCause, OpenError, Opened};
use crate::task::Task;
use crate::url::Address;

/// The Sentinels of a primary, and what they said.
pub(crate) struct Sentinels {
    addresses: Vec<Address>,
    /// The name of the primary.
    name: String,
    connector: Connector,
    latest: watch::Sender<Option<Named>>,
    /// Counts how often another server became the primary, which may lack changes that were confirmed.
    losses: Arc<AtomicU64>,
}

/// A server that a Sentinel names as the primary.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    address: Address,
    epoch: u64,
}

/// A server to connect to.
pub(crate) struct Primary {
    pub(crate) address: Address,
    /// The epoch in which it was named.
    pub(crate) epoch: u64,
    /// All Sentinels that could be asked now name a former primary.
    is_contradicted: bool,
}

impl Sentinels {
    pub(crate) fn new(
        addresses: Vec<Address>,
        name: String,
        connector: Connector,
        losses: Arc<AtomicU64>,
    ) -> Arc<Self> {
        Arc::new(Self { addresses, name, connector, latest: watch::Sender::new(None), losses })
    }

    /// Asks the Sentinels for the primary. If all that answer have missed a fail-over, returns the primary that is known.
    pub(crate) async fn primary(&self) -> Result<Primary, OpenError> {
        let failures = match self.ask_all().await {
            Ok(Named { address, epoch }) => return Ok(Primary { address, epoch, is_contradicted: false }),
            Err(failures) => failures,
        };
        if let Some(Named { address, epoch }) = self.latest.borrow().clone() {
            return Ok(Primary { address, epoch, is_contradicted: failures.is_contradicted });
        }
        let cause = OpenCause::UnknownPrimary(failures.texts.join("; "));
        Err(OpenError { address: None, cause: Arc::new(cause) })
    }

    /// Notes that there was no connection to a primary. Sentinels that were set up anew count their epochs from the
    /// beginning: they are believed when the primary that is known is gone.
    pub(crate) fn unreachable(&self, primary: &Primary) {
        if primary.is_contradicted {
            let is_same =
                |latest: &mut Named| (&latest.address, latest.epoch) == (&primary.address, primary.epoch);
            self.latest.send_if_modified(|latest| latest.take_if(is_same).is_some());
        }
    }

    /// Returns the answer of the first Sentinel that has not missed a fail-over, or why there is none.
    async fn ask_all(&self) -> Result<Named, Failures> {
        let mut failures = Failures::default();
        for sentinel in shuffled(self.addresses.clone()) {
            let answer = match self.connector.open(&sentinel).await {
                Ok(mut opened) => self.ask(&mut opened).await,
                Err(error) => {
                    failures.texts.push(error.to_string());
                    continue;
                }
            };
            failures.is_contradicted |= matches!(answer, Ok(Answer::Former));
            failures.texts.push(match answer {
                Ok(Answer::Primary(named)) => return Ok(named),
                Ok(Answer::Former) => format!("{sentinel}: it has missed a fail-over"),
                Ok(Answer::UnknownName) => format!("{sentinel}: it watches no primary of this name"),
                Err(cause) => format!("{sentinel}: {cause}"),
            });
        }
        Err(failures)
    }

    /// Asks one Sentinel.
    async fn ask(&self, opened: &mut Opened) -> Result<Answer, OpenCause> {
        let question = |word: &str| redis::cmd("SENTINEL").arg(word).arg(&self.name).take();
        let limit = self.connector.timeout;
        // The epoch comes first: if a fail-over happens in between, the new primary has the former epoch, which does no
        // harm. The former primary with the new epoch would.
        let epoch = match opened.query(&question("MASTER"), limit).await {
            Ok(state) => read_epoch(&state),
            // The user may not ask for it, or the name is not known.
            Err(OpenCause::Failed(error)) if error.code().is_some() => None,
            Err(cause) => return Err(cause),
        };
        let address = opened.query(&question("GET-MASTER-ADDR-BY-NAME"), limit).await?;
        let Some(address) = read_address(&address) else { return Ok(Answer::UnknownName) };
        let named = Named { address, epoch: epoch.unwrap_or_else(|| self.epoch()) };
        let is_former = epoch.is_some() && !self.note(&named);
        Ok(if is_former { Answer::Former } else { Answer::Primary(named) })
    }

    /// Notes what a Sentinel says. Returns `false` if the Sentinel has missed a fail-over.
    fn note(&self, named: &Named) -> bool {
        let mut is_former = false;
        self.latest.send_if_modified(|latest| {
            if let Some(latest) = latest {
                is_former = named.epoch < latest.epoch;
                if named.epoch <= latest.epoch {
                    return false;
                }
                if named.address != latest.address {
                    self.losses.fetch_add(1, Ordering::AcqRel);
                }
            }
            *latest = Some(named.clone());
            true
        });
        !is_former
    }

    /// Returns the epoch of the latest answer.
    pub(crate) fn epoch(&self) -> u64 {
        self.latest.borrow().as_ref().map_or(0, |latest| latest.epoch)
    }

    /// Returns whether another server has become the primary since an epoch.
    pub(crate) fn have_left(&self, address: &Address, epoch: u64) -> bool {
        has_left(self.latest.borrow().as_ref(), address, epoch)
    }

    /// Waits until another server has become the primary since an epoch.
    pub(crate) async fn left(&self, address: &Address, epoch: u64) {
        let mut latest = self.latest.subscribe();
        // The sender lives as long as this value.
        _ = latest.wait_for(|latest| has_left(latest.as_ref(), address, epoch)).await;
    }

    /// Waits until there was a fail-over since an epoch.
    pub(crate) async fn advanced(&self, epoch: u64) {
        let mut latest = self.latest.subscribe();
        _ = latest.wait_for(|latest| latest.as_ref().is_some_and(|latest| latest.epoch > epoch)).await;
    }

    /// Starts to listen to each Sentinel.
    pub(crate) fn watch(self: &Arc<Self>) -> Vec<Task> {
        let watch = |sentinel: &Address| Task::spawn(self.clone().listen_to(sentinel.clone()));
        self.addresses.iter().map(watch).collect()
    }

    /// Asks for a message when another server becomes the primary.
    async fn subscribe(&self, opened: &mut Opened) -> bool {
        let subscribing = opened.connection.subscribe(SWITCH);
        matches!(tokio::time::timeout(self.connector.timeout, subscribing).await, Ok(Ok(())))
    }

    async fn listen_to(self: Arc<Self>, sentinel: Address) {
        let mut backoff = Backoff::default();
        loop {
            if let Ok(mut opened) = self.connector.open(&sentinel).await
                && self.subscribe(&mut opened).await
            {
                // It is asked first because a switch may have been missed, and then after each message.
                while self.ask(&mut opened).await.is_ok() {
                    backoff = Backoff::default();
                    if !wait_for_message(&mut opened).await {
                        break;
                    }
                }
            }
            tokio::time::sleep(backoff.next_attempt()).await;
        }
    }
}

/// The reasons why no Sentinel has named the primary.
#[derive(Default)]
struct Failures {
    texts: Vec<String>,
    /// A Sentinel has named a former primary.
    is_contradicted: bool,
}

/// The answer of a Sentinel.
enum Answer {
    Primary(Named),
    /// The Sentinel has missed a fail-over.
    Former,
    UnknownName,
}

fn has_left(latest: Option<&Named>, address: &Address, epoch: u64) -> bool {
    latest.is_some_and(|latest| latest.epoch > epoch && latest.address != *address)
}

/// Waits until a Sentinel has sent a message, or has been silent for a while. Returns `false` when the Sentinel is gone.
async fn wait_for_message(opened: &mut Opened) -> bool {
    loop {
        match tokio::time::timeout(SILENCE, opened.pushes.recv()).await {
            Err(_) => return true,
            Ok(None) => return false,
            Ok(Some(push)) => match push.kind {
                PushKind::Disconnection => return false,
                PushKind::Message => return true,
                _ => {}
            },
        }
    }
}

fn read_address(answer: &Value) -> Option<Address> {
    let Value::Array(parts) = answer else { return None };
    let [Value::BulkString(host), Value::BulkString(port)] = &parts[..] else { return None };
    let host = String::from_utf8(host.clone()).ok()?;
    Some(Address { host, port: std::str::from_utf8(port).ok()?.parse().ok()? })
}

/// Reads the epoch from the state of a primary.
fn read_epoch(state: &Value) -> Option<u64> {
    let Value::Map(fields) = state else { return None };
    let is_epoch = |name: &Value| matches!(name, Value::BulkString(name) if name == b"config-epoch");
    let (_, epoch) = fields.iter().find(|(name, _)| is_epoch(name))?;
    let Value::BulkString(epoch) = epoch else { return None };
    std::str::from_utf8(epoch).ok()?.parse().ok()
}

const SWITCH: &str = "+switch-master";
/// A Sentinel that says nothing for this long is asked.
const SILENCE: Duration = Duration::from_secs(5);
