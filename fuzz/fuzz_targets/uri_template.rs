//! Do templates and URIs of any kind meet safely?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| toolway_fuzz::uri_template(input));
