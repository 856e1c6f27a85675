use toolway::prelude::*;

#[tool]
fn save(#[arg(complete = ["a", "b"])] title: String) -> String {
    title
}

fn main() {}
