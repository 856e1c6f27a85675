use toolway::prelude::*;

#[service]
struct Notes;
//~ `#[service]` applies to an `impl` block: expected `impl`

#[service]
impl Default for Notes {
//~ `#[service]` applies to an `impl` block of a type, not of a trait
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
    //~ a method can have only one of `#[tool]`, `#[resource]` and `#[prompt]`
    fn both(&self) {}
}

fn main() {}
