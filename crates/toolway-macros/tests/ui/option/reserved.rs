use toolway::prelude::*;

#[tool(scopes = ["notes:write"])]
fn save() {}

fn main() {}
