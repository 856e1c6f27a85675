use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
struct Rules {
    #[form(min_length = 1, format = "email", min_items = 1, choices = ["a"])]
    //~ `min_length` is for strings, but `number` is a whole number
    //~ `format` is for strings, but `number` is a whole number
    //~ `min_items` is for lists, but `number` is a whole number
    //~ `choices` is for strings and lists of strings, but `number` is a whole number
    number: u8,
    #[form(minimum = 1, max_items = 2)]
    //~ `minimum` is for numbers, but `text` is a string
    //~ `max_items` is for lists, but `text` is a string
    text: Option<String>,
    #[form(maximum = 1)]
    //~ `maximum` is for numbers, but `flag` is a boolean
    flag: bool,
    #[form(max_length = 1, choices = ["a", "b"])]
    //~ `max_length` is for strings, but `list` is a list
    list: Vec<String>,
    #[form(min_length = -1, max_length = "x", format = "phone")]
    //~ `min_length` must be a number that is not negative
    //~ `max_length` must be a number that is not negative
    //~ `format` must be one of "email", "uri", "date", "date-time"
    values: String,
    #[form(minimum = -1, maximum = 256)]
    //~ `minimum` must be a whole number that fits `u8`: from 0 to 255
    //~ `maximum` must be a whole number that fits `u8`: from 0 to 255
    bounds: u8,
    #[form(min = 0.5, max = "x")]
    //~ `min` must be a whole number that fits `i32`: from -2147483648 to 2147483647
    //~ `max` must be a whole number that fits `i32`: from -2147483648 to 2147483647
    whole: i32,
    #[form(min = 2, max = 1)]
    //~ `max` is less than `min`
    crossed: f64,
    #[form(min_length = 3, choices = ["a", "a"])]
    //~ the choice `a` is given twice
    chosen: String,
    #[form(min_length = 3, choices = ["a", "b"])]
    //~ `min_length` has no effect beside `choices`: only the choices can be selected
    bound: String,
    #[form(choices = [])]
    //~ `choices` must not be empty
    empty: String,
    #[form(choices = ["a", 7])]
    //~ write `choices = ["a", "b"]` or `choices = [("a", "Title A"), ("b", "Title B")]`
    strange: String,
}

fn main() {}
