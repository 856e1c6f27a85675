//! A server with scripted answers, for behaviour that our server never shows.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway::BoxFuture;
use toolway::client::{Connector, IntoTarget, OutgoingMessage, Target, Transport};
use toolway_protocol::Message;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{ParsedFrame, parse};

/// The answer to a method: a result, `{"error": …}`, or `None` to never answer.
type Script = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// A server of the stateless era.
#[derive(Clone)]
pub(crate) struct Foreign(Arc<Script>);

impl Foreign {
    /// A server with these capabilities and scripted answers.
    pub(crate) fn new(
        capabilities: Value,
        script: impl Fn(&str) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |method| match method {
            "server/discover" => Some(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities,
                "ttlMs": 0,
                "cacheScope": "private",
            })),
            other => script(other),
        }))
    }
}

impl Connector for Foreign {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Transport>) })
    }

    fn name(&self) -> String {
        "a foreign server".to_owned()
    }
}

impl Transport for Foreign {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        Box::pin(async move {
            let Some(id) = &outgoing.id else { return Ok(None) };
            let Some(answer) = (self.0)(outgoing.method.name()) else { return std::future::pending().await };
            let mut reply =
                json!({"jsonrpc": "2.0", "id": serde_json::from_str::<Value>(&id.to_string()).unwrap()});
            match answer.get("error") {
                Some(error) => reply["error"] = error.clone(),
                None => reply["result"] = answer,
            }
            match parse(&reply.to_string().into(), Limits::default()).unwrap() {
                ParsedFrame::One(message) => Ok(Some(message)),
                ParsedFrame::Batch(_) => unreachable!("one message was written"),
            }
        })
    }
}

/// A target that can be connected to more than once.
pub(crate) fn target(foreign: &Foreign) -> Target {
    Target::new(foreign.clone()).into_target().unwrap()
}

/// A list of tools with these names.
pub(crate) fn tools(names: &[&str], ttl_ms: u64) -> Value {
    let tools: Vec<_> =
        names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    json!({"resultType": "complete", "tools": tools, "ttlMs": ttl_ms, "cacheScope": "private"})
}
