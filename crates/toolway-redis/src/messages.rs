//! How do messages reach their subscribers, and how does a subscriber hear that some were missed?
//!
//! One task has one connection for the messages of all channels. When it has connected again, it subscribes to all
//! channels and then tells every subscription that messages may have been missed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use toolway_store::{BoxFuture, Result, Subscription};

use crate::backoff::Backoff;
use crate::connector::Opened;
use crate::link::{LinkState, not_done};
use crate::locate::{Connected, Locator};
use crate::task::Task;
use crate::url::Address;

/// The subscriptions of a store.
pub(crate) struct Messages {
    commands: mpsc::UnboundedSender<Command>,
    timeout: Duration,
    _task: Task,
}

/// Messages of a channel; nothing when some may have been missed.
type Sender = broadcast::Sender<Option<Bytes>>;
type Receiver = broadcast::Receiver<Option<Bytes>>;

enum Command {
    Subscribe { channel: String, reply: oneshot::Sender<Result<Receiver>> },
    Unsubscribe(String),
}

impl Messages {
    /// Messages from the server that `locator` finds. If there is a link, they must come from the same server.
    pub(crate) fn new(locator: Locator, link: Option<watch::Receiver<LinkState>>) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let timeout = locator.connector.timeout;
        let listener = Listener { locator, link, timeout, commands: receiver, channels: HashMap::new() };
        Self { commands, timeout, _task: Task::spawn(listener.run()) }
    }

    /// Subscribes to a channel of Redis.
    pub(crate) async fn subscribe(self: &Arc<Self>, channel: String) -> Result<ChannelSubscription> {
        let (reply, subscribed) = oneshot::channel();
        let deadline = Instant::now() + self.timeout;
        _ = self.commands.send(Command::Subscribe { channel: channel.clone(), reply });
        match tokio::time::timeout_at(deadline, subscribed).await {
            Ok(Ok(receiver)) => {
                Ok(ChannelSubscription { receiver: receiver?, channel, messages: self.clone() })
            }
            _ => Err(not_done("there is no connection to Redis for messages")),
        }
    }
}

/// The subscription of one subscriber.
pub(crate) struct ChannelSubscription {
    receiver: Receiver,
    channel: String,
    messages: Arc<Messages>,
}

impl Subscription for ChannelSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            match self.receiver.recv().await {
                Ok(message) => message,
                Err(broadcast::error::RecvError::Lagged(_)) => None,
                // The task lives as long as this subscription does, unless the runtime shuts down.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        })
    }
}

impl Drop for ChannelSubscription {
    fn drop(&mut self) {
        // The task counts the receivers when it reads this, so this one must be gone by then.
        self.receiver = broadcast::Sender::new(1).subscribe();
        _ = self.messages.commands.send(Command::Unsubscribe(std::mem::take(&mut self.channel)));
    }
}

/// The task that has the connection.
struct Listener {
    locator: Locator,
    link: Option<watch::Receiver<LinkState>>,
    timeout: Duration,
    commands: mpsc::UnboundedReceiver<Command>,
    channels: HashMap<String, Sender>,
}

impl Listener {
    async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            match self.locator.connect().await {
                Ok(Connected { address, mut opened, .. }) => {
                    if self.subscribe_again(&mut opened).await.is_ok() {
                        backoff = Backoff::default();
                        let Some(why) = self.listen(&address, &mut opened).await else { return };
                        tracing::warn!(server = %address, reason = why, "messages of Redis may be missed");
                    }
                }
                Err(error) => tracing::debug!(%error, "could not connect to Redis for messages"),
            }
            tokio::time::sleep(backoff.next_attempt()).await;
        }
    }

    /// Subscribes to the channels of the connection before this one, and reports the gap.
    async fn subscribe_again(&mut self, opened: &mut Opened) -> Result<(), Lost> {
        self.channels.retain(|_, sender| sender.receiver_count() > 0);
        for channel in self.channels.keys() {
            within(self.timeout, opened.connection.subscribe(channel)).await?;
        }
        for sender in self.channels.values() {
            _ = sender.send(None);
        }
        Ok(())
    }

    /// Delivers messages until the connection is lost, and returns why it is, or nothing if the store is gone.
    async fn listen(&mut self, address: &Address, opened: &mut Opened) -> Option<&'static str> {
        let mut pings = tokio::time::interval(PING_EVERY);
        pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                push = opened.pushes.recv() => match push {
                    Some(push) if push.kind != PushKind::Disconnection => self.deliver(push),
                    _ => return Some("the connection is closed"),
                },
                command = self.commands.recv() => {
                    if self.execute(command?, opened).await.is_err() {
                        return Some("the server does not answer a subscription");
                    }
                }
                _ = pings.tick() => {
                    let mut connection = opened.connection.clone();
                    let ping = redis::cmd("PING");
                    if within(self.timeout, connection.send_packed_command(&ping)).await.is_err() {
                        return Some("the server does not reply");
                    }
                }
                () = moved_away(&mut self.link, address) => return Some("another server is the primary"),
            }
        }
    }

    fn deliver(&self, push: PushInfo) {
        if push.kind != PushKind::Message {
            return;
        }
        let mut data = push.data.into_iter();
        if let (Some(Value::BulkString(channel)), Some(Value::BulkString(message))) =
            (data.next(), data.next())
            && let Ok(channel) = std::str::from_utf8(&channel)
            && let Some(sender) = self.channels.get(channel)
        {
            _ = sender.send(Some(message.into()));
        }
    }

    async fn execute(&mut self, command: Command, opened: &mut Opened) -> Result<(), Lost> {
        match command {
            Command::Subscribe { channel, reply } => {
                // Also if there is a subscription already: what comes before the confirmation is too old for this one.
                match within(self.timeout, opened.connection.subscribe(&channel)).await {
                    Ok(()) => {}
                    Err(Lost::Refused) => {
                        _ = reply.send(Err(not_done(
                            "Redis refuses a subscription: compare the access rules of its user with the documentation",
                        )));
                        return Ok(());
                    }
                    Err(lost) => return Err(lost),
                }
                while let Ok(push) = opened.pushes.try_recv() {
                    if push.kind == PushKind::Disconnection {
                        return Err(Lost::Gone);
                    }
                    self.deliver(push);
                }
                let new = || broadcast::Sender::new(QUEUE_CAPACITY);
                let sender = self.channels.entry(channel.clone()).or_insert_with(new);
                if reply.send(Ok(sender.subscribe())).is_err() {
                    self.leave(&channel, opened).await?;
                }
            }
            Command::Unsubscribe(channel) => self.leave(&channel, opened).await?,
        }
        Ok(())
    }

    /// Unsubscribes from a channel that has no subscribers.
    async fn leave(&mut self, channel: &str, opened: &mut Opened) -> Result<(), Lost> {
        if self.channels.get(channel).is_some_and(|sender| sender.receiver_count() == 0) {
            self.channels.remove(channel);
            within(self.timeout, opened.connection.unsubscribe(channel)).await?;
        }
        Ok(())
    }
}

/// Waits until steps go to another server than messages come from. Without a link this never happens.
async fn moved_away(link: &mut Option<watch::Receiver<LinkState>>, address: &Address) {
    let Some(link) = link else { return std::future::pending().await };
    if link.wait_for(|state| state.address().is_some_and(|other| other != address)).await.is_err() {
        std::future::pending::<()>().await;
    }
}

enum Lost {
    Refused,
    Gone,
}

async fn within<T>(timeout: Duration, work: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Lost> {
    match tokio::time::timeout(timeout, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) if error.code().is_some() => Err(Lost::Refused),
        _ => Err(Lost::Gone),
    }
}

/// The number of messages that a subscription keeps for a slow subscriber.
const QUEUE_CAPACITY: usize = 256;
/// A connection that is gone without a word is found out after this time.
const PING_EVERY: Duration = Duration::from_secs(2);
