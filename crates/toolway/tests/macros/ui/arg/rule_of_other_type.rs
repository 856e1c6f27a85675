use toolway::prelude::*;

#[tool]
fn numbers(
    #[arg(minimum = 1)] a: String,
    //~ `minimum` is for numbers, but `a` is a string
    #[arg(exclusive_maximum = 1, multiple_of = 2)] b: Option<&str>,
    //~ `exclusive_maximum` is for numbers, but `b` is a string
    //~ `multiple_of` is for numbers, but `b` is a string
    //~ an argument must own its data
    #[arg(maximum = 1)] c: bool,
    //~ `maximum` is for numbers, but `c` is `true` or `false`
) {
    let _ = (a, b, c);
}

#[tool]
fn texts(
    #[arg(min_length = 1)] a: u32,
    //~ `min_length` is for strings, but `a` is a number
    #[arg(max_length = 1, pattern = "^a")] b: Vec<String>,
    //~ `max_length` is for strings, but `b` is a list
    //~ `pattern` is for strings, but `b` is a list
    #[arg(format = "email")] c: f64,
    //~ the format `email` is for strings, but `c` is a number
    #[arg(format = "int64")] fine: i64,
) {
    let _ = (a, b, c, fine);
}

#[tool]
fn lists(#[arg(min_items = 1, unique_items)] a: &str, #[arg(max_items = 3)] b: Option<u8>) {
    //~ `min_items` is for lists, but `a` is a string
    //~ `unique_items` is for lists, but `a` is a string
    //~ `max_items` is for lists, but `b` is a number
    let _ = (a, b);
}

fn main() {}
