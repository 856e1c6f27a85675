//! Is every frame answered, whatever its bytes?

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| toolway_fuzz::frame(input));
