use toolway::prelude::*;

#[resource]
//~ a resource has an address: `#[resource(uri = "notes://index")]`
fn none() -> String {
    String::new()
}

#[resource(uri = "notes")]
//~ this is no URI: it begins with a scheme, as in `notes://index`
fn no_scheme() -> String {
    String::new()
}

#[resource(uri = "notes://my notes")]
//~ ' ' is not allowed in a URI, write `%20`
fn space() -> String {
    String::new()
}

#[resource(uri = "notes://100%")]
//~ `%` must be followed by two hex digits, write `%25` for the sign itself
fn percent() -> String {
    String::new()
}

#[resource("notes://ü")]
//~ this is no URI: 'ü' cannot stand in it, encode it with `%`
fn beyond_ascii() -> String {
    String::new()
}

fn main() {}
