use toolway::prelude::*;

#[derive(Form)]
#[form(rename_all = "camelCase", titel = "x")]
struct Keys {
    #[form]
    a: String,
    #[form(titel = "A", title = 7, default)]
    b: String,
    #[form(min = 1, minimum = 2, pattern = "^a", optional)]
    c: u8,
    #[form(rename = "a")]
    d: bool,
}

#[derive(Form)]
#[form(rename_all = "lowercase")]
enum Colour {
    #[form(default, rename = Green)]
    Red,
    #[form(rename = "Red")]
    Green,
}

fn main() {}
