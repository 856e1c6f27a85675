use toolway::prelude::*;

#[tool(name = "a", name = "b", read_only, read_only = false, idempotent = "yes")]
//~ `name` comes twice
//~ `read_only` comes twice
//~ `idempotent` is `true` or `false`
fn twice() {}

fn main() {}
