//! Does every text survive being written to a header and read back?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| toolway_fuzz::header(input));
