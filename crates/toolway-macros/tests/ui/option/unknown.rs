use toolway::prelude::*;

#[tool(nmae = "a", colour = "red")]
fn one() {}

#[resource(uri = "notes://a", mime_type = "text/plain")]
fn two() -> String {
    String::new()
}

#[prompt(read_only)]
fn three() -> String {
    String::new()
}

fn main() {}
