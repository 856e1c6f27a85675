use toolway::prelude::*;

#[resource(uri = "notes://{id}/{section}{?lmit}")]
fn note(id: u64, limit: Option<u8>) -> String {
    format!("{id} {limit:?}")
}

#[resource(uri = "users://{id}")]
#[derive(serde::Deserialize)]
struct User {
    name: String,
}

impl Run for User {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        self.name
    }
}

fn main() {}
