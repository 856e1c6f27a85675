use toolway::prelude::*;

struct Opaque;

#[tool]
fn give() -> Opaque {
//~ `Opaque` cannot be returned by a tool
    Opaque
}

fn main() {}
