use toolway::prelude::*;

#[tool]
fn save(#[arg(default = 1)] ctx: Ctx) {
//~ `ctx` is no argument: the server provides it, so there is nothing to say in `#[arg(…)]`
    let _ = ctx;
}

#[prompt]
fn review(#[arg(title = "State")] state: State<u8>, _: String) -> String {
//~ `state` is no argument: the server provides it, so there is nothing to say in `#[arg(…)]`
//~ a parameter without a name cannot be an argument: write `name: Type`
    state.to_string()
}

fn main() {}
