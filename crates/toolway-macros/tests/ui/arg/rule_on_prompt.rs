use toolway::prelude::*;

#[prompt]
fn review(#[arg(min_length = 1)] title: String) -> String {
    title
}

fn main() {}
