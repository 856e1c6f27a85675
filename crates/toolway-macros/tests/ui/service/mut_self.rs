use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save(&mut self) {}

    #[prompt]
    fn review(self) -> String {
        String::new()
    }

    #[resource(uri = "notes://index")]
    fn index(self: std::sync::Arc<Self>) -> String {
        String::new()
    }
}

fn main() {}
