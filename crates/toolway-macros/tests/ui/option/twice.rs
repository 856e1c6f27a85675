use toolway::prelude::*;

#[tool(name = "a", name = "b", read_only, read_only = false, idempotent = "yes")]
fn twice() {}

fn main() {}
