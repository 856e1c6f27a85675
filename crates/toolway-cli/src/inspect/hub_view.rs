//! How would a hub join the servers: which names do their tools get, and which names do two servers have?

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Map, Value};
use toolway::hub::{ServerState, ServerStatus};

use super::event_log::millis;
use super::inspector::Inspector;
use super::object::{SetMember, object};
use super::ordered_places::ordered_places;
use super::token_count::add_tokens;
use super::web::Refusal;

pub(super) fn hub_view(inspector: &Inspector) -> Result<Value, Refusal> {
    let Some(hub) = &inspector.hub else {
        return Err(Refusal::not_found(
            "there is one server; start the inspector with --config FILE to see all of a file",
        ));
    };
    let servers = inspector.servers();
    let (mut rows, mut total) = (Vec::new(), Map::new());
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The order of the configuration, whichever server was connected first.
    let found = hub.status();
    let place = |status: &ServerStatus| servers.iter().position(|server| server.name() == status.name);
    for at in ordered_places(found.len(), &|at| place(&found[at])) {
        let status = &found[at];
        let server = servers.iter().find(|server| server.name() == status.name);
        let elements = server.map(|server| server.elements());
        let tokens =
            elements.as_ref().map(|elements| elements.description["tokens"].clone()).unwrap_or_default();
        add_tokens(&mut total, &tokens);
        for tool in elements.iter().flat_map(|elements| &elements.tools) {
            owners.entry(tool.name.clone()).or_default().push(status.name.clone());
        }
        rows.push(describe(status, elements.map_or(0, |elements| elements.tools.len()), tokens));
    }
    // A server that has never been connected is not in the hub.
    for server in servers.iter().filter(|server| server.live().is_some()) {
        if rows.iter().all(|row| row["name"] != server.name()) {
            let state = server.state_json();
            rows.push(object! {
                "name": server.name(), "target": state["target"], "state": state["connection"]["state"],
                "error": state["connection"]["error"]["message"], "tools": 0, "tokens": object! {},
            });
        }
    }
    let names: Vec<Value> = hub
        .tool_definitions()
        .iter()
        .map(|tool| {
            let owner = hub.route(&tool.name);
            let name = owner.as_ref().map(|(_, name)| name.clone());
            let server = owner.and_then(|(client, _)| {
                servers
                    .iter()
                    .find(|server| server.live().is_some_and(|live| live.place.name() == client.target()))
            });
            object! {"shown": tool.name, "server": server.map(|server| server.name()), "name": name}
        })
        .collect();
    let collisions: Vec<Value> = owners
        .into_iter()
        .filter(|(_, owners)| owners.len() > 1)
        .map(|(name, servers)| object! {"name": name, "servers": servers})
        .collect();
    Ok(object! {"servers": rows, "names": names, "collisions": collisions, "tokens": total})
}

fn describe(status: &ServerStatus, tools: usize, tokens: Value) -> Value {
    let mut row = object! {"name": status.name, "target": status.target, "tools": tools, "tokens": tokens};
    let state = match &status.state {
        _ if status.is_ready() => "ready",
        ServerState::Unavailable { error, next_try, .. } => {
            row.set("error", error);
            row.set(
                "next_try_ms",
                &next_try.map(|time| millis(time.saturating_duration_since(Instant::now()))),
            );
            "unavailable"
        }
        _ => "connecting",
    };
    row.set("state", &state);
    row.set("words", &status.state.to_string());
    row
}
