use toolway::prelude::*;

struct Notes;

impl Notes {
    #[tool]
    fn count(&self, #[arg(minimum = 1)] least: u8) -> u8 {
    //~ a method can be a tool only inside an `impl` block that is marked `#[service]`
        least
    }

    #[resource(uri = "notes://index")]
    fn index(&mut self) -> String {
    //~ a method can be a resource only inside an `impl` block that is marked `#[service]`
        String::new()
    }
}

fn main() {}
