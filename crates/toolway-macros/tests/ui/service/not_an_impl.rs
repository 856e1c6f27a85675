use toolway::prelude::*;

#[service]
struct Notes;

#[service]
impl Default for Notes {
    fn default() -> Self {
        Notes
    }
}

struct Empty;

#[service(name = "x")]
impl Empty {
    fn nothing(&self) {}
}

struct Twice;

#[service]
impl Twice {
    #[tool]
    #[prompt]
    fn both(&self) {}
}

fn main() {}
