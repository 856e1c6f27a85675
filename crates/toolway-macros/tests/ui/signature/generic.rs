use toolway::prelude::*;

#[tool]
fn show<T: std::fmt::Display>(value: T) -> String {
    value.to_string()
}

fn main() {
    // The function is still there for its callers, and adds no errors of its own.
    show(7);
}
