//! Does the contract find mistakes? A model of a store passes it, and fails it with each of many mistakes.
#![cfg(feature = "contract")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod list;
mod log;
mod model;
mod subscriptions;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use toolway_store::contract;

use self::list::{MISTAKES, Mistake};
use self::model::Model;

#[tokio::test(start_paused = true)]
async fn the_model_without_a_mistake_passes_the_contract() {
    let model = Model::new(None);
    contract::check(async || model.handle(), tokio::time::sleep).await;
}

#[test]
fn the_contract_finds_every_mistake_and_every_case_finds_one() {
    // When all visits fail, all cases fail.
    let all = failed_cases(Mistake::VisitsFail);
    let mut useless = all.clone();
    let mut missed = Vec::new();
    for (mistake, case, failed) in failed_cases_of_all() {
        if !failed.contains(case) {
            missed.push(format!("{mistake:?} is not found by {case}, but by {failed:?}"));
        }
        if failed.len() < all.len() {
            useless.retain(|case| !failed.contains(case));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert_eq!(useless, BTreeSet::new(), "these cases find only that all visits fail");
}

/// Returns each mistake with the case that must find it and the cases that do. Each thread takes a part of the list.
fn failed_cases_of_all() -> Vec<(Mistake, &'static str, BTreeSet<String>)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let run_part = |part: &[(Mistake, &'static str)]| -> Vec<_> {
        part.iter().map(|(mistake, case)| (*mistake, *case, failed_cases(*mistake))).collect()
    };
    std::thread::scope(|scope| {
        let parts = MISTAKES.chunks(MISTAKES.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || run_part(part))).collect();
        running.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// Returns the names of the cases that a store with a mistake fails.
fn failed_cases(mistake: Mistake) -> BTreeSet<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let model = Model::new(Some(mistake));
    let check = || runtime.block_on(contract::check(async || model.handle(), tokio::time::sleep));
    let Err(panic) = catch_unwind(AssertUnwindSafe(check)) else { return BTreeSet::new() };
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("the store breaks its contract:\n"), "{text}");
    let lines = text.lines().skip(1).filter_map(|line| line.strip_prefix("  "));
    lines
        .filter(|line| line.contains("::"))
        .filter_map(|line| line.split(": ").next())
        .map(str::to_owned)
        .collect()
}
