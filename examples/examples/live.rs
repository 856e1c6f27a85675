//! A server that changes while clients are connected: sensors are plugged in and out, each with its own tool and
//! resource, and their values change all the time. `cargo run -p toolway-examples --example live` serves it on stdin
//! and stdout; with `-- watch` a client in the same process prints the notifications it receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use toolway::ProtocolVersion;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::server::{ResourceEntry, ToolEntry};
use toolway::types::Resource;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let station = Arc::new(Station::default());
    let server = Server::new("live", "1.0.0")
        .state(station.clone())
        .tools(tools![plug, unplug, mine])
        .resources(resources![index])
        .build()?;
    tokio::spawn(measure(station, server.clone()));
    match std::env::args().nth(1).as_deref() {
        Some("watch") => watch(&server).await?,
        _ => server.serve_stdio().await?,
    }
    Ok(())
}

/// The sensors that are plugged in, with their values.
#[derive(Default)]
struct Station(Mutex<BTreeMap<String, u64>>);

impl Station {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<String, u64>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn value(&self, sensor: &str) -> Option<String> {
        self.with(|sensors| sensors.get(sensor).map(|value| format!("{sensor}: {value}")))
    }
}

/// Updates the values and notifies subscribers. A client that does not read gets one notification, however often a
/// value changes.
async fn measure(station: Arc<Station>, server: Server) {
    let mut clock = tokio::time::interval(Duration::from_millis(20));
    loop {
        clock.tick().await;
        let sensors: Vec<String> = station.with(|sensors| {
            for value in sensors.values_mut() {
                *value += 1;
            }
            sensors.keys().cloned().collect()
        });
        for sensor in sensors {
            server.resource_updated(uri(&sensor));
        }
    }
}

fn uri(sensor: &str) -> String {
    format!("station://{sensor}")
}

/// The sensors that are plugged in. A server that starts with a resource declares that it will notify clients of others
/// that are added later.
#[resource("station://index")]
fn index(station: State<Arc<Station>>) -> String {
    station.with(|sensors| sensors.keys().cloned().collect::<Vec<_>>().join("\n"))
}

/// The sensors that each client has plugged in itself.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Mine(Vec<String>);

/// Plug in a sensor. It brings a tool and a resource.
#[tool]
async fn plug(
    /// Letters only.
    sensor: String,
    station: State<Arc<Station>>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    if sensor.is_empty() || !sensor.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Err(ToolError::new("the name of a sensor is made of small letters"));
    }
    let new = station.with(|sensors| sensors.insert(sensor.clone(), 0).is_none());
    if !new {
        return Err(ToolError::new(format!("{sensor} is plugged in already")));
    }
    // Both calls notify the clients that listen.
    let [by_tool, by_uri] = [station.clone(), station.clone()];
    let name = sensor.clone();
    ctx.server().add_tool(ToolEntry::from_fn(format!("read_{sensor}"), move || {
        let value = by_tool.value(&name);
        async move { value }
    }))?;
    let name = sensor.clone();
    ctx.server().add_resource(ResourceEntry::define(Resource::new(uri(&sensor), &sensor), move || {
        let value = by_uri.value(&name);
        async move { value }
    }))?;
    ctx.memory_update(|mine: &mut Mine| mine.0.push(sensor.clone())).await?;
    Ok(format!("{sensor} is plugged in"))
}

/// Unplug a sensor.
#[tool]
fn unplug(sensor: &str, station: State<Arc<Station>>, ctx: &Ctx) -> String {
    if station.with(|sensors| sensors.remove(sensor)).is_none() {
        return format!("{sensor} is not plugged in");
    }
    ctx.server().remove_tool(&format!("read_{sensor}"));
    ctx.server().remove_resource(&uri(sensor));
    format!("{sensor} is unplugged")
}

/// Return the sensors that you have plugged in since you connected.
#[tool]
async fn mine(ctx: Ctx) -> Result<String, ToolError> {
    Ok(ctx.memory::<Mine>().await?.0.join(", "))
}

/// Runs a client of the handshake era, which gets change notifications without subscribing to lists, and prints what it
/// receives.
#[expect(clippy::print_stdout, reason = "the example prints its results")]
async fn watch(server: &Server) -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = tokio::io::duplex(64 << 10);
    let server = server.clone();
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let client = builder.connect_io(reader, writer).await?;
    let mut news = client.notifications();
    let sensor = json!({"sensor": "rain"});
    for step in ["plug", "subscribe", "unplug"] {
        match step {
            "subscribe" => client.subscribe(uri("rain")).await?,
            tool => println!("{}", client.call(tool, sensor.clone()).await?.first_text().unwrap_or_default()),
        }
        // Both lists change when a sensor is plugged in or out.
        let (mut tools, mut resources) = (step == "subscribe", step == "subscribe");
        while let Some(told) = news.next().await {
            match told {
                Notification::ToolsChanged(_) if !tools => {
                    let names: Vec<_> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
                    println!("tools: {}", names.join(", "));
                    tools = true;
                }
                Notification::ResourcesChanged(_) if !resources => {
                    println!("{} resources", client.resources().await?.len());
                    resources = true;
                }
                Notification::ResourceUpdated(updated) if step == "subscribe" => {
                    println!("{} has changed", updated.uri);
                    break;
                }
                _ => {}
            }
            if step != "subscribe" && tools && resources {
                break;
            }
        }
    }
    println!("mine: {}", client.call("mine", json!({})).await?.first_text().unwrap_or_default());
    Ok(())
}
