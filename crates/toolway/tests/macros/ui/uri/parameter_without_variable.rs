use toolway::prelude::*;

#[resource(uri = "notes://{id}")]
fn note(id: u64, section: String, ctx: Ctx) -> String {
//~ `section` is an argument, but the URI has no variable `{section}` to read it from
    let _ = ctx;
    format!("{id} {section}")
}

#[resource(uri = "users://{ctx}")]
fn user(ctx: Ctx, #[arg(default = 1)] other: u8) -> String {
//~ `other` is not a variable of the URI, so `#[arg(…)]` does not apply to it
    let _ = ctx;
    other.to_string()
}

fn main() {}
