use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
struct Rules {
    #[form(min_length = 1, format = "email", min_items = 1, choices = ["a"])]
    //~ `min_length` is for texts, and `number` is a whole number
    //~ `format` is for texts, and `number` is a whole number
    //~ `min_items` is for lists, and `number` is a whole number
    //~ `choices` is for texts and lists of them, and `number` is a whole number
    number: u8,
    #[form(minimum = 1, max_items = 2)]
    //~ `minimum` is for numbers, and `text` is a text
    //~ `max_items` is for lists, and `text` is a text
    text: Option<String>,
    #[form(maximum = 1)]
    //~ `maximum` is for numbers, and `flag` is yes or no
    flag: bool,
    #[form(max_length = 1, choices = ["a", "b"])]
    //~ `max_length` is for texts, and `list` is a list
    list: Vec<String>,
    #[form(min_length = -1, max_length = "x", format = "phone")]
    //~ `min_length` is a number that is not negative
    //~ `max_length` is a number that is not negative
    //~ `format` is one of "email", "uri", "date", "date-time"
    values: String,
    #[form(minimum = -1, maximum = 256)]
    //~ `minimum` is a whole number that fits `u8`: from 0 to 255
    //~ `maximum` is a whole number that fits `u8`: from 0 to 255
    bounds: u8,
    #[form(min = 0.5, max = "x")]
    //~ `min` is a whole number that fits `i32`: from -2147483648 to 2147483647
    //~ `max` is a whole number that fits `i32`: from -2147483648 to 2147483647
    whole: i32,
    #[form(min = 2, max = 1)]
    //~ `max` is less than `min`
    crossed: f64,
    #[form(min_length = 3, choices = ["a", "a"])]
    //~ the choice `a` comes twice
    chosen: String,
    #[form(min_length = 3, choices = ["a", "b"])]
    //~ `min_length` says nothing beside `choices`: only these can be chosen
    bound: String,
    #[form(choices = [])]
    //~ there is nothing to choose from
    empty: String,
    #[form(choices = ["a", 7])]
    //~ write `choices = ["a", "b"]` or `choices = [("a", "Title A"), ("b", "Title B")]`
    strange: String,
}

fn main() {}
