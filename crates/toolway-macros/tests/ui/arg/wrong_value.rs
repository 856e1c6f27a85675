use toolway::prelude::*;

#[tool]
fn save(
    #[arg] a: u8,
    #[arg(minimum = "one", title)] b: u8,
    #[arg(min_length = -1, pattern = 7, enum = "x", unique_items = 1)] c: String,
) {
    let _ = (a, b, c);
}

fn main() {}
