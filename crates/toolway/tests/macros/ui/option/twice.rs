use toolway::prelude::*;

#[tool(name = "a", name = "b", read_only, read_only = false, idempotent = "yes")]
//~ `name` is given twice
//~ `read_only` is given twice
//~ `idempotent` must be `true` or `false`
fn twice() {}

fn main() {}
