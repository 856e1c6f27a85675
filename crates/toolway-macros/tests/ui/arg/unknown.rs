use toolway::prelude::*;

#[tool]
fn save(#[arg(min_lenght = 1, colour = "red")] title: String) -> String {
    title
}

fn main() {}
