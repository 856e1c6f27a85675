use toolway::prelude::*;

#[tool]
fn add((a, b): (f64, f64), State(unit): State<String>) -> String {
    //~ a parameter of a tool needs a name: write `name: Type` and take it apart inside
    format!("{} {unit}", a + b)
}

fn main() {}
