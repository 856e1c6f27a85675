use toolway::Form;
use toolway::prelude::*;

struct Address;

#[derive(Form)]
struct Person<'a> {
//~ a form cannot be generic: its fields must be known when the question is asked
    name: &'a str,
    //~ a form must own its values: write an owned type, such as `String` for `&str`
}

#[derive(Form)]
struct Order {
    note: &'static str,
    //~ a form must own its values: write an owned type, such as `String` for `&str`
    texts: Vec<String>,
    //~ a list of strings needs choices: add `#[form(choices = ["a", "b"])]`
    numbers: Option<Vec<u8>>,
    //~ the items of a list must be an enum that derives `Form`, or a `String` with `choices`
}

#[derive(Form)]
struct Nested {
    address: Address,
    //~ `Address` cannot be a field of a form
    //~ `Address` cannot be a field of a form
    pair: (u8, u8),
    //~ `(u8, u8)` cannot be a field of a form
    //~ `(u8, u8)` cannot be a field of a form
}

fn main() {}
