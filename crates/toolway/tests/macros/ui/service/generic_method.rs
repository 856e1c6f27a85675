use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save<T>(&self, value: T) {
    //~ a tool cannot be generic: its types must be known when the server is built
        let _ = value;
    }
}

fn main() {}
