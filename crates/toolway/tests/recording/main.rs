//! Are all frames of a client recorded, without the secrets in them, and can a recording be read again?

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cassettes;
mod frames;
mod secrets;

use std::path::PathBuf;

use serde_json::Value;
use toolway::client::record::{FrameBody, RecordedFrame, Recorder};
use toolway::prelude::*;
use toolway::server::http::HttpService;

/// Returns what it is given.
#[tool]
fn echo(text: String, password: Option<String>) -> String {
    format!("{text} {}", password.unwrap_or_default())
}

/// Reports progress twice.
#[tool]
async fn work(ctx: Ctx) -> &'static str {
    ctx.progress_of(1, 2).await;
    ctx.progress_of(2, 2).await;
    "done"
}

fn server() -> Server {
    Server::new("recorded", "1.2.3").tools(tools![echo, work]).build().unwrap()
}

/// Serves over HTTP until the returned task is dropped. Returns the URL.
async fn serve(service: HttpService) -> (String, tokio::task::JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move { drop(service.serve(listener).await) });
    (url, serving)
}

/// The program of the tests of child processes, in the folder beside the tests.
fn fixture() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/process-fixture")
}

/// A file that does not exist yet, in a folder of its own.
fn new_file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("recording-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// The message in a frame.
fn message(frame: &RecordedFrame) -> Option<Value> {
    match &frame.body {
        FrameBody::Json(text) => Some(serde_json::from_str(text.as_str()).unwrap()),
        _ => None,
    }
}

/// Returns the frames whose message has this method.
fn with_method(recorder: &Recorder, method: &str) -> Vec<Value> {
    let frames = recorder.frames(0);
    let messages = frames.iter().filter_map(|frame| message(frame));
    messages.filter(|message| message["method"] == method).collect()
}
