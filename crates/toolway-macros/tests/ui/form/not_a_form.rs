use toolway::prelude::*;

#[derive(Form)]
struct Unit;

#[derive(Form)]
struct Pair(String, bool);

#[derive(Form)]
struct Generic<T> {
    value: T,
}

#[derive(Form)]
union Both {
    a: u8,
    b: i8,
}

#[derive(Form)]
enum Nobody {}

#[derive(Form)]
#[form(name = "x")]
enum Shape {
    Circle(f64),
    Square { side: f64 },
}

fn asks<F: Form>() {}

struct Plain;

fn main() {
    asks::<Unit>();
    asks::<Plain>();
}
