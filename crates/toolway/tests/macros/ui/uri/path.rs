use toolway::prelude::*;

#[resource(uri = "files:///{path}")]
//~ `{path}` matches one segment; write `{+path}` to match slashes
fn file(path: String) -> String {
    path
}

#[resource(uri = "files:///x/{name}")]
//~ `{name}` matches one segment; write `{+name}` to match slashes
fn named(name: &std::path::Path) -> String {
    name.display().to_string()
}

fn main() {}
