use toolway::prelude::*;

#[resource(uri = "users://{ctx}")]
fn user(ctx: Ctx) -> String {
    let _ = ctx;
    String::new()
}

fn main() {}
