use toolway::prelude::*;

#[tool(nmae = "a", colour = "red")]
//~ unknown option `nmae`, did you mean `name`? `#[tool]` has: name, title, description, read_only, destructive, idempotent, open_world, blocking, single_use, deadline, scopes, icon, icons, meta, schema, input_schema, output_schema
//~ unknown option `colour`; `#[tool]` has: name, title, description, read_only, destructive, idempotent, open_world, blocking, single_use, deadline, scopes, icon, icons, meta, schema, input_schema, output_schema
fn one() {}

#[resource(uri = "notes://a", mime_type = "text/plain")]
//~ unknown option `mime_type`, did you mean `mime`? `#[resource]` has: uri, name, title, description, mime, size, annotations, scopes, blocking, icon, icons, meta
fn two() -> String {
    String::new()
}

#[prompt(read_only)]
//~ unknown option `read_only`; `#[prompt]` has: name, title, description, scopes, blocking, icon, icons, meta
fn three() -> String {
    String::new()
}

fn main() {}
