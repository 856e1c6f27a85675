use toolway::prelude::*;

#[service]
struct Notes;
//~ `#[service]` stands on an `impl` block: expected `impl`

#[service]
impl Default for Notes {
//~ `#[service]` stands on an `impl` block of a type, not of a trait
    fn default() -> Self {
        Notes
    }
}

struct Empty;

#[service(name = "x")]
//~ `#[service]` has no options
impl Empty {
    fn nothing(&self) {}
}

struct Twice;

#[service]
impl Twice {
    #[tool]
    #[prompt]
    //~ one method is one thing: it is marked already
    fn both(&self) {}
}

fn main() {}
