use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save(&self) {}

    #[tool(name = "save")]
    fn keep(&self) {}

    #[prompt(name = "save")]
    fn review(&self) -> String {
        String::new()
    }

    #[resource(uri = "notes://index")]
    fn index(&self) -> String {
        String::new()
    }

    #[resource(uri = "notes://index")]
    fn list(&self) -> String {
        String::new()
    }
}

fn main() {}
