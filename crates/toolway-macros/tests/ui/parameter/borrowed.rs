use toolway::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct P<'a> {
    name: &'a str,
}

#[tool]
fn shout(text: Option<&str>, ctx: &Ctx) -> String {
    //~ an argument owns its data: write `Option<String>`
    let _ = ctx;
    text.unwrap_or_default().to_owned()
}

#[tool]
fn lists<'a>(texts: &[&'a str], pairs: Vec<(&str, &[u8])>, one: Option<&'static str>) {
    //~ an argument owns its data: write `&[String]`
    //~ an argument owns its data: write `Vec<(String, Vec<u8>)>`
    //~ an argument owns its data: write `Option<String>`
    let _ = (texts, pairs, one);
}

#[prompt]
fn greet(p: P<'_>) -> String {
    //~ an argument owns its data: write `P` without a lifetime, its fields as `String` and the like
    p.name.to_owned()
}

fn main() {}
