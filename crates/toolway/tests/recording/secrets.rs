//! Is each secret removed, wherever it occurs?

use serde_json::json;
use toolway::client::record::Recorder;
use toolway::client::{Command, Http};
use toolway::prelude::*;

use super::{fixture, new_file, serve, server};

/// A secret with characters that are written differently in JSON and in URLs.
const STRANGE: &str = "pa\"ss/wörd 7";

#[tokio::test]
async fn secrets_of_a_process_are_in_no_cassette() {
    let path = new_file("process.jsonl");
    let secrets = [
        "env-secret-1",
        "env-secret-2",
        "argument-secret-3",
        "nested-secret-4",
        "url-secret-5",
        "query-secret-6",
        "text-secret-7",
        "hidden-secret-8",
        "bearer9secret9bearer",
        "list-secret-10",
    ];
    let command = Command::new(fixture())
        .arg("mirror")
        .env("PLAIN_NAME", secrets[0])
        .env("OTHER", secrets[1])
        .env("STRANGE", STRANGE)
        .env("SHORT", "short");
    let recorder = Recorder::to_file(&path);
    recorder.hide(secrets[7]);
    let client = Client::builder().recorder(&recorder).connect(command).await.unwrap();
    // The program writes what it gets to stderr, and returns it.
    let arguments = json!({
        "password": secrets[2],
        "deep": [{"apiKeys": {"first": secrets[3], "list": [secrets[9]]}}],
        "url": format!("https://ada:{}@example.com/?q={}", secrets[4], secrets[5]),
        "text": format!("token={} and {} Bearer {}", secrets[6], secrets[7], secrets[8]),
        "maxTokens": 100,
    });
    client.call("echo", arguments).await.unwrap();
    // What was in an argument comes back under another name, and in a text within a text.
    client.call("echo", json!({"x": secrets[2], "y": json!({"z": secrets[3]}).to_string()})).await.unwrap();
    let environment = client.call("env", json!({})).await.unwrap();
    assert!(environment.text().unwrap().contains(secrets[0]), "the client itself sees everything");
    client.close().await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(!text.contains("wörd") && !text.contains("rd 7"), "{text}");
    assert!(text.contains("100") && text.contains("short") && text.contains("PATH"), "the rest stays");
}

#[tokio::test]
async fn secrets_of_http_are_in_no_cassette() {
    let (url, _serving) = serve(server().http()).await;
    let path = new_file("http.jsonl");
    let secrets = [
        "bearer-secret-11",
        "cookie-secret-12",
        "header-secret-13",
        "query-secret-14",
        "0123456789abcdefghij",
        "custom-secret-16",
        "builder-secret-17",
        "call-secret-18",
        "result-secret-19",
        "short20",
    ];
    let target = Http::new(format!("{url}?code={}&x=1", secrets[3]))
        .bearer(secrets[0])
        .header("cookie", format!("a={}; b=c", secrets[1]))
        .header("x-api-key", secrets[2])
        .header("x-tenant", secrets[5]);
    let builder = Client::builder().header("x-client-secret", secrets[6]).record(&path);
    let client = builder.connect(target).await.unwrap();
    let all = secrets[..4].join(" ") + " " + secrets[6];
    let reply = client.call("echo", json!({"text": all, "password": secrets[9]})).await.unwrap();
    assert!(reply.text().unwrap().contains(secrets[0]));
    client.call("echo", json!({"text": "x"})).header("x-call-token", secrets[7]).await.unwrap();
    client.call("echo", json!({"text": format!(r#"{{"secret": "{}"}}"#, secrets[8])})).await.unwrap();
    client.call("echo", json!({"text": format!("Basic {}", secrets[4])})).await.unwrap();
    client.close().await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in &secrets[..9] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    // A short value is removed where its name says that it is secret; it is not searched for elsewhere.
    assert!(text.contains(r#""password":"«"#), "{text}");
    assert!(text.contains("x=«") && text.contains("?code=«"), "{text}");
}

#[tokio::test]
async fn the_same_secret_has_the_same_mark_everywhere() {
    let recorder = Recorder::new();
    let client = Client::builder().recorder(&recorder).connect(&server()).await.unwrap();
    client.call("echo", json!({"text": "first-password", "password": "first-password"})).await.unwrap();
    client
        .call("echo", json!({"text": "again first-password", "password": "second-password"}))
        .await
        .unwrap();
    let text = recorder.cassette();
    assert!(!text.contains("first-password"), "{text}");
    let marks: Vec<_> = text.match_indices("«1»").collect();
    assert!(marks.len() >= 3 && text.contains("«2»"), "{text}");
    assert!(text.lines().next().unwrap().contains(r#""redacted":2"#), "{text}");
}

#[tokio::test]
async fn schemas_stay_as_they_are() {
    let recorder = Recorder::new();
    let client = Client::builder().recorder(&recorder).connect(&server()).await.unwrap();
    client.tools().await.unwrap();
    assert!(recorder.cassette().contains(r#""password":{"#), "{}", recorder.cassette());
}
