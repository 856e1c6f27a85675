use toolway::prelude::*;

#[tool]
fn count(
    #[arg(default)] from: u32,
    //~ a default needs a value: `default = 0`
    #[arg(default = None)] to: Option<u32>,
    //~ an `Option` needs no default: it is `None` when nothing is sent
) -> u32 {
    to.unwrap_or(from)
}

#[prompt]
fn review(#[arg(default)] style: String, #[arg(default = std::option::Option::None)] code: Option<String>) -> String {
    //~ a default needs a value: `default = ""`
    //~ an `Option` needs no default: it is `None` when nothing is sent
    style + &code.unwrap_or_default()
}

fn main() {}
