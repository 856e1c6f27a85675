//! Does a store fulfil the contract? The test suite that every store must pass.
//!
//! [`check`] runs a case for every sentence of the documentation of [`Store`], [`Step`](crate::Step) and
//! [`Subscription`](crate::Subscription). The name of each case states its requirement. A store runs all cases as one
//! test:
//!
//! ```
//! use toolway_store::{MemoryStore, contract};
//!
//! // A store with a clock of its own is tested in real time: leave out `start_paused`. In the tests of a crate this is
//! // `#[tokio::test(start_paused = true)]`.
//! # fn main() {
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(
//! async {
//!     let store = MemoryStore::new();
//!     contract::check(async || store.clone(), tokio::time::sleep).await;
//! }
//! # ) }
//! ```

mod appends;
mod channels;
mod ends;
mod lifetimes;
mod maps;
mod operations;
mod pages;
mod races;
mod rooms;
mod steps;
mod trial;
mod values;

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::future::poll_fn;
use std::hash::{BuildHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use self::trial::{Case, Trial};
use crate::store::Store;

/// Runs every case, and panics with the names of all cases that failed.
///
/// `make` returns a handle to the store. It is called twice, and both handles must have the same data, as two servers
/// that share a store do: the visits of a case alternate between them. Every run uses new names, so the store need not be
/// empty. Nothing is cleaned up: the data of the cases expires within two minutes, except for a few bytes that never
/// expire.
///
/// `wait` lets the given time pass for the store: use `tokio::time::sleep` for a store that uses tokio's clock or real
/// time. In real time the whole suite takes some seconds. Several cases run at the same time.
///
/// A store that can lose its connection needs its own tests for lost connections; these cases expect every visit to
/// succeed.
///
/// # Panics
///
/// Panics if a case fails. The message has a line for each failed case.
///
/// ```should_panic
/// use bytes::Bytes;
/// use toolway_store::{BoxFuture, MemoryStore, Outcome, Result, Secret, Step, Store, Subscription, contract};
///
/// /// Does not check any condition.
/// struct Careless(MemoryStore);
///
/// impl Store for Careless {
///     fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
///         let step = Step { conditions: Vec::new(), ..step.clone() };
///         Box::pin(async move { self.0.run(group, &step).await })
///     }
///     // …
/// #   fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> { self.0.publish(channel, message) }
/// #   fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> { self.0.subscribe(channel) }
/// #   fn secret(&self) -> Secret { self.0.secret() }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// // the store breaks its contract:
/// //   values::exists_requires_a_value: panicked: …
/// let store = MemoryStore::new();
/// contract::check(async || Careless(store.clone()), tokio::time::sleep).await;
/// # });
/// ```
pub async fn check<S: Store>(make: impl AsyncFn() -> S, wait: impl AsyncFn(Duration)) {
    let handles: [Arc<dyn Store>; 2] = [Arc::new(make().await), Arc::new(make().await)];
    let run = RandomState::new().build_hasher().finish();
    let wait = |time| Box::pin(wait(time)) as Pin<Box<dyn Future<Output = ()> + '_>>;

    let tables = [
        values::CASES,
        maps::CASES,
        appends::CASES,
        ends::CASES,
        rooms::CASES,
        pages::CASES,
        lifetimes::CASES,
        steps::CASES,
        races::CASES,
        channels::CASES,
    ];
    let mut waiting = tables.into_iter().flatten().enumerate().map(|(number, case)| {
        let trial = Trial::new(handles.clone(), format!("toolway-contract:{run:016x}:{number}:"), &wait);
        Box::pin(async move { (number, case.0, run_case(case, &trial).await) })
    });
    let mut running = Vec::new();
    let mut problems = Vec::new();
    poll_fn(|cx| {
        loop {
            running.extend(waiting.by_ref().take(CASES_AT_ONCE - running.len()));
            let before = running.len();
            running.retain_mut(|case| match case.as_mut().poll(cx) {
                Poll::Ready((number, name, result)) => {
                    problems.extend(result.err().map(|problem| (number, name, problem)));
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                now if now == before => return Poll::Pending,
                _ => {}
            }
        }
    })
    .await;

    problems.sort_unstable();
    let mut text = String::new();
    for (_, name, problem) in problems {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {name}: {problem}");
    }
    assert!(text.is_empty(), "the store breaks its contract:{text}");
}

/// Runs one case. Fails with the message of its panic.
async fn run_case((_, case): &Case, trial: &Trial<'_>) -> Result<(), String> {
    let mut future = case(trial);
    let catching = poll_fn(|cx| {
        // After a panic the future is not polled again, and what the case has stored belongs to this case only.
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)))
            .map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    });
    match tokio::time::timeout(CASE_TIMEOUT, catching).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let text = text.unwrap_or("without a message");
            // Some messages show values of a mebibyte.
            Err(format!("panicked: {}", text.chars().take(MAX_MESSAGE).collect::<String>()))
        }
        Err(_) => Err("did not end in time: it waits for something that never happens".to_owned()),
    }
}

/// The time limit of one case, far longer than any case should take.
const CASE_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of cases that run at the same time. Most of them wait for something to expire.
const CASES_AT_ONCE: usize = 16;
/// The number of characters that are shown of a message.
const MAX_MESSAGE: usize = 2000;
