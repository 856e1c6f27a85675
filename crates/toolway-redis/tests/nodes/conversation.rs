//! What do clients do?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::{Client, End, Habit, LEGACY, PATIENCE, PAUSE, STATELESS};
use crate::cluster::{Cluster, Node};
use crate::history::Fact;
use crate::http::Request;
use crate::legacy;
use crate::listen::Listening;
use crate::random::Random;

/// Holds conversations until the run is over. Each has a session of its own.
pub(crate) async fn converse(cluster: Arc<Cluster>, seed: u64, number: usize) {
    let mut round = 0;
    while round == 0 || !cluster.is_over() {
        let revision = REVISIONS[(number / 2 + usize::try_from(round).unwrap()) % REVISIONS.len()];
        let random = Random::new(seed, (number as u64) << 20 | round);
        let client = Client::open(&cluster, number, round, revision, random).await;
        match revision {
            STATELESS => converse_without_session(client).await,
            // A POST that the store forgets is not sent again.
            LEGACY if cluster.store.is_forgetful => {}
            LEGACY => legacy::converse(&client).await,
            _ => converse_in_session(client).await,
        }
        round += 1;
    }
}

async fn converse_without_session(client: Arc<Client>) {
    let listening = Listening::start(&client);
    for _ in 0..STEPS {
        let (tool, more) = match client.below(4) {
            0 => ("note", json!({})),
            1 => {
                listening.update(&client).await;
                continue;
            }
            2 => ("tell", json!({"steps": 2 + client.below(6)})),
            // A state that a client carries expires by the clocks of the nodes, which may be ten minutes apart.
            _ if client.cluster.has_clocks_apart() => ("note", json!({})),
            _ => ("ask", json!({})),
        };
        client.make(&client.call(tool, more, Habit::Reads)).await;
    }
}

async fn converse_in_session(client: Arc<Client>) {
    let doubts = client.cluster.doubts.load(Ordering::Acquire);
    client.ask("resources/subscribe", json!({"uri": format!("news://{}", client.principal)})).await;
    client.write(Fact::Subscribed { session: client.session.clone() });
    let news = Arc::new(News { doubts, ..News::default() });
    let mut listening = tokio::spawn(listen(client.clone(), news.clone()));
    for _ in 0..STEPS {
        let habit = if client.one_in(2) { Habit::Cuts } else { Habit::Reads };
        match client.below(10) {
            0 => client.make(&client.call("note", json!({}), habit)).await,
            1..=3 => client.make(&client.call("tell", json!({"steps": 2 + client.below(8)}), habit)).await,
            4..=5 => {
                // The first of these revisions has no forms.
                let tool = if client.revision == REVISIONS[0] { "think" } else { "ask" };
                client.make(&client.call(tool, json!({}), habit)).await;
            }
            6 => cancel(&client).await,
            7 => send_twice(&client).await,
            8 => update(&client, &news).await,
            _ => intrude(&client).await,
        }
    }
    delete(&client, &news, &mut listening).await;
}

/// Cancels a call at any node.
async fn cancel(client: &Client) {
    let call = client.call("hold", json!({}), Habit::Cancels);
    let begun = client.cluster.gate(&format!("{}.begun", call.key));
    let cancelling = async {
        // A call that has not begun cannot be cancelled.
        while !begun.exists() {
            tokio::time::sleep(POLL).await;
        }
        let id = call.key.rsplit('+').next().unwrap().parse::<u64>().unwrap();
        client.write(Fact::Cancelled { call: call.key.clone() });
        client.notify("notifications/cancelled", json!({"requestId": id})).await;
        call.is_cancelled.store(true, Ordering::Release);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = client.make(&call) => {}
        () = cancelling => {}
    }
}

/// Sends two copies of a call at once. The call runs until one of them is refused.
async fn send_twice(client: &Arc<Client>) {
    let call = client.call("hold", json!({}), Habit::Reads);
    let mut one = Box::pin(client.attempt_once(&call));
    let mut two = Box::pin(client.attempt_once(&call));
    let release = || {
        client.write(Fact::Released { call: call.key.clone() });
        std::fs::write(client.cluster.gate(&call.key), "").unwrap();
    };
    let ends = tokio::select! {
        end = &mut one => {
            release();
            [end, two.await]
        }
        end = &mut two => {
            release();
            [end, one.await]
        }
        // Both run if the store has forgotten a claim.
        () = tokio::time::sleep(SHORT_PATIENCE), if client.cluster.store.is_forgetful => {
            release();
            tokio::join!(one, two).into()
        }
    };
    if !ends.contains(&End::Final) {
        client.make(&call).await;
    }
    client.cluster.step_in_session();
}

/// Changes the resource that the client has subscribed to, and waits until the client is told.
async fn update(client: &Client, news: &News) {
    let before = news.updates.load(Ordering::Acquire);
    let call = client.call("touch", json!({}), Habit::Reads);
    let deaths = client.cluster.nodes.iter().map(Node::deaths).collect::<Vec<_>>();
    let doubts = client.cluster.doubts.load(Ordering::Acquire);
    client.make(&call).await;
    let node = call.last_node.lock().unwrap().clone();
    let number = client.cluster.nodes.iter().position(|known| known.name == node).unwrap();
    let start = Instant::now();
    while news.updates.load(Ordering::Acquire) == before {
        // An update of a node that dies may be lost with it.
        if client.cluster.nodes[number].deaths() > deaths[number] {
            return;
        }
        // An update or a subscription that the store has forgotten is not waited for.
        if start.elapsed() > SHORT_PATIENCE
            && (news.doubts % 2 == 1 || client.cluster.is_doubtful_since(doubts))
        {
            return;
        }
        if start.elapsed() > PATIENCE {
            let (session, call) = (client.session.clone(), call.key.clone());
            client.write(Fact::Untold { session, call, node });
            return;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Tries to use what belongs to the other principal.
async fn intrude(client: &Client) {
    let other = {
        let sessions = client.cluster.sessions.lock().unwrap();
        sessions.iter().rfind(|session| session.principal != client.principal).cloned()
    };
    let Some(other) = other else { return };
    let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
    let mut requests =
        [client.request("POST", Some(ping)), client.request("GET", None), client.request("GET", None)];
    for request in &mut requests[..2] {
        for (name, value) in &mut request.headers {
            if *name == "mcp-session-id" {
                value.clone_from(&other.id);
            }
        }
    }
    if let Some(event) = other.last_event {
        requests[1].headers.push(("last-event-id", event.clone()));
        requests[2].headers.push(("last-event-id", event));
    } else {
        requests[2].headers.push(("last-event-id", "0000000000000000.1".to_owned()));
    }
    for request in requests {
        let (node, connection) = client.cluster.connect(&client.random).await;
        let Ok(reply) = request.send(connection).await else { continue };
        let status = reply.status;
        // A stream may have no end.
        let text =
            if reply.is_event_stream() { String::new() } else { reply.text().await.unwrap_or_default() };
        let (principal, node) = (client.principal.to_owned(), node.name.clone());
        client.write(Fact::Intruded { principal, node, status, text });
    }
    client.cluster.step();
}

/// What the notification stream of a session has told.
#[derive(Debug, Default)]
struct News {
    updates: AtomicU64,
    /// The number of doubts about the store when the session subscribed.
    doubts: u64,
    is_deleted: AtomicBool,
}

/// Reads the notification stream of a session, and resumes it at any node, until the session is deleted.
async fn listen(client: Arc<Client>, news: Arc<News>) {
    let mut last: Option<String> = None;
    loop {
        let mut request = client.request("GET", None);
        if let Some(last) = &last {
            request.headers.push(("last-event-id", last.clone()));
        }
        let (node, connection) = client.cluster.connect(&client.random).await;
        let Ok(mut reply) = request.send(connection).await else { continue };
        let (session, status) = (client.session.clone(), reply.status);
        client.write(Fact::NewsResumed { session, after: last.clone(), node: node.name.clone(), status });
        match status {
            404 if news.is_deleted.load(Ordering::Acquire) => return,
            400 => last = None,
            _ => {}
        }
        while let Ok(Some(event)) = reply.next_event().await {
            let message = serde_json::from_str(&event.data).unwrap_or_default();
            if event.id.is_some() {
                last.clone_from(&event.id);
                let mut sessions = client.cluster.sessions.lock().unwrap();
                let known = sessions.iter_mut().rfind(|session| session.id == client.session);
                known.unwrap().last_event.clone_from(&event.id);
            }
            let is_update = event.data.contains("notifications/resources/updated");
            let (principal, session) = (client.principal.to_owned(), client.session.clone());
            client.write(Fact::News { principal, session, id: event.id, message });
            if is_update {
                news.updates.fetch_add(1, Ordering::AcqRel);
            }
            if client.one_in(6) {
                break;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ends the session. Then no node may know it.
async fn delete(client: &Client, news: &News, listening: &mut JoinHandle<()>) {
    news.is_deleted.store(true, Ordering::Release);
    let doubts = client.cluster.doubts.load(Ordering::Acquire);
    loop {
        let (_, connection) = client.cluster.connect(&client.random).await;
        let Ok(reply) = client.request("DELETE", None).send(connection).await else { continue };
        // The node of an earlier attempt may have died after it deleted the session.
        if matches!(reply.status, 200..=299 | 404) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    client.write(Fact::Deleted { session: client.session.clone() });
    let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
    for node in &client.cluster.nodes {
        for request in [client.request("POST", Some(ping.clone())), client.request("GET", None)] {
            visit(client, node, &request).await;
        }
    }
    let is_over = tokio::time::timeout(SHORT_PATIENCE, &mut *listening).await.is_ok();
    if !is_over && client.cluster.is_doubtful_since(doubts) {
        // The store may have forgotten the end of the session.
        listening.abort();
    } else if !is_over && tokio::time::timeout(PATIENCE, &mut *listening).await.is_err() {
        listening.abort();
        client.write(Fact::Outlived { session: client.session.clone() });
    }
    client.cluster.step_in_session();
}

/// Sends a request of a session that was deleted to a node, unless the node dies.
async fn visit(client: &Client, node: &Node, request: &Request) {
    while let Some(connection) = node.connect().await {
        let Ok(reply) = request.send(connection).await else { return };
        // The node does not know: it cannot reach the store at the moment.
        if reply.status == 503 {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let (session, node) = (client.session.clone(), node.name.clone());
        return client.write(Fact::Visited { session, node, status: reply.status });
    }
}

/// The revisions of the clients.
const REVISIONS: [&str; 5] = ["2025-03-26", "2025-06-18", "2025-11-25", STATELESS, LEGACY];
/// The number of steps of a conversation.
pub(crate) const STEPS: usize = 8;
/// How long a client waits for what the store may have forgotten.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const POLL: Duration = Duration::from_millis(20);
