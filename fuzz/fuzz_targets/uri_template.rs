//! Does matching any URI against any template work without a panic?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| toolway_fuzz::uri_template(input));
