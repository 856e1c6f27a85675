use toolway::prelude::*;

#[tool(scopes = ["notes:write"])]
//~ reserved: scopes are not checked yet, so they must not look as if they were
fn save() {}

fn main() {}
