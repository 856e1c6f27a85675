//! What is in the log about callers and their tokens?

use std::fmt::{Debug, Write};
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use toolway::auth::{Auth, Introspection, Rejected, Verified};
use toolway::testing::Issuer;
use tracing::Level;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::world::{RESOURCE, bearer, notes, send, stateless, with};

/// Keeps what is logged at `debug` or above, one text for each event and span.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Log {
    /// Installs the log on this thread, on which the whole test runs.
    pub(super) fn install(&self) -> tracing::subscriber::DefaultGuard {
        // With a single subscriber in the process, the thread that reaches an event first decides for all threads
        // whether it is enabled, and that may be a test without a log. With two, both are asked.
        static SECOND: LazyLock<tracing::Dispatch> = LazyLock::new(|| tracing_subscriber::registry().into());
        LazyLock::force(&SECOND);
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    fn add(&self, level: Level, record: impl FnOnce(&mut Text)) {
        if level <= Level::DEBUG {
            let mut text = Text(level.to_string());
            record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
    }

    /// Returns the entries that contain a text.
    pub(super) fn with(&self, text: &str) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|entry| entry.contains(text)).cloned().collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.add(*attributes.metadata().level(), |text| attributes.record(text));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.add(Level::INFO, |text| values.record(text));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        self.add(*event.metadata().level(), |text| event.record(text));
    }
}

#[tokio::test]
async fn no_token_secret_or_claim_gets_into_the_log() {
    let log = Log::default();
    let _guard = log.install();
    let issuer = Issuer::start().await.unwrap();
    let sign = |changes: Value| issuer.sign(with(json!({"sub": "canary-subject", "aud": RESOURCE}), changes));
    // The claims do not fit the parameter of `whoami`.
    let fine = sign(json!({"email": ["canary-email"], "scope": "canary-scope"}));
    let forged = format!("{}AAAA", &fine[..fine.len() - 4]);
    let expired = sign(json!({"exp": 1}));
    for (tool, token, status) in [
        ("search", &*fine, 200),
        ("search", &*forged, 401),
        ("search", &*expired, 401),
        ("search", "canary-opaque", 401),
        ("search", "canary, canary", 400),
        ("put", &*fine, 403),
        ("whoami", &*fine, 200),
    ] {
        // A server of its own logs each refusal.
        let service = notes().auth(Auth::resource(RESOURCE).issuer(issuer.url())).build().unwrap().http();
        let call = stateless("tools/call", json!({"name": tool, "arguments": {}}), &bearer(token));
        assert_eq!(send(&service, call).await.status, status, "{tool}");
    }
    issuer.add_client("notes", "canary-secret");
    for secret in ["canary-secret", "canary-wrong"] {
        let verifier = Introspection::new(issuer.url(), "notes", secret).audience(RESOURCE);
        let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
        for token in ["canary-opaque", &*fine] {
            send(&service, stateless("tools/list", json!({}), &bearer(token))).await;
        }
    }
    let signature = fine.rsplit_once('.').unwrap().1;
    for secret in ["canary", signature, &forged[forged.len() - 20..], &expired[expired.len() - 20..]] {
        let leaks = log.with(secret);
        assert!(leaks.is_empty(), "{leaks:#?}");
    }
    // The search can find something.
    for reason in [
        "the token has expired",
        "the signature of the token is not valid",
        "do not fit",
        "cannot be verified",
    ] {
        assert!(!log.with(reason).is_empty(), "{reason}");
    }
}

#[tokio::test]
async fn refused_callers_are_logged_at_most_once_a_second() {
    let log = Log::default();
    let _guard = log.install();
    let begun = std::time::Instant::now();
    let down = async |_: String| Err::<Verified, _>(Rejected::unavailable("canary-outage"));
    let invalid = async |_: String| Err::<Verified, _>(Rejected::invalid("canary-refusal"));
    let services = [
        notes().auth(Auth::resource(RESOURCE).verifier(down)).build().unwrap().http(),
        notes().auth(Auth::resource(RESOURCE).verifier(invalid)).build().unwrap().http(),
    ];
    for number in 0..50 {
        for service in &services {
            let token = bearer(&format!("token-{number}"));
            send(service, stateless("tools/list", json!({}), &token)).await;
        }
    }
    let most = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    for text in ["canary-outage", "canary-refusal"] {
        let logged = log.with(text).len();
        assert!((1..=most).contains(&logged), "{text}: {logged}");
    }
}
