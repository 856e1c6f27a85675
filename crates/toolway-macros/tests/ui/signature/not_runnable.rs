use toolway::prelude::*;

/// It says nowhere what it does.
#[tool]
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SaveNote {
    text: String,
}

/// It cannot be read.
#[prompt(blocking)]
struct Ask;

fn main() {}
