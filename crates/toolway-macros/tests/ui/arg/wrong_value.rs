use toolway::prelude::*;

#[tool]
fn save(
    #[arg] a: u8,
    //~ write `#[arg(…)]`
    #[arg(minimum = "one", title)] b: u8,
    //~ `minimum` is a number
    //~ write `title = "…"`
    #[arg(min_length = -1, pattern = 7, enum = "x", unique_items = 1)] c: String,
    //~ `min_length` is a number that is not negative
    //~ `pattern` is a text
    //~ `enum` is a list: `[…]`
    //~ `unique_items` is `true` or `false`
) {
    let _ = (a, b, c);
}

fn main() {}
