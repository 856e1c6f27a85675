//! Do our scanner and `serde_json` accept the same documents?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| toolway_fuzz::json(input));
