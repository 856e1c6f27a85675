use toolway::prelude::*;

#[tool]
fn numbers(
    #[arg(minimum = 1)] a: String,
    //~ `minimum` is for numbers, and `a` is a text
    #[arg(exclusive_maximum = 1, multiple_of = 2)] b: Option<&str>,
    //~ `exclusive_maximum` is for numbers, and `b` is a text
    //~ `multiple_of` is for numbers, and `b` is a text
    //~ an argument owns its data
    #[arg(maximum = 1)] c: bool,
    //~ `maximum` is for numbers, and `c` is `true` or `false`
) {
    let _ = (a, b, c);
}

#[tool]
fn texts(
    #[arg(min_length = 1)] a: u32,
    //~ `min_length` is for texts, and `a` is a number
    #[arg(max_length = 1, pattern = "^a")] b: Vec<String>,
    //~ `max_length` is for texts, and `b` is a list
    //~ `pattern` is for texts, and `b` is a list
    #[arg(format = "email")] c: f64,
    //~ the format `email` is for texts, and `c` is a number
    #[arg(format = "int64")] fine: i64,
) {
    let _ = (a, b, c, fine);
}

#[tool]
fn lists(#[arg(min_items = 1, unique_items)] a: &str, #[arg(max_items = 3)] b: Option<u8>) {
    //~ `min_items` is for lists, and `a` is a text
    //~ `unique_items` is for lists, and `a` is a text
    //~ `max_items` is for lists, and `b` is a number
    let _ = (a, b);
}

fn main() {}
