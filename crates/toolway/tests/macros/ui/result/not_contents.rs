use toolway::prelude::*;

struct Opaque;

#[resource(uri = "notes://index")]
fn give() -> Opaque {
//~ `Opaque` cannot be returned by a resource
    Opaque
}

#[prompt]
fn ask() -> Opaque {
//~ `Opaque` cannot be returned by a prompt
    Opaque
}

fn main() {}
