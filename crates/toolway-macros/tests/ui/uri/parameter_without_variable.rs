use toolway::prelude::*;

#[resource(uri = "notes://{id}")]
fn note(id: u64, section: String, ctx: Ctx) -> String {
    let _ = ctx;
    format!("{id} {section}")
}

#[resource(uri = "users://{ctx}")]
fn user(ctx: Ctx, #[arg(default = 1)] other: u8) -> String {
    let _ = ctx;
    other.to_string()
}

fn main() {}
