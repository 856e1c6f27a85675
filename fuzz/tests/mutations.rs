//! Does every property hold for the inputs of its corpus, and for many changes of them?
//!
//! A failure prints its target, seed and case. `SEED=7 cargo test -p toolway-fuzz --test mutations NAME` tries other
//! inputs, `CASE=41` only one of them, and `EXECUTIONS=1000000` more of them. A fifth of the number in [`TARGETS`] is tried, and
//! all with `TOOLWAY_ROUNDS=full`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Display;
use std::str::FromStr;

use toolway_fuzz::mutate::Random;
use toolway_fuzz::{Outcome, TARGETS, Target};

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*

        #[test]
        fn every_target_is_run() {
            let mut names = TARGETS.map(|target| target.name);
            assert_eq!(names, [$(stringify!($name)),*]);
            // `cargo xtask fuzz` finds the targets by their folders.
            let folders = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus")).unwrap();
            let mut folders: Vec<_> = folders.map(|folder| folder.unwrap().file_name()).collect();
            folders.sort();
            names.sort_unstable();
            assert_eq!(folders, names);
        }
    };
}

targets! {
    frame header json param_headers uri_template sse lines schema_check schema_dialects conversation http_session sealed_state cursor
    hub_names hub_config env_file redirect terminal command_line challenge resource_metadata server_metadata callback token_reply
    access_token key_set proof
}

fn run(name: &str) {
    let target = Target::named(name).unwrap();
    let corpus = target.corpus();
    let seed: u64 = setting("SEED").unwrap_or(20_260_728);
    let is_full = std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full");
    let count = setting("EXECUTIONS").unwrap_or(target.executions / if is_full { 1 } else { 5 });
    let only: Option<u32> = setting("CASE");
    let mut accepted = 0;
    for case in only.map_or(0..count, |case| case..case + 1) {
        // The first cases are the corpus as it is.
        let input = match corpus.inputs.get(case as usize) {
            Some(input) => input.clone(),
            None => corpus.mutated(&mut Random::new(seed ^ u64::from(case).rotate_left(32))),
        };
        let told = ToldOnPanic { name, seed, case, input: &input };
        accepted += u32::from((target.property)(told.input) == Outcome::Accepted);
    }
    eprintln!("{name}: {count} executions, {accepted} accepted");
    // A source of inputs that are all refused would test nothing.
    assert!(
        only.is_some() || accepted > count / 100,
        "{name}: only {accepted} of {count} inputs were accepted"
    );
}

fn setting<T: FromStr<Err: Display>>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// Prints how to repeat a case that panicked.
struct ToldOnPanic<'a> {
    name: &'a str,
    seed: u64,
    case: u32,
    input: &'a [u8],
}

impl Drop for ToldOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { name, seed, case, input } = self;
            eprintln!("{name} fails on b\"{}\"", input.escape_ascii());
            eprintln!("SEED={seed} CASE={case} cargo test -p toolway-fuzz --test mutations {name}");
        }
    }
}
