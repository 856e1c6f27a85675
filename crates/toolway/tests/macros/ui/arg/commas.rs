use toolway::prelude::*;

#[tool]
fn save(#[arg()] title: String, #[arg(title = "Text", min_length = 1,)] text: String) -> String {
    title + &text
}

#[tool]
fn load(
    #[arg(title = "Text",, min_length = 1)] text: String,
    //~ expected ident
    #[arg] other: String,
    //~ write `#[arg(…)]`
) -> String {
    text + &other
}

fn main() {}
