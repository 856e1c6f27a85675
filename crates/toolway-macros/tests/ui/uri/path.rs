use toolway::prelude::*;

#[resource(uri = "files:///{path}")]
fn file(path: String) -> String {
    path
}

#[resource(uri = "files:///x/{name}")]
fn named(name: &std::path::Path) -> String {
    name.display().to_string()
}

fn main() {}
