use toolway::prelude::*;

#[tool]
fn add(a: f64) -> f64 {
    a
}

fn main() {
    let _ = Server::new("app", "1").tools([add]);
    //~ write `tools![f]`
    let _ = Server::new("app", "1").tool(add);
    //~ write `tools![f]`
}
