use toolway::prelude::*;

type Maybe<T> = Option<T>;

#[resource(uri = "notes://{id}{?limit,lang}")]
fn note(id: Maybe<u64>, limit: u8, lang: Maybe<String>) -> String {
//~ `id` is in every URI of this template; take the value without `Option`
//~ `limit` may be missing in the URI: take an `Option`, or write `#[arg(default = …)]`
    format!("{id:?} {limit} {lang:?}")
}

#[resource(uri = "users://{id}")]
fn user(#[arg(default = 1)] id: u64) -> String {
//~ `id` is in every URI of this template; its default would never be used
    id.to_string()
}

fn main() {}
