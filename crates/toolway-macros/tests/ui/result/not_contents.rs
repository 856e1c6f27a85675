use toolway::prelude::*;

struct Opaque;

#[resource(uri = "notes://index")]
fn give() -> Opaque {
    Opaque
}

#[prompt]
fn ask() -> Opaque {
    Opaque
}

fn main() {}
