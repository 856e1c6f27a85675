use toolway::prelude::*;

#[derive(serde::Serialize)]
struct Out {
    sum: i64,
}

#[tool]
fn plain() -> Out {
    //~ derive `schemars::JsonSchema` too
    Out { sum: 1 }
}

#[tool]
fn list() -> Vec<Out> {
    //~ derive `schemars::JsonSchema` too
    Vec::new()
}

#[tool]
async fn fallible() -> Result<Out, ToolError> {
    //~ derive `schemars::JsonSchema` too
    Ok(Out { sum: 1 })
}

#[tool]
fn optional() -> Option<Out> {
    //~ derive `schemars::JsonSchema` too
    None
}

#[tool]
fn both() -> Result<Option<Out>, ToolError> {
    //~ derive `schemars::JsonSchema` too
    Ok(None)
}

fn main() {}
