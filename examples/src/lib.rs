//! Programs that show how `toolway` is used. Each stands in `examples/`, a file each; all of them run in the
//! tests. Start one with `cargo run -p toolway-examples --example hello`.
