use toolway::prelude::*;

#[tool]
//~ `#[tool]` applies to a function, or to a struct that implements `Run`
enum Add {
    Two,
}

#[prompt]
//~ write `#[prompt]` on each method, and `#[service]` on the `impl` block
impl Add {}

fn main() {}
