use toolway::prelude::*;

#[tool(blocking)]
async fn wait() {}

#[prompt(blocking = true)]
async fn ask() -> String {
    String::new()
}

fn main() {}
