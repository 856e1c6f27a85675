//! What error does a caller get whose parameters do not fit a custom method, a prompt or a template?

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::Run;
use toolway::testing::each_wire;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Journey {
    from: String,
    to: String,
    passengers: u8,
}

#[tokio::test]
async fn a_method_of_the_application_tells_everything_that_is_wrong_with_its_parameters() {
    let server = Server::new("app", "1.0.0")
        .method("acme/book", |journey: Journey| async move {
            format!("{} {} {}", journey.from, journey.to, journey.passengers)
        })
        .method("acme/echo", |anything: Value| async move { anything })
        .method("acme/sum", |all: BTreeMap<String, i64>| async move { all.values().sum::<i64>() })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let right = client.request("acme/book", json!({"from": "Bern", "to": "Oslo", "passengers": 2})).await;
        assert_eq!(right.unwrap().decode::<String>().unwrap(), "Bern Oslo 2");
        let wrong = json!({"form": "Bern", "to": 7, "passengers": 300});
        let error = client.request("acme/book", wrong).await.unwrap_err();
        assert_eq!(error.code(), Some(toolway::Code::INVALID_PARAMS));
        let text = error.to_string();
        for part in ["`form`, did you mean `from`?", "`to`", "`passengers`", "`from`"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // A handler that takes a plain value gets the parameters unchanged.
        let echoed = client.request("acme/echo", json!({"any": [1, "thing"]})).await.unwrap();
        assert_eq!(echoed.decode::<Value>().unwrap()["any"], json!([1, "thing"]));
        let sum = client.request("acme/sum", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.decode::<i64>().unwrap(), 3);
    })
    .await;
}

/// Ping a host.
#[prompt]
fn ping(host: Ipv4Addr) -> String {
    format!("Ping {host}.")
}

/// A host.
#[resource("hosts://{host}")]
fn host(host: Ipv4Addr) -> String {
    host.to_string()
}

/// Trace the way to a host.
#[prompt]
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Trace {
    host: Ipv4Addr,
}

impl Run for Trace {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("Trace {}.", self.host)
    }
}

#[tokio::test]
async fn text_that_is_read_as_a_foreign_type_is_refused_with_the_format() {
    let server = Server::new("app", "1.0.0")
        .prompts(prompts![ping, Trace])
        .resources(resources![host])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let expected = "argument `host`: invalid IPv4 address syntax; expected an IPv4 address";
        for prompt in ["ping", "trace"] {
            let right = client.get_prompt(prompt, [("host", "127.0.0.1")]).await.unwrap();
            assert!(right.messages[0].content.as_text().unwrap().contains("127.0.0.1"));
            let error = client.get_prompt(prompt, [("host", "nowhere")]).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{prompt}: {error}");
        }
        assert_eq!(client.read_resource("hosts://127.0.0.1").await.unwrap().text(), Some("127.0.0.1"));
        let error = client.read_resource("hosts://nowhere").await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    })
    .await;
}
