use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save<T>(&self, value: T) {
        let _ = value;
    }
}

fn main() {}
