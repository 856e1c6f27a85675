use toolway::prelude::*;

/// As the crates have them, without the feature of `schemars`.
mod chrono {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct NaiveDate;
}

mod jiff {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Timestamp;
}

mod uuid {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Uuid;
}

use uuid::Uuid;

#[tool]
fn book(day: chrono::NaiveDate) {
    //~ the feature `chrono04` of `schemars`
    let _ = day;
}

#[tool]
fn remind(at: Option<jiff::Timestamp>) {
    //~ the feature `jiff02` of `schemars`
    let _ = at;
}

#[prompt]
fn show(ids: Vec<Uuid>) -> String {
    //~ the feature `uuid1` of `schemars`
    let _ = ids;
    String::new()
}

#[tool]
fn new_id() -> Uuid {
    //~ `chrono04`, `jiff02` or `uuid1`
    Uuid
}

fn main() {}
