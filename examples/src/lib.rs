//! Programs that show how to use `toolway`. Each is a file in `examples/`; all of them run in the tests. Start one with
//! `cargo run -p toolway-examples --example hello`.
