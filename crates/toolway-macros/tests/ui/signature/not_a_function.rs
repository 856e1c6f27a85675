use toolway::prelude::*;

#[tool]
enum Add {
    Two,
}

#[prompt]
impl Add {}

fn main() {}
