use toolway::prelude::*;

type Maybe<T> = Option<T>;

#[resource(uri = "notes://{id}{?limit,lang}")]
fn note(id: Maybe<u64>, limit: u8, lang: Maybe<String>) -> String {
    format!("{id:?} {limit} {lang:?}")
}

#[resource(uri = "users://{id}")]
fn user(#[arg(default = 1)] id: u64) -> String {
    id.to_string()
}

fn main() {}
