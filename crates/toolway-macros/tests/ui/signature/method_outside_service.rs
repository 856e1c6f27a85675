use toolway::prelude::*;

struct Notes;

impl Notes {
    #[tool]
    fn count(&self, #[arg(minimum = 1)] least: u8) -> u8 {
        least
    }

    #[resource(uri = "notes://index")]
    fn index(&mut self) -> String {
        String::new()
    }
}

fn main() {}
