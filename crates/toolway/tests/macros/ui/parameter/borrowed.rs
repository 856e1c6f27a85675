use toolway::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct P<'a> {
    name: &'a str,
}

#[tool]
fn shout(text: Option<&str>, ctx: &Ctx) -> String {
    //~ an argument must own its data: write `Option<String>`
    let _ = ctx;
    text.unwrap_or_default().to_owned()
}

#[tool]
fn lists<'a>(texts: &[&'a str], pairs: Vec<(&str, &[u8])>, one: Option<&'static str>) {
    //~ an argument must own its data: write `&[String]`
    //~ an argument must own its data: write `Vec<(String, Vec<u8>)>`
    //~ an argument must own its data: write `Option<String>`
    let _ = (texts, pairs, one);
}

#[prompt]
fn greet(p: P<'_>) -> String {
    //~ an argument must own its data: write `P` without a lifetime, with owned fields such as `String`
    p.name.to_owned()
}

fn main() {}
