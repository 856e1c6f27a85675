use toolway::prelude::*;

#[tool]
fn save(#[arg(min_lenght = 1, colour = "red")] title: String) -> String {
//~ unknown key `min_lenght`, did you mean `min_length`? `#[arg]` has: title, description, default, format, minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, min_length, max_length, pattern, min_items, max_items, unique_items, enum, example, header
//~ unknown key `colour`; `#[arg]` has: title, description, default, format, minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, min_length, max_length, pattern, min_items, max_items, unique_items, enum, example, header
    title
}

fn main() {}
