use toolway::prelude::*;
use toolway::server::Run;

#[resource(uri = "notes://{id}/{section}{?lmit}")]
//~ the variable `section` has no parameter: add one with this name
//~ the variable `lmit` has no parameter: did you mean `limit`?
fn note(id: u64, limit: Option<u8>) -> String {
    format!("{id} {limit:?}")
}

#[resource(uri = "users://{id}")]
//~ the variable `id` has no field: add one with this name
#[derive(serde::Deserialize)]
struct User {
    name: String,
    //~ the URI has no variable `{name}` to read this field from
}

impl Run for User {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        self.name
    }
}

fn main() {}
