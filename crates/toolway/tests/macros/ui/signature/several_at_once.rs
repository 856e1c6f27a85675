use toolway::prelude::*;

#[tool(nam = "x", title = 7)]
//~ unknown option `nam`, did you mean `name`? `#[tool]` has: name, title, description, read_only, destructive, idempotent, open_world, blocking, single_use, deadline, scopes, icon, icons, meta, schema, input_schema, output_schema
//~ write `title = "…"`
unsafe fn all((a, b): (f64, f64), c: impl Into<String>, #[arg(minimun = 1)] d: &mut String) -> impl Sized {
//~ a parameter of a tool needs a name: write `name: Type` and destructure it in the body
//~ unknown key `minimun`, did you mean `minimum`? `#[arg]` has: title, description, default, format, minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, min_length, max_length, pattern, min_items, max_items, unique_items, enum, example, header
//~ a tool cannot be `unsafe`: clients call it with any arguments
//~ a tool cannot be generic: write the type instead of `impl …`
//~ an argument belongs to one call: take the value itself instead of `&mut`
//~ the return type of a tool must have a name: write the type instead of `impl …`
    let _ = (a, b, c.into(), d);
}

fn main() {}
