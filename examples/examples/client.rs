//! A client that starts a server as a child process, lists and calls its tools, receives progress, answers a question,
//! cancels a call, receives changes and closes. `cargo run -p toolway-examples --example client`; this program is its
//! own server.
//!
//! With a server of yours, `cargo run -p toolway-examples --example client -- http://localhost:8000/mcp` or `-- "npx -y
//! some-server"`, it prints what the server offers.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use toolway::Form;
use toolway::client::{Answer, Change, Command, Elicitation};
use toolway::prelude::*;
use toolway::server::ToolEntry;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("--child") => serve().await,
        Some(target) => show(&Client::connect(target).await?).await,
        None => play().await,
    }
}

#[expect(clippy::print_stdout, reason = "the example prints its results")]
async fn show(client: &Client) -> toolway::Result<()> {
    let info = client.server_info().map(|info| format!("{} {}", info.name, info.version));
    println!("{}, in {}", info.as_deref().unwrap_or("a server"), client.protocol_version());
    for tool in client.tools().await? {
        println!("  {}: {}", tool.name, tool.description());
    }
    Ok(())
}

#[derive(Deserialize)]
struct Weather {
    celsius: f64,
}

#[expect(clippy::print_stdout, reason = "the example prints its results")]
async fn play() -> toolway::Result<()> {
    // A command line as one text would also work. Here the path may contain spaces.
    let server = Command::new(std::env::current_exe()?).arg("--child");
    let client = Client::builder()
        .info("example", "1.0.0")
        .connect_timeout(Duration::from_secs(10))
        .on_elicit(answer)
        .connect(server)
        .await?;
    show(&client).await?;

    // The same result as text for a model, and as a type for a program.
    let result = client.call("weather", json!({"city": "Oslo"})).await?;
    println!("weather: {}; that is {} degrees", result.text()?, result.decode::<Weather>()?.celsius);

    // A tool that failed has sent a result. A call that failed has not.
    let failed = client.call("weather", json!({"city": "Rome"})).await?;
    println!("failed: {}", failed.text().expect_err("there is no weather in Rome"));
    let unknown = client.call("wether", json!({})).await.expect_err("there is no such tool");
    println!("refused: {:?}: {unknown}", unknown.kind());

    let mut brewing = client.call("brew", json!({"cups": 3})).start();
    while let Some(progress) = brewing.progress().await {
        println!("progress: {} {}", progress.progress, progress.message.as_deref().unwrap_or_default());
    }
    println!("brewed: {}", brewing.await?.text()?);

    println!("asked: {}", client.call("order", json!({})).await?.text()?);

    // The server sends nothing until the timeout. Dropping the call would cancel it as well.
    let late = client.call("wait", json!({})).timeout(Duration::from_millis(50)).await;
    println!("late: {}", late.expect_err("it never ends"));

    let mut changes = client.watch([""; 0]).await?;
    println!("learned: {}", client.call("learn", json!({})).await?.text()?);
    while changes.next().await != Some(Change::Tools) {}
    println!("now there are {} tools", client.tools().await?.len());

    // The child has ended when this returns.
    client.close().await
}

/// Answers for the user. A real program would show the form and wait for input.
async fn answer(question: Elicitation) -> Answer {
    match question.form() {
        Some(form) if form.properties.0.iter().any(|(name, _)| name == "drink") => {
            Answer::accept(json!({"drink": "coffee"}))
        }
        _ => Answer::decline(),
    }
}

/// Runs the server in the child process.
async fn serve() -> toolway::Result<()> {
    Server::new("café", "1.0.0").tools(tools![weather, brew, order, wait, learn]).serve_stdio().await
}

/// The weather in a city.
#[tool]
fn weather(city: &str) -> Result<Json<serde_json::Value>, ToolError> {
    match city {
        "Oslo" => Ok(Json(json!({"celsius": -3.5}))),
        other => Err(ToolError::new(format!("there is no weather in {other}"))),
    }
}

/// Brew coffee, cup by cup.
#[tool]
async fn brew(cups: u32, ctx: Ctx) -> String {
    for cup in 1..=cups {
        ctx.progress(cup, cups, format!("cup {cup} is full")).await;
    }
    format!("{cups} cups")
}

#[derive(Form)]
struct Order {
    /// What would you like?
    drink: String,
}

/// Ask the user what to bring.
#[tool]
async fn order(ctx: Ctx) -> Result<String, ToolError> {
    let Order { drink } = ctx.ask("What may it be?").await?;
    Ok(format!("{drink} is on its way"))
}

/// Never finish.
#[tool]
async fn wait() -> String {
    std::future::pending().await
}

/// Learn a new tool.
#[tool]
fn learn(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.server().add_tool(ToolEntry::of::<wink>())?;
    Ok("how to wink")
}

/// Wink.
#[tool]
fn wink() -> &'static str {
    ";-)"
}
