use toolway::prelude::*;

#[prompt]
fn review(#[arg(min_length = 1)] title: String) -> String {
//~ `min_length` is part of a schema, and only the arguments of tools have a schema
    title
}

fn main() {}
