use toolway::prelude::*;

struct Opaque;

#[tool]
fn take(first: f64, opaque: Opaque) -> f64 {
//~ `Opaque` cannot be a parameter of a tool
    let _ = opaque;
    first
}

fn main() {}
