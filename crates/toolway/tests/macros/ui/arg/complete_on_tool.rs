use toolway::prelude::*;

#[tool]
fn save(#[arg(complete = ["a", "b"])] title: String) -> String {
//~ completions exist for prompts and resource templates, not for tools
    title
}

fn main() {}
