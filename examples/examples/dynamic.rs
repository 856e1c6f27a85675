//! Tools that are only known at run time: schemas from a file, handlers from a table, and changes while clients are
//! connected. `cargo run -p toolway-examples --example dynamic`.

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::types::{Tool, ToolAnnotations};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("dynamic", "1.0.0").tools(from_table(TABLE)?).tool(definer()).build()?;
    server.serve_stdio().await?;
    Ok(())
}

/// Rows that a configuration file or a database might contain.
const TABLE: &str = r#"[
    {"name": "shout", "description": "Say it loudly.", "template": "{text}!"},
    {"name": "quote", "description": "Put it in quotes.", "template": "“{text}”"}
]"#;

#[derive(serde::Deserialize)]
struct Row {
    name: String,
    description: String,
    template: String,
}

fn from_table(table: &str) -> serde_json::Result<Vec<ToolEntry>> {
    let rows: Vec<Row> = serde_json::from_str(table)?;
    Ok(rows.into_iter().map(filled_in).collect())
}

/// Makes a tool whose schema is written by hand and whose handler is a closure.
fn filled_in(Row { name, description, template }: Row) -> ToolEntry {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1, "description": "What to say."}},
        "required": ["text"],
        "additionalProperties": false
    });
    let definition = Tool::new(name, schema)
        .with_description(description)
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true));
    // The arguments were checked against the schema before this runs.
    ToolEntry::define(definition, move |arguments: Value| {
        let said = template.replace("{text}", arguments["text"].as_str().unwrap_or_default());
        async move { said }
    })
}

/// A tool that adds tools. Clients are notified that the tool list changed.
fn definer() -> ToolEntry {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Definition {
        /// The name of the new tool.
        name: String,
        /// The answer of the tool; `{text}` stands for its argument.
        template: String,
    }
    ToolEntry::from_fn("define", |new: Definition, ctx: Ctx| async move {
        let Definition { name, template } = new;
        let description = format!("Made at run time: {template}");
        let tool = filled_in(Row { name: name.clone(), description, template });
        // With `?` alone the model would not see what is wrong: it only sees the text given to `ToolError::new`.
        ctx.server().add_tool(tool).map_err(|error| ToolError::new(error.to_string()))?;
        Ok::<_, ToolError>(format!("{name} is there"))
    })
    .with_description("Define another tool.")
}
