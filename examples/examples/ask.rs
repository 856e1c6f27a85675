//! A tool that asks its user before it acts: `cargo run -p toolway-examples --example ask`, over stdio, or over HTTP
//! with `--http ADDRESS`. It takes a snapshot, has the user type the name of the service, asks about each warning, and
//! deploys.
//!
//! The function runs again from its beginning with every answer. So effects that must not be repeated are in `once`,
//! and the effect at the end has a key by which the cluster recognises a repetition:
//! `docs/concepts/asking-and-replay.md` explains why.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use toolway::Form;
use toolway::prelude::*;
use toolway::server::ask::UserAnswer;

#[derive(Form)]
struct Confirm {
    /// Type the name of the service to confirm.
    name: String,
    /// Keep the snapshot afterwards?
    #[form(default = true)]
    keep: bool,
}

#[derive(Form)]
struct Decision {
    /// Deploy all the same?
    go_on: bool,
}

/// Deploy a service to production. Asks the user first.
#[tool(destructive)]
async fn deploy(service: &str, cluster: State<Cluster>, ctx: Ctx) -> Result<String, ToolError> {
    // The same key in every round: the cluster uses it to recognise a repeated deployment.
    let key = ctx.remember("deployment", || format!("deployment-{:016x}", RandomState::new().hash_one(0)))?;
    let snapshot = ctx.once("snapshot", || cluster.snapshot(service)).await?;
    ctx.progress(1, 3, &format!("took {snapshot}")).await;

    let Confirm { name, keep } = ctx.ask(format!("{snapshot} is safe. Deploy `{service}`?")).await?;
    if name != service {
        return Err(ToolError::new(format!(
            "nothing was deployed: the user typed {name:?}, not {service:?}"
        )));
    }
    ctx.progress(2, 3, "confirmed").await;

    // Each warning is a question, and each question has its own key.
    for (number, warning) in warnings(service).iter().enumerate() {
        let question = ctx.question(format!("warning-{number}"), *warning).ask::<Decision>();
        match question.answer().await? {
            UserAnswer::Accepted(Decision { go_on: true }) => {}
            _ => return Ok(format!("{service} was not deployed: {warning}")),
        }
    }

    cluster.deploy(&key, service);
    ctx.progress(3, 3, "deployed").await;
    Ok(format!("{service} is deployed, {snapshot} is {}", if keep { "kept" } else { "removed" }))
}

/// Return what was done so far.
#[tool(read_only)]
fn history(cluster: State<Cluster>) -> String {
    let done = cluster.lock();
    let deployed: Vec<_> = done.deployed.values().map(String::as_str).collect();
    format!("{} snapshots; deployed: {}", done.snapshots, deployed.join(", "))
}

/// Stands in for production.
#[derive(Default)]
struct Cluster(Mutex<Done>);

#[derive(Default)]
struct Done {
    snapshots: u32,
    /// By the key of the deployment, so that a repeated deployment is done only once.
    deployed: BTreeMap<String, String>,
}

impl Cluster {
    fn lock(&self) -> std::sync::MutexGuard<'_, Done> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn snapshot(&self, service: &str) -> Result<String, ToolError> {
        let mut done = self.lock();
        done.snapshots += 1;
        Ok(format!("snapshot {} of {service}", done.snapshots))
    }

    fn deploy(&self, key: &str, service: &str) {
        self.lock().deployed.entry(key.to_owned()).or_insert_with(|| service.to_owned());
    }
}

/// The reasons against a deployment.
fn warnings(service: &str) -> &'static [&'static str] {
    match service {
        "shop" => &["The last tests are two days old.", "It is Friday afternoon."],
        _ => &[],
    }
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let server =
        Server::new("deployer", "1.0.0").state(Cluster::default()).tools(tools![deploy, history]).build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [flag, address] if flag == "--http" => {
            // Not `serve_http(address)`: with port 0 the system picks a free port, which is known only after binding.
            let listener = tokio::net::TcpListener::bind(address).await?;
            eprintln!("listening on http://{}/mcp", listener.local_addr()?);
            server.http().serve(listener).await
        }
        _ => server.serve_stdio().await,
    }
}
