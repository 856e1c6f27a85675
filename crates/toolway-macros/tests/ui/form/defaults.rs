use toolway::prelude::*;

#[derive(Form)]
enum Colour {
    Red,
}

#[derive(Form)]
struct Defaults {
    #[form(default = "yes")]
    flag: bool,
    #[form(default = 1)]
    text: Option<String>,
    #[form(default = 256)]
    small: u8,
    #[form(default = 0.5)]
    whole: i64,
    #[form(default = true)]
    number: f64,
    #[form(default = 11, max = 10)]
    bounded: u8,
    #[form(default = "", min_length = 1)]
    named: String,
    #[form(default = "c", choices = ["a", "b"])]
    chosen: String,
    #[form(default = "a", choices = ["a", "b"])]
    list: Vec<String>,
    #[form(default = ["c"], choices = ["a", "b"])]
    other: Vec<String>,
    #[form(default = [7])]
    colours: Vec<Colour>,
}

fn main() {}
