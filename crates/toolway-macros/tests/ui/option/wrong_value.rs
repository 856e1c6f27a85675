use toolway::prelude::*;

#[tool(
    name = "",
    title = 7,
    description,
    icon = 7,
    icons = [icon(mime = "image/png"), icon(src = "a", them = "dark"), icon(src = "a", theme = "blue", sizes = [1])],
    meta,
    blocking = "yes"
    open_world
)]
fn one() {}

#[resource(
    "notes://{id}",
    size = 7,
    annotations(audience = [everybody], priority = 2, colour = "red")
)]
fn two(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://a", size = "big", annotations = 1)]
fn three() -> String {
    String::new()
}

fn main() {}
