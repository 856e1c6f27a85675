use toolway::prelude::*;

#[tool]
fn add((a, b): (f64, f64), State(unit): State<String>) -> String {
    //~ a parameter of a tool needs a name: write `name: Type` and destructure it in the body
    format!("{} {unit}", a + b)
}

fn main() {}
