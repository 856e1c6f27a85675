//! Can libFuzzer find an input that breaks a property?
//!
//! One program for all targets: `TARGET` names the one to run. It is linked once, which takes longer than compiling.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use toolway_fuzz::Target;
use toolway_fuzz::mutate::{Corpus, Random};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TARGET").expect("`TARGET` names a target of `toolway_fuzz::TARGETS`");
    Target::named(&name).unwrap_or_else(|| panic!("there is no target `{name}`"))
});
static CORPUS: LazyLock<Corpus> = LazyLock::new(|| TARGET.corpus());

fuzz_target!(|input: &[u8]| {
    (TARGET.property)(input);
});

// libFuzzer changes bytes; our own changes mostly keep a text well formed, and reach what lies behind the parsers.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut input = data[..size].to_vec();
    CORPUS.mutate(&mut input, &mut Random::new(u64::from(seed)));
    input.truncate(max_size);
    data[..input.len()].copy_from_slice(&input);
    input.len()
});
