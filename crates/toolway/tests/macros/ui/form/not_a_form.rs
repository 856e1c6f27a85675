use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
struct Unit;
//~ the fields of a form need names: write `struct Name { field: Type }`

#[derive(Form)]
struct Pair(String, bool);
//~ the fields of a form need names: write `struct Name { field: Type }`

#[derive(Form)]
struct Generic<T> {
//~ a form cannot be generic: its fields must be known when the question is asked
    value: T,
}

#[derive(Form)]
union Both {
//~ a form must be a struct with named fields, or an enum to choose from
    a: u8,
    b: i8,
}

#[derive(Form)]
enum Nobody {}
//~ an enum needs at least one variant to choose from

#[derive(Form)]
#[form(name = "x")]
//~ `name` does not apply to an enum, only to a struct, a field or a variant
enum Shape {
    Circle(f64),
    //~ a variant cannot have fields: forms have no nested values
    Square { side: f64 },
    //~ a variant cannot have fields: forms have no nested values
}

fn asks<F: Form>() {}

struct Plain;

fn main() {
    asks::<Unit>();
    asks::<Plain>();
    //~ `Plain` is not a form
}
