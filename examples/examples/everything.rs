//! Every feature of a server in one program: `cargo run -p toolway-examples --example everything`, over stdio, or over
//! HTTP with `--http` or `--http ADDRESS`. With `--store URL` after it, several processes are one server, on Redis.
//! Clients are tested against it.

#[path = "everything/asking.rs"]
mod asking;
#[path = "everything/shared.rs"]
mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolway::prelude::*;
use toolway::server::{
    Audio, CompletionRequest, Cursor, Embedded, Image, Message, PromptMessages, ReadRequest, ResourcePage,
    Text, user,
};
use toolway::store::{MemoryStore, Store};
use toolway::types::{Icon, LogLevel, Resource};
use toolway_redis::Redis;

use shared::Shared;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--http", address, "--store", url] => {
            // Longer than the default: clients are tested on busy machines.
            let store = Redis::builder(url).timeout(Duration::from_secs(4)).connect().await?;
            let store: Arc<dyn Store> = Arc::new(store);
            let shared = Shared::new(store.clone());
            let server = server(shared.clone()).store(store).build()?;
            shared.join(&server).await?;
            serve_http(server, address).await
        }
        ["--http", ref address @ ..] => {
            let server = server(Shared::new(Arc::new(MemoryStore::new()))).build()?;
            serve_http(server, address.first().unwrap_or(&"127.0.0.1:0")).await
        }
        _ => Ok(server(Shared::new(Arc::new(MemoryStore::new()))).serve_stdio().await?),
    }
}

async fn serve_http(server: Server, address: &str) -> Result<(), Box<dyn std::error::Error>> {
    // Not `serve_http(address)`: with port 0 the system picks a free port, which is known only after binding.
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    Ok(server.http().legacy_sse().serve(listener).await?)
}

fn server(shared: Shared) -> toolway::server::ServerBuilder {
    Server::new("everything", "1.0.0")
        .title("Everything")
        .description("One of each")
        .website("https://example.com/everything")
        .icon(Icon::new("https://example.com/everything.png").with_mime_type("image/png"))
        .instructions(
            "This server has one of everything. Call `add` for sums, read everything://readme for more.",
        )
        .state(shared)
        .state(Notes((0..250).collect()))
        .discover()
        .list_resources(dynamic)
        .read_resource(read_dynamic)
        .method("everything/sum", |Sum { a, b }: Sum| async move { json!({"sum": a + b}) })
}

/// The notes that exist.
struct Notes(Vec<u64>);

/// Add two numbers.
#[tool(
    title = "Add numbers",
    read_only,
    icon = "https://example.com/add.png",
    meta = {"example": true}
)]
fn add(
    /// First addend.
    a: f64,
    /// Second addend.
    b: f64,
) -> f64 {
    a + b
}

/// Return the same text.
#[tool(read_only)]
fn echo(text: &str) -> String {
    text.to_owned()
}

/// Divide two numbers.
#[tool(read_only)]
fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    if b == 0.0 {
        return Err(ToolError::new("division by zero: choose another `b`"));
    }
    Ok(a / b)
}

/// Fail for a reason that stays hidden.
#[tool]
fn fail() -> Result<String, ToolError> {
    Ok(std::fs::read_to_string("/nowhere/secret")?)
}

/// Panic.
#[tool]
fn crash() {
    panic!("a secret reason");
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    count: usize,
    sum: f64,
    mean: f64,
}

/// Describe a list of numbers.
#[tool(read_only)]
fn stats(values: Vec<f64>) -> Json<Stats> {
    let sum: f64 = values.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "no call has that many numbers")]
    let mean = if values.is_empty() { 0.0 } else { sum / values.len() as f64 };
    Json(Stats { count: values.len(), sum, mean })
}

/// The first numbers.
#[tool(read_only)]
fn numbers() -> Vec<u32> {
    vec![1, 2, 3]
}

/// A red dot.
#[tool(read_only)]
fn picture() -> Image {
    Image::png(DOT)
}

/// A short silence.
#[tool(read_only)]
fn sound() -> Audio {
    Audio::wav(SILENCE)
}

/// Three kinds of content at once.
#[tool(read_only)]
fn mixed() -> (Text, Image, Embedded) {
    let readme = Embedded::text("everything://readme", README).with_mime_type("text/markdown");
    (Text::new("text, picture, resource"), Image::png(DOT), readme)
}

/// A program.
#[tool(read_only)]
fn code() -> Text {
    Text::code("fn main() {}", "rust")
}

/// A link to a note.
#[tool(read_only)]
fn link(id: u64, ctx: Ctx) -> toolway::types::Content {
    ctx.link(note::uri(id))
}

/// Do nothing.
#[tool]
fn nothing() {}

/// Say yes, or nothing.
#[tool(read_only)]
fn maybe(say: bool) -> Option<String> {
    say.then(|| "yes".to_owned())
}

/// Count steps and report each of them.
#[tool]
async fn countdown(steps: u32, ctx: Ctx) -> &'static str {
    for step in 1..=steps {
        ctx.progress(step, steps, format!("step {step}")).await;
    }
    "done"
}

/// Say something at each level of the log.
#[tool]
async fn chatter(ctx: Ctx) -> &'static str {
    for (n, level) in LogLevel::ALL.into_iter().enumerate() {
        ctx.log()
            .with_name("chatter")
            .write(level, &format!("{} message", level.as_str()), json!({"n": n}))
            .await;
    }
    "logged"
}

/// Wait until the caller gives up.
#[tool]
async fn wait(shared: State<Shared>) -> Result<(), ToolError> {
    let _waiting = shared.begin_wait().await?;
    std::future::pending().await
}

/// How many calls are waiting now.
#[tool(read_only)]
async fn waiting(shared: State<Shared>) -> Result<u32, ToolError> {
    Ok(shared.waiting().await?)
}

/// How many waits have ended.
#[tool(read_only)]
async fn waited(shared: State<Shared>) -> Result<u32, ToolError> {
    Ok(shared.waited().await?)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plan {
    Free,
    Pro,
}

/// Make a profile.
#[tool]
fn profile(
    #[arg(min_length = 1, max_length = 20)] name: String,
    #[arg(format = "email", description = "Your e-mail address.")] email: String,
    #[arg(minimum = 18, maximum = 120)] age: u32,
    #[arg(default = "free")] plan: Plan,
) -> String {
    let _ = (email, age);
    format!("{name} {}", format!("{plan:?}").to_lowercase())
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Point {
    x: f64,
    y: f64,
}

/// Describe a point.
#[tool(read_only)]
fn describe(point: Point, tags: Option<Vec<String>>, labels: Option<BTreeMap<String, String>>) -> String {
    let tags = tags.unwrap_or_default().join(", ");
    let labels = labels.unwrap_or_default().len();
    format!("({}, {}) [{tags}] and {labels} labels", point.x, point.y)
}

/// Add a tool to the running server.
#[tool]
async fn add_tool(name: String, shared: State<Shared>, ctx: Ctx) -> Result<String, ToolError> {
    shared.add_tool(ctx.server(), &name).await?;
    Ok(format!("added {name}"))
}

/// Remove a tool from the running server.
#[tool]
async fn remove_tool(name: String, shared: State<Shared>, ctx: Ctx) -> Result<String, ToolError> {
    let was_there = shared.remove_tool(ctx.server(), &name).await?;
    Ok(if was_there { format!("removed {name}") } else { format!("there is no {name}") })
}

/// Say that a resource has changed.
#[tool]
fn touch(uri: &str, ctx: Ctx) {
    ctx.server().resource_updated(uri);
}

/// Say that the list of resources has changed.
#[tool]
fn resources_changed(ctx: Ctx) {
    ctx.server().resources_changed();
}

/// Read a resource of this server.
#[tool(read_only)]
async fn read(uri: &str, ctx: Ctx) -> Result<String, ToolError> {
    let contents = ctx.read_resource(uri).await?;
    Ok(contents.text().unwrap_or("(not text)").to_owned())
}

/// Say who calls.
#[tool(read_only)]
fn who(ctx: Ctx) -> String {
    let name = ctx.peer().info.as_ref().map_or("somebody", |info| &info.name);
    format!("{name} {}", ctx.peer().version)
}

/// What this server is about.
#[resource(uri = "everything://readme", mime = "text/markdown", annotations(audience = [user], priority = 0.9))]
fn readme() -> &'static str {
    README
}

/// The logo.
#[resource(uri = "everything://logo", mime = "image/png", size = 69)]
fn logo() -> Vec<u8> {
    DOT.to_vec()
}

/// The configuration.
#[resource(uri = "everything://config", mime = "application/json")]
fn config() -> Json<serde_json::Value> {
    Json(json!({"name": "everything", "version": 1}))
}

/// Several contents in one.
#[resource(uri = "everything://bundle")]
fn bundle() -> Vec<toolway::types::ResourceContents> {
    use toolway::types::ResourceContents;
    vec![
        ResourceContents::new("everything://bundle/text").with_mime_type("text/plain").with_text("text"),
        ResourceContents::new("everything://bundle/blob").with_mime_type("image/png").with_blob("AAAA"),
    ]
}

/// One note.
#[resource(uri = "everything://note/{id}", mime = "text/plain")]
fn note(#[arg(complete = note_ids)] id: u64) -> String {
    format!("note {id}")
}

async fn note_ids(typed: CompletionRequest, notes: State<Notes>) -> Vec<String> {
    typed.filter(notes.0.iter().map(u64::to_string))
}

/// A file at any path.
#[resource(uri = "everything://file/{+path}", mime = "text/plain")]
fn file(path: String) -> String {
    format!("file {path}")
}

async fn dynamic(Cursor(cursor): Cursor) -> ResourcePage {
    let first: u32 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(1);
    let last = (first + 9).min(25);
    let resources =
        (first..=last).map(|n| Resource::new(format!("everything://dynamic/{n}"), format!("dynamic {n}")));
    ResourcePage { resources: resources.collect(), next: (last < 25).then(|| (last + 1).to_string()) }
}

async fn read_dynamic(reading: ReadRequest) -> Option<String> {
    let n: u32 = reading.uri.strip_prefix("everything://dynamic/")?.parse().ok()?;
    (1..=25).contains(&n).then(|| format!("dynamic {n}"))
}

/// Greet a person.
#[prompt]
fn greet(
    /// Whom to greet.
    name: &str,
    /// How to greet.
    #[arg(default = "casual", complete = ["casual", "formal", "friendly"])]
    style: &str,
) -> String {
    format!("Greet {name} in a {style} style")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Rust,
    Python,
    TypeScript,
}

/// Review a program.
#[prompt(title = "Code review")]
fn review(code: &str, language: Language) -> PromptMessages {
    PromptMessages::new()
        .with_description("A code review")
        .assistant("You are a careful reviewer.")
        .user(format!("Review this {language:?} program:\n{code}"))
}

/// Several kinds of content.
#[prompt]
fn gallery() -> Vec<Message> {
    let readme = Embedded::text("everything://readme", README).with_mime_type("text/markdown");
    vec![user(("What is in the picture?", Image::png(DOT), readme))]
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: f64,
    b: f64,
}

const README: &str = "# Everything\n\nOne of each.\n";

/// A red PNG image of one pixel.
const DOT: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144,
    119, 83, 222, 0, 0, 0, 12, 73, 68, 65, 84, 8, 215, 99, 248, 207, 192, 0, 0, 3, 1, 1, 0, 24, 221, 141,
    176, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

/// A WAV file without samples.
const SILENCE: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00";
