use toolway::prelude::*;
use toolway::server::Principal;

#[tool]
fn whoami(caller: Option<Principal>) -> String {
    //~ call `ctx.principal()` instead
    caller.map_or_else(String::new, |caller| caller.to_string())
}

fn main() {}
