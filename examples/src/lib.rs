//! Programs that show how to use `toolway`. Each is a file in `examples/`; all of them run in the tests. Start one with
//! `cargo run -p toolway-examples --example hello`.

/// Compiles the program of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/several-nodes.md")]
struct SeveralNodes;
