//! Does the example `ask` ask, do its effects once, and stop when the user declines, in both eras and over both
//! transports?

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolway::ProtocolVersion;
use toolway::client::{Answer, ClientBuilder, Elicitation};

use super::{Client, address_of, call, spawn};

#[tokio::test]
async fn a_deployment_is_confirmed_and_every_warning_is_asked_about() {
    each_way(
        Person::answering(|question| match question.message() {
            "snapshot 1 of shop is safe. Deploy `shop`?" => Answer::accept(json!({"name": "shop"})),
            _ => Answer::accept(json!({"go_on": true})),
        }),
        async |client, asked| {
            let deployed = call(&client, "deploy", json!({"service": "shop"})).await;
            assert_eq!(deployed, "shop is deployed, snapshot 1 of shop is kept");
            let expected = [
                "snapshot 1 of shop is safe. Deploy `shop`?",
                "The last tests are two days old.",
                "It is Friday afternoon.",
            ];
            assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), expected);
            // The function ran four times.
            assert_eq!(call(&client, "history", json!({})).await, "1 snapshots; deployed: shop");
        },
    )
    .await;
}

#[tokio::test]
async fn a_user_who_says_no_stops_it() {
    each_way(
        Person::answering(|question| match question.message() {
            "It is Friday afternoon." => Answer::decline(),
            message if message.ends_with("Deploy `shop`?") => {
                Answer::accept(json!({"name": "shop", "keep": false}))
            }
            message if message.ends_with('?') => Answer::accept(json!({"name": "something else"})),
            _ => Answer::accept(json!({"go_on": true})),
        }),
        async |client, _| {
            let stopped = call(&client, "deploy", json!({"service": "shop"})).await;
            assert_eq!(stopped, "shop was not deployed: It is Friday afternoon.");
            let mistyped = client.call("deploy", json!({"service": "blog"})).await.unwrap();
            assert!(
                mistyped.is_error() && mistyped.first_text().unwrap().contains("typed \"something else\"")
            );
            assert_eq!(call(&client, "history", json!({})).await, "2 snapshots; deployed: ");
        },
    )
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_so() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut child = spawn("ask", [""; 0]);
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Client::builder().protocol(version).connect_io(stdout, stdin).await.unwrap();
        let told = match client.call("deploy", json!({"service": "shop"})).await {
            Ok(result) => result.first_text().unwrap().to_owned(),
            Err(error) => error.to_string(),
        };
        let expected =
            "the client cannot be asked: it does not support such forms for its user (elicitation)";
        assert!(told.contains(expected), "{version}: {told}");
    }
}

/// A user at a client, and the questions they were asked.
#[derive(Clone)]
struct Person {
    answer: fn(&Elicitation) -> Answer,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Person {
    fn answering(answer: fn(&Elicitation) -> Answer) -> Self {
        Self { answer, asked: Arc::default() }
    }

    fn client(&self, version: ProtocolVersion) -> ClientBuilder {
        let person = self.clone();
        Client::builder().protocol(version).on_elicit(move |question| {
            person.asked.lock().unwrap().push(question.message().to_owned());
            let answer = (person.answer)(&question);
            async move { answer }
        })
    }
}

/// Runs a test in each era over each transport, each with its own process.
async fn each_way(person: Person, test: impl AsyncFn(Client, &Mutex<Vec<String>>)) {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut child = spawn("ask", [""; 0]);
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        test(person.client(version).connect_io(stdout, stdin).await.unwrap(), &person.asked).await;

        let mut child = spawn("ask", ["--http", "127.0.0.1:0"]);
        let url = format!("http://{}/mcp", address_of(&mut child).await);
        test(person.client(version).connect_http(&url).await.unwrap(), &person.asked).await;
    }
}
