use toolway::prelude::*;

#[tool]
fn save(#[arg(default = 1)] ctx: Ctx) {
    let _ = ctx;
}

#[prompt]
fn review(#[arg(title = "State")] state: State<u8>, _: String) -> String {
    state.to_string()
}

fn main() {}
