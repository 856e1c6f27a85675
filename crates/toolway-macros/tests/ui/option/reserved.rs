use toolway::prelude::*;

#[tool(scopes = ["notes:write"])]
//~ reserved: scopes are not checked yet, so this option would have no effect
fn save() {}

fn main() {}
