use toolway::prelude::*;

#[resource(uri = "notes://{id}")]
fn note(id: u64, section: String, ctx: Ctx) -> String {
//~ `section` is an argument, but the URI has no variable `{section}` that it could be read from
    let _ = ctx;
    format!("{id} {section}")
}

#[resource(uri = "users://{ctx}")]
fn user(ctx: Ctx, #[arg(default = 1)] other: u8) -> String {
//~ `other` is no variable of the URI, so there is nothing to say about it
    let _ = ctx;
    other.to_string()
}

fn main() {}
