use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save(&self) {}

    #[tool(name = "save")]
    //~ there is another tool `save` in this block
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
    //~ there is another resource `notes://index` in this block
    fn list(&self) -> String {
        String::new()
    }
}

fn main() {}
