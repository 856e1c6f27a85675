use toolway::prelude::*;

#[resource(uri = "notes://{id")]
fn open(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://id}")]
fn close(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{=id}")]
fn sign(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{my id}")]
fn name(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{id}/{id}")]
fn twice(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://{id:0}")]
fn prefix(id: u64) -> String {
    id.to_string()
}

fn main() {}
