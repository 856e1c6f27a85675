//! Does the store in memory fulfil the contract without growing, and does the contract detect broken stores?

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::yield_now;
use tokio::time::sleep;
use toolway::BoxFuture;
use toolway::store::{Keep, LogEntry, MemoryStore, Room, Store, Subscription, contract};

const HOUR: Duration = Duration::from_secs(3600);
const PLENTY: Room = Room { entries: usize::MAX, bytes: usize::MAX };

#[tokio::test(start_paused = true)]
async fn memory_passes_the_contract() {
    contract::check(async || MemoryStore::new(), sleep).await;
}

/// The contract runs on one thread with a paused clock; here calls really run concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_no_swap_append_or_message_is_lost() {
    const TASKS: u64 = 8;
    const TURNS: u64 = 500;
    let store = Arc::new(MemoryStore::new());
    store.put("count", "0".into(), HOUR).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            // One channel per task: a subscriber that reads each message before the next one does not fall behind.
            let channel = task.to_string();
            let mut subscription = store.subscribe(&channel).await.unwrap();
            for turn in 0..TURNS {
                loop {
                    let old = store.get("count").await.unwrap().unwrap();
                    let count: u64 = std::str::from_utf8(&old).unwrap().parse().unwrap();
                    if store
                        .compare_and_swap("count", Some(old), (count + 1).to_string().into(), HOUR)
                        .await
                        .unwrap()
                    {
                        break;
                    }
                }
                let entry = LogEntry { bytes: "entry".into(), keep: Keep::Always };
                store.append("log", entry, PLENTY, HOUR).await.unwrap();
                store.publish(&channel, turn.to_string().into()).await.unwrap();
                assert_eq!(subscription.next().await, Some(turn.to_string().into()));
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(store.get("count").await.unwrap(), Some((TASKS * TURNS).to_string().into()));
    let numbers: Vec<_> =
        store.read("log", 0, usize::MAX).await.unwrap().into_iter().map(|entry| entry.0).collect();
    assert_eq!(numbers, (1..=TASKS * TURNS).collect::<Vec<_>>());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    SwapIgnoresWhatIsExpected,
    SwapTakesTwoSteps,
    SwapRenewsWhenItFails,
    RenewOnlyReads,
    GetRenews,
    NothingExpires,
    DeleteSaysAlwaysYes,
    EmptyIsNothing,
    NamesAreFolded,
    TwoKindsShareNames,
    LifeForEverIsAnError,
    EvictionDropsWhatMustStay,
    EvictionKeepsAll,
    NumbersAreThoseOfWhatIsLeft,
    NumbersAreTakenBeforeTheEntryIsWritten,
    NewestDoesNotStay,
    PagesAreTooLong,
    PagesIncludeTheirStart,
    AppendDoesNotRenew,
    ProlongOnlyLooks,
    ForgetForgetsNothing,
    SubscribesWhenFirstAsked,
    HearsEveryChannel,
    LosesTheMessageOfADroppedFuture,
    HidesThatItMissed,
    WakesNobody,
    CallsFail,
}

/// Each mistake with a case that must detect it.
const MISTAKES: [(Mistake, &str); 27] = {
    use Mistake::*;
    [
        (SwapIgnoresWhatIsExpected, "values::a_swap_that_expects_a_value_wants_that_value"),
        (SwapTakesTwoSteps, "values::of_many_swaps_at_once_one_wins"),
        (SwapRenewsWhenItFails, "values::a_swap_gives_a_new_life_only_when_it_succeeds"),
        (RenewOnlyReads, "values::renew_gives_the_value_and_a_longer_life"),
        (GetRenews, "values::getting_a_value_does_not_renew_it"),
        (NothingExpires, "values::an_expired_value_was_never_there"),
        (DeleteSaysAlwaysYes, "values::a_deleted_value_is_gone"),
        (EmptyIsNothing, "values::an_empty_value_is_a_value"),
        (NamesAreFolded, "values::a_key_is_any_text"),
        (TwoKindsShareNames, "logs::a_key_a_log_and_a_channel_of_one_name_are_three_things"),
        (LifeForEverIsAnError, "values::a_life_may_be_nothing_or_for_ever"),
        (EvictionDropsWhatMustStay, "logs::what_must_stay_is_never_dropped"),
        (EvictionKeepsAll, "logs::too_many_entries_drop_the_oldest"),
        (NumbersAreThoseOfWhatIsLeft, "logs::numbers_go_on_after_what_was_dropped"),
        (NumbersAreTakenBeforeTheEntryIsWritten, "logs::a_dropped_append_leaves_no_gap"),
        (NewestDoesNotStay, "logs::the_newest_entry_stays_however_large"),
        (PagesAreTooLong, "logs::reading_gives_pages"),
        (PagesIncludeTheirStart, "logs::reading_gives_pages"),
        (AppendDoesNotRenew, "logs::a_log_lives_as_long_as_its_last_append_says"),
        (ProlongOnlyLooks, "logs::a_log_can_be_prolonged"),
        (ForgetForgetsNothing, "logs::a_forgotten_log_begins_again"),
        (SubscribesWhenFirstAsked, "channels::what_is_published_after_subscribing_is_heard_in_order"),
        (HearsEveryChannel, "channels::other_channels_are_not_heard"),
        (LosesTheMessageOfADroppedFuture, "channels::a_dropped_future_loses_no_message"),
        (HidesThatItMissed, "channels::who_falls_behind_is_told_and_goes_on"),
        (WakesNobody, "channels::who_waits_is_woken"),
        (CallsFail, "values::put_keeps_a_value_and_replaces_it"),
    ]
};

#[tokio::test(start_paused = true)]
async fn the_contract_finds_out_every_mistake() {
    for (mistake, case) in MISTAKES {
        let tasks = tokio::task::LocalSet::new();
        let check = tasks.spawn_local(contract::check(async move || Broken::new(mistake), sleep));
        let checked = tasks.run_until(check).await;
        let failed = checked.expect_err(&format!("{mistake:?} passes the contract")).into_panic();
        let text = failed.downcast_ref::<String>().unwrap();
        assert!(text.starts_with("the store breaks its contract:\n"), "{text}");
        assert!(text.contains(&format!("\n  {case}: ")), "{mistake:?} is not found by {case}, but: {text}");
    }
}

/// A store in memory with one mistake.
struct Broken {
    memory: Arc<MemoryStore>,
    mistake: Mistake,
    counts: Mutex<HashMap<String, u64>>,
    born: Mutex<HashMap<String, tokio::time::Instant>>,
}

impl Broken {
    fn new(mistake: Mistake) -> Self {
        Self { memory: MemoryStore::new().into(), mistake, counts: Mutex::default(), born: Mutex::default() }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    fn ttl(&self, ttl: Duration) -> toolway::Result<Duration> {
        if self.is(Mistake::LifeForEverIsAnError) && ttl == Duration::MAX {
            return Err(toolway::Error::new(toolway::ErrorKind::Misuse, "too long"));
        }
        Ok(if self.is(Mistake::NothingExpires) { HOUR } else { ttl })
    }

    fn key(&self, key: &str) -> String {
        if self.is(Mistake::NamesAreFolded) { key.to_lowercase() } else { key.to_owned() }
    }
}

impl Store for Broken {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        Box::pin(async move {
            if self.is(Mistake::GetRenews) {
                return self.memory.renew(key, HOUR).await;
            }
            let found = self.memory.get(&self.key(key)).await?;
            Ok(found.filter(|value| !(self.is(Mistake::EmptyIsNothing) && value.is_empty())))
        })
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<Option<Bytes>>> {
        Box::pin(async move {
            if self.is(Mistake::RenewOnlyReads) {
                return self.memory.get(key).await;
            }
            self.memory.renew(&self.key(key), self.ttl(ttl)?).await
        })
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, toolway::Result<()>> {
        Box::pin(async move {
            if self.is(Mistake::CallsFail) {
                return Err(toolway::Error::new(toolway::ErrorKind::Transport, "not now"));
            }
            self.memory.put(&self.key(key), value, self.ttl(ttl)?).await
        })
    }

    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<bool>> {
        Box::pin(async move {
            match self.mistake {
                Mistake::SwapIgnoresWhatIsExpected => {
                    self.memory.put(key, value, ttl).await?;
                    Ok(true)
                }
                Mistake::SwapTakesTwoSteps => {
                    let is_expected = self.memory.get(key).await? == expected;
                    yield_now().await;
                    if is_expected {
                        self.memory.put(key, value, ttl).await?;
                    }
                    Ok(is_expected)
                }
                Mistake::SwapRenewsWhenItFails => {
                    self.memory.renew(key, ttl).await?;
                    self.memory.compare_and_swap(key, expected, value, ttl).await
                }
                _ => self.memory.compare_and_swap(&self.key(key), expected, value, self.ttl(ttl)?).await,
            }
        })
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        Box::pin(async move {
            let was_there = self.memory.delete(&self.key(key)).await?;
            Ok(was_there || self.is(Mistake::DeleteSaysAlwaysYes))
        })
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        mut entry: LogEntry,
        mut room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, toolway::Result<u64>> {
        Box::pin(async move {
            let mut ttl = self.ttl(ttl)?;
            match self.mistake {
                Mistake::EvictionDropsWhatMustStay => entry.keep = Keep::WhileThereIsRoom,
                Mistake::EvictionKeepsAll => room = PLENTY,
                Mistake::NumbersAreTakenBeforeTheEntryIsWritten => {
                    let number = {
                        let mut counts = self.counts.lock().unwrap();
                        let count = counts.entry(log.to_owned()).or_default();
                        *count += 1;
                        *count
                    };
                    yield_now().await;
                    self.memory.append(log, entry, room, ttl).await?;
                    return Ok(number);
                }
                Mistake::NewestDoesNotStay if entry.bytes.len() > room.bytes => {
                    self.memory.append(log, entry, room, ttl).await?;
                    let nothing = LogEntry { bytes: Bytes::new(), keep: Keep::WhileThereIsRoom };
                    return self.memory.append(log, nothing, room, ttl).await;
                }
                Mistake::AppendDoesNotRenew => {
                    let now = tokio::time::Instant::now();
                    let end = now.checked_add(ttl).unwrap_or(now + HOUR);
                    ttl = *self.born.lock().unwrap().entry(log.to_owned()).or_insert(end) - now;
                }
                _ => {}
            }
            self.memory.append(log, entry, room, ttl).await
        })
    }

    fn read<'s>(
        &'s self,
        log: &'s str,
        after: u64,
        max: usize,
    ) -> BoxFuture<'s, toolway::Result<Vec<(u64, Bytes)>>> {
        Box::pin(async move {
            match self.mistake {
                Mistake::NumbersAreThoseOfWhatIsLeft => {
                    let all = self.memory.read(log, 0, usize::MAX).await?;
                    let numbered = (1..).zip(all.into_iter().map(|(_, bytes)| bytes));
                    Ok(numbered.filter(|(number, _)| *number > after).take(max).collect())
                }
                Mistake::PagesAreTooLong => self.memory.read(log, after, max.saturating_add(1)).await,
                Mistake::PagesIncludeTheirStart => self.memory.read(log, after.saturating_sub(1), max).await,
                _ => self.memory.read(log, after, max).await,
            }
        })
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<Option<u64>>> {
        self.memory.last(log)
    }

    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, toolway::Result<bool>> {
        Box::pin(async move {
            match self.mistake {
                Mistake::ProlongOnlyLooks => Ok(self.memory.last(log).await?.is_some()),
                _ => self.memory.renew_log(log, self.ttl(ttl)?).await,
            }
        })
    }

    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, toolway::Result<bool>> {
        Box::pin(async move {
            match self.mistake {
                Mistake::TwoKindsShareNames => {
                    self.memory.delete(log).await?;
                    self.memory.delete_log(log).await
                }
                Mistake::ForgetForgetsNothing => Ok(self.memory.last(log).await?.is_some()),
                _ => self.memory.delete_log(log).await,
            }
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, toolway::Result<()>> {
        let channel = if self.is(Mistake::HearsEveryChannel) { "all" } else { channel };
        self.memory.publish(channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, toolway::Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            let channel = if self.is(Mistake::HearsEveryChannel) { "all" } else { channel };
            let memory = self.memory.clone();
            let inner = match self.mistake {
                Mistake::SubscribesWhenFirstAsked => None,
                _ => Some(memory.subscribe(channel).await?),
            };
            let heard = BrokenHeard { memory, channel: channel.to_owned(), inner, mistake: self.mistake };
            Ok(Box::new(heard) as Box<dyn Subscription>)
        })
    }
}

struct BrokenHeard {
    memory: Arc<MemoryStore>,
    channel: String,
    inner: Option<Box<dyn Subscription>>,
    mistake: Mistake,
}

impl Subscription for BrokenHeard {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>> {
        Box::pin(async move {
            if self.inner.is_none() {
                self.inner = Some(self.memory.subscribe(&self.channel).await.unwrap());
            }
            let inner = self.inner.as_mut().unwrap();
            match self.mistake {
                Mistake::LosesTheMessageOfADroppedFuture => {
                    let message = inner.next().await;
                    yield_now().await;
                    message
                }
                Mistake::HidesThatItMissed => loop {
                    if let Some(message) = inner.next().await {
                        return Some(message);
                    }
                },
                Mistake::WakesNobody => {
                    let mut next = inner.next();
                    let now = std::future::poll_fn(|cx| std::task::Poll::Ready(next.as_mut().poll(cx))).await;
                    match now {
                        std::task::Poll::Ready(message) => message,
                        std::task::Poll::Pending => std::future::pending().await,
                    }
                }
                _ => inner.next().await,
            }
        })
    }
}

/// Returns how many values, logs and channels a store holds, from its `Debug`.
fn held(store: &MemoryStore) -> [usize; 3] {
    let text = format!("{store:?}");
    let numbers: Vec<_> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    numbers.try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_expires_leaves_memory_while_other_things_live() {
    let store = MemoryStore::new();
    // Live entries must not keep expired ones in memory.
    for number in 0..100 {
        store.put(&format!("lives {number}"), "value".into(), HOUR).await.unwrap();
    }
    let second = Duration::from_secs(1);
    let mut most = [0; 3];
    for number in 0..100_000 {
        store.put(&format!("value {number}"), "value".into(), second).await.unwrap();
        if number % 5 == 0 {
            let entry = LogEntry { bytes: "entry".into(), keep: Keep::Always };
            store.append(&format!("log {number}"), entry, PLENTY, second).await.unwrap();
        }
        if number % 100 == 0 {
            tokio::time::advance(second / 2).await;
            most = std::array::from_fn(|kind| most[kind].max(held(&store)[kind]));
        }
    }
    // 300 values and 40 logs are alive at a time, and only a few expired ones wait to be removed.
    assert!(most[0] <= 500 && most[1] <= 100, "{most:?}");
    assert_eq!(store.get("lives 99").await.unwrap().as_deref(), Some(&b"value"[..]));
}

#[tokio::test(start_paused = true)]
async fn what_expired_long_ago_goes_while_others_are_only_read() {
    let store = MemoryStore::new();
    for number in 0..1000 {
        store.put(&format!("value {number}"), "value".into(), HOUR).await.unwrap();
    }
    store.put("lives", "value".into(), HOUR * 24).await.unwrap();
    tokio::time::advance(HOUR).await;
    for _ in 0..1000 {
        store.get("lives").await.unwrap().unwrap();
    }
    assert_eq!(held(&store), [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn deleted_and_forgotten_things_are_gone_at_once() {
    let store = MemoryStore::new();
    for number in 0..1000 {
        let name = number.to_string();
        store.put(&name, "value".into(), HOUR).await.unwrap();
        let entry = LogEntry { bytes: "entry".into(), keep: Keep::Always };
        store.append(&name, entry, PLENTY, HOUR).await.unwrap();
        assert!(store.delete(&name).await.unwrap());
        assert!(store.delete_log(&name).await.unwrap());
        assert_eq!(held(&store), [0, 0, 0]);
    }
}

#[tokio::test]
async fn a_channel_is_forgotten_with_its_last_subscriber() {
    let store = MemoryStore::new();
    for number in 0..100_000 {
        let channel = number.to_string();
        store.publish(&channel, "to nobody".into()).await.unwrap();
        let one = store.subscribe(&channel).await.unwrap();
        let other = store.subscribe(&channel).await.unwrap();
        drop(one);
        if number % 1000 == 0 {
            assert_eq!(held(&store), [0, 0, 1]);
        }
        // Dropping the last subscription frees the channel, without another publish.
        drop(other);
    }
    assert_eq!(held(&store), [0, 0, 0]);
}

#[tokio::test]
async fn a_subscription_may_outlive_its_store() {
    let store = MemoryStore::new();
    let mut subscription = store.subscribe("channel").await.unwrap();
    store.publish("channel", "last words".into()).await.unwrap();
    drop(store);
    assert_eq!(subscription.next().await.as_deref(), Some(&b"last words"[..]));
    let mut next = subscription.next();
    assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(next.as_mut().poll(cx).is_pending())).await);
}

/// If each step looked at all entries, this would take minutes, and the test runner would kill the test.
#[tokio::test]
async fn a_long_log_takes_every_entry_in_the_same_time() {
    let store = MemoryStore::new();
    let append = async |keep, room| {
        store.append("log", LogEntry { bytes: "entry".into(), keep }, room, HOUR).await.unwrap()
    };
    for _ in 0..100_000 {
        append(Keep::Always, PLENTY).await;
    }
    let room = Room { entries: 10, bytes: 1000 };
    for number in 100_001..=200_000 {
        assert_eq!(append(Keep::WhileThereIsRoom, room).await, number);
        assert_eq!(store.read("log", number - 2, 1).await.unwrap()[0].0, number - 1);
    }
    let read = store.read("log", 100_000, usize::MAX).await.unwrap();
    assert_eq!(
        read.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        (199_991..=200_000).collect::<Vec<_>>()
    );
}
