//! How are many seeds run, and how is one repeated that breaks a rule?

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What a seed did, and which rules it broke.
pub(crate) struct Outcome {
    pub(crate) history: Box<dyn fmt::Display>,
    /// The kinds of what happened.
    pub(crate) kinds: BTreeSet<String>,
    pub(crate) broken: Vec<String>,
}

/// Runs the seed that the variable names, and prints its history; or many seeds, `counts[0]` by default and `counts[1]`
/// with `TOOLWAY_ROUNDS=full`. Fails if a rule is broken, or if no seed contains something that is expected.
#[expect(clippy::print_stdout, reason = "the output of a test")]
pub(crate) fn run_seeds(
    name: &str,
    command: &str,
    counts: [u64; 2],
    expected: &[&str],
    run: impl Fn(u64) -> Outcome + Sync,
) {
    watch_panics();
    if let Some(seed) = variable(name) {
        let Outcome { history, broken, .. } = run(seed);
        println!("{history}");
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
        return;
    }
    let seeds = variable("SEEDS").unwrap_or(counts[usize::from(is_full())]);
    let first = variable("FIRST_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let (failures, kinds) = (Mutex::new(BTreeMap::new()), Mutex::new(BTreeMap::<_, u64>::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return;
            }
            let Ok(Outcome { kinds: contained, broken, .. }) = catch_unwind(AssertUnwindSafe(|| run(seed)))
            else {
                println!("it panics: {name}={seed} {command}");
                failures.lock().unwrap().insert(seed, Vec::new());
                continue;
            };
            for kind in contained {
                *kinds.lock().unwrap().entry(kind).or_default() += 1;
            }
            if !broken.is_empty() {
                println!("{broken:?}: {name}={seed} {command}");
                failures.lock().unwrap().insert(seed, broken);
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let (failures, kinds) = (failures.into_inner().unwrap(), kinds.into_inner().unwrap());
    println!("how many of {seeds} seeds contain what: {kinds:#?}");
    assert!(failures.is_empty(), "{} of {seeds} seeds break rules", failures.len());
    // The seeds must not become harmless.
    let missing: Vec<_> = expected.iter().filter(|kind| !kinds.contains_key(**kind)).collect();
    assert!(missing.is_empty() || seeds < counts[0], "no seed contains {missing:?}");
}

/// Returns whether everything is tried, which takes long.
pub(crate) fn is_full() -> bool {
    std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full")
}

/// Returns whether something panicked on this thread that was not told to.
pub(crate) fn take_panic() -> bool {
    PANICKED.take()
}

/// Hides the panics that handlers are told to have, and notes all others.
pub(crate) fn watch_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_planned(info.payload()) {
            PANICKED.set(true);
            default(info);
        }
    }));
    // With a subscriber, the server does not print the failures of handlers.
    let _ = tracing_subscriber::registry().with(LevelFilter::OFF).try_init();
}

/// Returns whether a handler was told to panic.
fn is_planned(payload: &dyn Any) -> bool {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)) == Some(PANIC)
}

/// Reads a number from a variable of the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

thread_local! {
    /// Set when something panics that was not told to.
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// What a handler panics with, and its caller must not see.
pub(crate) const PANIC: &str = "a planned panic";
/// How many seeds run at the same time, each on a thread of its own.
const THREADS: usize = 2;
