use toolway::prelude::*;

struct Address;

#[derive(Form)]
struct Person<'a> {
    name: &'a str,
}

#[derive(Form)]
struct Order {
    note: &'static str,
    texts: Vec<String>,
    numbers: Option<Vec<u8>>,
}

#[derive(Form)]
struct Nested {
    address: Address,
    pair: (u8, u8),
}

fn main() {}
