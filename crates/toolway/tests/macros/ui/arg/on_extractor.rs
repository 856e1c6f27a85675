use toolway::prelude::*;

#[tool]
fn save(#[arg(default = 1)] ctx: Ctx) {
//~ `ctx` is not an argument: the server provides it, so `#[arg(…)]` does not apply to it
    let _ = ctx;
}

#[prompt]
fn review(#[arg(title = "State")] state: State<u8>, _: String) -> String {
//~ `state` is not an argument: the server provides it, so `#[arg(…)]` does not apply to it
//~ a parameter without a name cannot be an argument: write `name: Type`
    state.to_string()
}

fn main() {}
