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
//~ a form cannot be generic: its fields are known when it is asked
    value: T,
}

#[derive(Form)]
union Both {
//~ a form is a struct with named fields, or an enum to choose from
    a: u8,
    b: i8,
}

#[derive(Form)]
enum Nobody {}
//~ there is nothing to choose from

#[derive(Form)]
#[form(name = "x")]
//~ `name` belongs to a struct, a field or a variant: there is nothing to say about an enum
enum Shape {
    Circle(f64),
    //~ a choice has no fields: forms have nothing inside fields
    Square { side: f64 },
    //~ a choice has no fields: forms have nothing inside fields
}

fn asks<F: Form>() {}

struct Plain;

fn main() {
    asks::<Unit>();
    asks::<Plain>();
    //~ `Plain` is not a form
}
