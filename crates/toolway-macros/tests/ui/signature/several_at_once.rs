use toolway::prelude::*;

#[tool(nam = "x", title = 7)]
unsafe fn all((a, b): (f64, f64), c: impl Into<String>, #[arg(minimun = 1)] d: &mut String) -> impl Sized {
    let _ = (a, b, c.into(), d);
}

fn main() {}
