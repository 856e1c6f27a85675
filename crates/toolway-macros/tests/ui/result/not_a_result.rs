use toolway::prelude::*;

struct Opaque;

#[tool]
fn give() -> Opaque {
    Opaque
}

fn main() {}
