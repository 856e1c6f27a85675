use toolway::prelude::*;

#[tool]
//~ `#[tool]` stands on a function or on a struct that implements `Run`
enum Add {
    Two,
}

#[prompt]
//~ `#[prompt]` stands on each method, `#[service]` on the `impl` block
impl Add {}

fn main() {}
