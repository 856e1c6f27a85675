use toolway::prelude::*;

#[resource(uri = "notes://{id")]
//~ `{id` is never closed, add `}` after the variable
fn open(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://id}")]
//~ `}` closes nothing, add `{` before the variable
fn close(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{=id}")]
//~ `{=id}`: `=` is reserved by RFC 6570, use one of `+ # . / ; ? &` or none
fn sign(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{my id}")]
//~ `{my id}`: "my id" is not a variable name, use letters, digits and `_`
fn name(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{id}/{id}")]
//~ the variable `id` comes twice, give each one its own name
fn twice(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{id:0}")]
//~ `:0` is not a prefix length, use a number from 1 to 9999
fn prefix(id: u64) -> String {
    id.to_string()
}

fn main() {}
