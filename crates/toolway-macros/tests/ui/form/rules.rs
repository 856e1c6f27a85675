use toolway::prelude::*;

#[derive(Form)]
struct Rules {
    #[form(min_length = 1, format = "email", min_items = 1, choices = ["a"])]
    number: u8,
    #[form(minimum = 1, max_items = 2)]
    text: Option<String>,
    #[form(maximum = 1)]
    flag: bool,
    #[form(max_length = 1, choices = ["a", "b"])]
    list: Vec<String>,
    #[form(min_length = -1, max_length = "x", format = "phone")]
    values: String,
    #[form(minimum = -1, maximum = 256)]
    bounds: u8,
    #[form(min = 0.5, max = "x")]
    whole: i32,
    #[form(min = 2, max = 1)]
    crossed: f64,
    #[form(min_length = 3, choices = ["a", "a"])]
    chosen: String,
    #[form(min_length = 3, choices = ["a", "b"])]
    bound: String,
    #[form(choices = [])]
    empty: String,
    #[form(choices = ["a", 7])]
    strange: String,
}

fn main() {}
