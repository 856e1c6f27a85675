use toolway::prelude::*;

#[resource]
//~ a resource needs a URI: `#[resource(uri = "notes://index")]`
fn none() -> String {
    String::new()
}

#[resource(uri = "notes")]
//~ this is not a URI: begin with a scheme, as in `notes://index`
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
//~ this is not a URI: encode 'ü' with `%`
fn beyond_ascii() -> String {
    String::new()
}

fn main() {}
