use toolway::prelude::*;

#[tool]
fn show<T: std::fmt::Display>(value: T) -> String {
//~ a tool cannot be generic: its types must be known when the server is built
    value.to_string()
}

#[prompt]
#[derive(serde::Deserialize)]
struct Ask<T> {
//~ a prompt cannot be generic: its types must be known when the server is built
    value: T,
}

fn main() {
    // Function and type are still there for their users, and add no errors of their own.
    show(7);
    let _ = tools![show];
}
