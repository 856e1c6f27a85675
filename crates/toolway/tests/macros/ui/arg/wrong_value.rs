use toolway::prelude::*;

#[tool]
fn save(
    #[arg] a: u8,
    //~ write `#[arg(…)]`
    #[arg(minimum = "one", title)] b: u8,
    //~ `minimum` must be a number
    //~ write `title = "…"`
    #[arg(min_length = -1, pattern = 7, enum = "x", unique_items = 1)] c: String,
    //~ `min_length` must be a number that is not negative
    //~ `pattern` must be a string
    //~ `enum` must be a list: `[…]`
    //~ `unique_items` must be `true` or `false`
) {
    let _ = (a, b, c);
}

fn main() {}
