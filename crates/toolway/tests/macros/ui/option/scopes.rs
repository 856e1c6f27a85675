use toolway::prelude::*;

#[tool(scopes = ["notes:write"])]
//~ write `scopes("notes:write")`, with one or more scopes
fn save() {}

#[tool(scopes())]
//~ write `scopes("notes:write")`, with one or more scopes
fn save_none() {}

#[tool(scopes("notes:read notes:write"))]
//~ a scope has no spaces, commas, quotes or backslashes
fn save_both() {}

#[tool(scopes(write))]
//~ expected string literal
fn save_word() {}

fn main() {}
