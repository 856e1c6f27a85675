use toolway::prelude::*;

#[resource]
fn none() -> String {
    String::new()
}

#[resource(uri = "notes")]
fn no_scheme() -> String {
    String::new()
}

#[resource(uri = "notes://my notes")]
fn space() -> String {
    String::new()
}

#[resource(uri = "notes://100%")]
fn percent() -> String {
    String::new()
}

#[resource("notes://ü")]
fn beyond_ascii() -> String {
    String::new()
}

fn main() {}
