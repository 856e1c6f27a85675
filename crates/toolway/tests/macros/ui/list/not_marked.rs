use toolway::prelude::*;

mod files {
    pub fn read() -> String {
        String::new()
    }
}

struct Save;

#[prompt]
fn review() -> String {
    String::new()
}

#[tool]
fn good() {}

fn main() {
    fn add(a: f64) -> f64 {
        a
    }
    let _ = tools![good, add];
    //~ `add` is not marked `#[tool]`
    let _ = tools![files::read as "read"];
    //~ `read` is not marked `#[tool]`
    let _ = tools![Save];
    //~ `Save` is not marked `#[tool]`
    let _ = tools![review];
    //~ `review` is not marked `#[tool]`
    let _ = resources![add];
    //~ `add` is not marked `#[resource]`
    let _ = prompts![add];
    //~ `add` is not marked `#[prompt]`
}

/// A variable of the same name does not matter.
#[allow(dead_code)]
fn shadowed() {
    let (good, files, add) = (1, 2, 3);
    let _ = tools![good];
    let _ = (good, files, add);
    let _ = tools![files::read];
    //~ `read` is not marked `#[tool]`
}
