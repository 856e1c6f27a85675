use toolway::prelude::*;

#[resource(uri = "users://{ctx}")]
fn user(ctx: Ctx) -> String {
//~ `ctx` is a variable of the URI, but its type cannot be read from one
    let _ = ctx;
    String::new()
}

fn main() {}
