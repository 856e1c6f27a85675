//! Does the contract find mistakes? A model of a store passes it, and fails it with each of many mistakes.
#![cfg(feature = "contract")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod list;
mod log;
mod model;
mod subscriptions;

use std::collections::BTreeSet;

use toolway_store::contract;

use self::list::{MISTAKES, Mistake};
use self::model::Model;

#[tokio::test(start_paused = true)]
async fn the_model_without_a_mistake_passes_the_contract() {
    let model = Model::new(None);
    contract::check(async || model.handle(), tokio::time::sleep).await;
}

#[tokio::test(start_paused = true)]
async fn the_contract_finds_every_mistake_and_every_case_finds_one() {
    // When all visits fail, all cases fail.
    let all = failed_cases(Mistake::VisitsFail).await;
    let mut useless = all.clone();
    let mut missed = Vec::new();
    for (mistake, case) in MISTAKES {
        let failed = failed_cases(*mistake).await;
        if !failed.contains(*case) {
            missed.push(format!("{mistake:?} is not found by {case}, but by {failed:?}"));
        }
        if failed.len() < all.len() {
            useless.retain(|case| !failed.contains(case));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert_eq!(useless, BTreeSet::new(), "these cases find only that all visits fail");
}

/// Returns the names of the cases that a store with a mistake fails.
async fn failed_cases(mistake: Mistake) -> BTreeSet<String> {
    let model = Model::new(Some(mistake));
    let tasks = tokio::task::LocalSet::new();
    let check = tasks.spawn_local(async move {
        contract::check(async || model.handle(), tokio::time::sleep).await;
    });
    let Err(failure) = tasks.run_until(check).await else { return BTreeSet::new() };
    let panic = failure.into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("the store breaks its contract:\n"), "{text}");
    let lines = text.lines().skip(1).filter_map(|line| line.strip_prefix("  "));
    lines
        .filter(|line| line.contains("::"))
        .filter_map(|line| line.split(": ").next())
        .map(str::to_owned)
        .collect()
}
