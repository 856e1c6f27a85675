use toolway::Form;
use toolway::prelude::*;

struct Address;

#[derive(Form)]
struct Person<'a> {
//~ a form cannot be generic: its fields are known when it is asked
    name: &'a str,
    //~ a form owns its values: write the value's own type, as `String` for `&str`
}

#[derive(Form)]
struct Order {
    note: &'static str,
    //~ a form owns its values: write the value's own type, as `String` for `&str`
    texts: Vec<String>,
    //~ a list of texts is chosen from a list: add `#[form(choices = ["a", "b"])]`
    numbers: Option<Vec<u8>>,
    //~ a list is chosen from a list: it is of an enum that derives `Form`, or of `String`
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
