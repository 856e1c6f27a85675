use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
#[form(rename_all = "camelCase", titel = "x")]
//~ fields are renamed one by one, with `#[form(rename = "…")]`
//~ unknown key `titel`; `#[form]` on a struct has: name
struct Keys {
    #[form]
    //~ write `#[form(…)]`
    a: String,
    #[form(titel = "A", title = 7, default)]
    //~ unknown key `titel`, did you mean `title`? `#[form]` on a field has: title, description, default, format, min_length, max_length, minimum, min, maximum, max, min_items, max_items, choices, rename
    //~ write `title = "…"`
    //~ write `default = …`
    b: String,
    #[form(min = 1, minimum = 2, pattern = "^a", optional)]
    //~ forms do not support patterns: explain it in the description, and check it in the handler
    //~ a field that may be left out must be an `Option`
    //~ `minimum` and `min` mean the same: keep one
    c: u8,
    #[form(rename = "a")]
    //~ there is another field with the name `a`
    d: bool,
}

#[derive(Form)]
#[form(rename_all = "lowercase")]
//~ variants are renamed one by one, with `#[form(rename = "…")]`
enum Colour {
    #[form(default, rename = Green)]
    //~ unknown key `default`; `#[form]` on a variant has: title, rename
    //~ write `rename = "…"`
    Red,
    #[form(rename = "Red")]
    //~ there is another choice with the name `Red`
    Green,
}

fn main() {}
