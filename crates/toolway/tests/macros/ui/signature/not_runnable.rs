use toolway::prelude::*;

/// It says nowhere what it does.
#[tool]
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SaveNote {
//~ the trait bound `SaveNote: Run` is not satisfied
    text: String,
}

/// It cannot be read.
#[prompt(blocking)]
//~ `blocking` is for functions; `run` is `async` and must not block
struct Ask;

fn main() {}
