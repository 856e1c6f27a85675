use toolway::prelude::*;

struct Opaque;

#[tool]
fn take(first: f64, opaque: Opaque) -> f64 {
    let _ = opaque;
    first
}

fn main() {}
