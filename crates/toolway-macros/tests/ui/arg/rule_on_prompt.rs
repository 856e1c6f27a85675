use toolway::prelude::*;

#[prompt]
fn review(#[arg(min_length = 1)] title: String) -> String {
//~ `min_length` belongs to a schema, and only the arguments of tools have one
    title
}

fn main() {}
