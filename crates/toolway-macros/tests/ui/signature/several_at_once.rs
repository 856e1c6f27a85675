use toolway::prelude::*;

#[tool(nam = "x", title = 7)]
unsafe fn all(&self, (a, b): (f64, f64), c: impl Into<String>, d: &mut String) {}

fn main() {}
