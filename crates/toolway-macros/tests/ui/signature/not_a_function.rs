use toolway::prelude::*;

#[tool]
struct Add {
    a: f64,
}

fn main() {}
