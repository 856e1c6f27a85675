//! Does every text survive a header?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| toolway_fuzz::header(input));
