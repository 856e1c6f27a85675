use toolway::prelude::*;

#[derive(Debug)]
struct MyErr;

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Out {
    sum: i64,
}

#[tool]
fn text() -> Result<String, MyErr> {
    //~ return `ToolError`, or implement `std::error::Error` for `MyErr`
    Err(MyErr)
}

#[tool]
async fn described() -> Result<Out, MyErr> {
    //~ return `ToolError`, or implement `std::error::Error` for `MyErr`
    Ok(Out { sum: 1 })
}

#[tool]
fn both() -> Result<Option<Out>, MyErr> {
    //~ return `ToolError`, or implement `std::error::Error` for `MyErr`
    Ok(None)
}

#[resource("notes://index")]
fn index() -> Result<String, MyErr> {
    //~ return `ResourceError`, or implement `std::error::Error` for `MyErr`
    Err(MyErr)
}

#[prompt]
fn review() -> Result<String, MyErr> {
    //~ return `PromptError`, or implement `std::error::Error` for `MyErr`
    Err(MyErr)
}

fn main() {}
