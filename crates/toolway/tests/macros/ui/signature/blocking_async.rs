use toolway::prelude::*;

#[tool(blocking)]
//~ an `async` function must not block: remove `async`, or remove `blocking` if the function only awaits
async fn wait() {}

#[prompt(blocking = true)]
//~ an `async` function must not block: remove `async`, or remove `blocking` if the function only awaits
async fn ask() -> String {
    String::new()
}

fn main() {}
