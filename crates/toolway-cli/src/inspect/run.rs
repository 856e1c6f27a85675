//! What does the command do at the terminal?

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use toolway::Hub;
use toolway::client::open_browser;
use toolway::client::record::Recorder;

use super::inspector::{Inspector, Subject};
use super::recording::Recording;
use super::server::{InspectedServer, Surroundings};
use super::web;
use crate::args::{Inspect, TargetKind};
use crate::cmd::{CommandContext, expect_no_more_words};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{Find, ServerLocation, interrupted};

/// The port, if the user names none and it is free.
const PORT: u16 = 6270;

/// What the page shows.
enum Plan {
    Servers(Vec<(String, ServerLocation)>),
    Hub(Vec<(String, ServerLocation)>),
    Recording(String, Recording),
}

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    inspect: Inspect<K>,
) -> Result<()> {
    let Inspect { port, no_open, record, follow, target } = inspect;
    let (mut words, talk, reach) = (target.words, target.talk, target.reach);
    let console = Console::new(talk.verbose, talk.no_input);
    let wants_json = talk.json;
    let plan = match words.as_slice() {
        [file] if is_cassette(file) => {
            let file = words.remove(0);
            let recording = Recording::open(Path::new(&file), follow)?;
            Plan::Recording(file, recording)
        }
        [] => match reach.find_all()? {
            Some(servers) => Plan::Hub(servers),
            None => {
                let place = reach.find(&mut words, here.own_server.as_ref())?;
                Plan::Servers(vec![(place.short_name(), place)])
            }
        },
        _ => {
            let place = reach.find(&mut words, here.own_server.as_ref())?;
            expect_no_more_words(&words)?;
            Plan::Servers(vec![(place.short_name(), place)])
        }
    };
    if let Plan::Servers(servers) | Plan::Hub(servers) = &plan {
        for (_, place) in servers {
            place.ask_consent(&console).await?;
        }
    }
    let listener = listen(port).await?;
    let port = listener.local_addr().map_or(PORT, |address| address.port());
    let (subject, hub) = match &plan {
        Plan::Servers(_) => (Subject::Server, None),
        Plan::Hub(_) => (Subject::Hub, Some(Hub::new())),
        Plan::Recording(file, _) => (Subject::Recording { file: file.clone(), is_followed: follow }, None),
    };
    let inspector = Arc::new(Inspector::new(port, subject, console.clone(), talk, hub));
    match plan {
        Plan::Servers(servers) | Plan::Hub(servers) => {
            for (name, place) in servers {
                add_server(&inspector, name, place, record.as_deref()).reconnect();
            }
        }
        Plan::Recording(_, recording) => {
            let name = recording.name();
            inspector.add(|id| InspectedServer::of_recording(id, name, recording));
        }
    }
    show_link(&inspector, port, wants_json, no_open, &console).await?;
    tokio::select! {
        () = web::serve(listener, inspector.clone()) => {}
        () = new_links(&inspector, port, &console) => {}
        () = interrupted() => {}
    }
    for server in inspector.servers() {
        if let Some(live) = server.live() {
            live.shut_down(server.name()).await;
        }
    }
    Ok(())
}

fn is_cassette(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "jsonl") && Path::new(word).is_file()
}

async fn listen(port: Option<u16>) -> Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let taken = match TcpListener::bind(at(port.unwrap_or(PORT))).await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    match port {
        Some(port) => Err(Failure::usage(format!("the port {port} cannot be used: {taken}"))
            .hint("leave out --port to use any free port, or name another one")),
        None => TcpListener::bind(at(0))
            .await
            .map_err(|error| Failure::usage(format!("no port of 127.0.0.1 can be used: {error}"))),
    }
}

fn add_server(
    inspector: &Arc<Inspector>,
    name: String,
    place: ServerLocation,
    record: Option<&Path>,
) -> Arc<InspectedServer> {
    let recorder = record.map_or_else(Recorder::new, |file| {
        // The recording of each server of a configuration is a file of its own.
        let is_one = inspector.hub.is_none();
        if is_one {
            Recorder::to_file(file)
        } else {
            Recorder::to_file(file.with_extension(format!("{name}.jsonl")))
        }
    });
    let with = Surroundings {
        talk: inspector.talk.clone(),
        console: inspector.console.clone(),
        events: inspector.events.clone(),
        questions: inspector.questions.clone(),
        hub: inspector.hub.clone(),
    };
    inspector.add(|id| InspectedServer::live_server(id, name, place, recorder, with))
}

async fn show_link(
    inspector: &Inspector,
    port: u16,
    wants_json: bool,
    no_open: bool,
    console: &Console,
) -> Result<()> {
    let link = link(inspector, port);
    if wants_json {
        return console.write_result(&format!("{}\n", json!({ "url": link })));
    }
    let opened = !no_open && open_browser(link.clone()).await.is_ok();
    let what = match (opened, no_open) {
        (true, _) => "The inspector opens in your browser:",
        (false, true) => "Open the inspector in a browser of this machine:",
        (false, false) => "No browser could be opened. Open the inspector in a browser of this machine:",
    };
    console.write_lines(&format!(
        "{what}\n\n  {link}\n\nThe link works once, within 60 seconds; Enter shows a new one. End with Ctrl-C."
    ));
    Ok(())
}

fn link(inspector: &Inspector, port: u16) -> String {
    format!("http://127.0.0.1:{port}/#{}", inspector.gate.new_code())
}

/// Shows a new link with each Enter.
async fn new_links(inspector: &Inspector, port: u16, console: &Console) {
    while console.typed.next().await.is_some() {
        console.write_lines(&format!("\n  {}\n", link(inspector, port)));
    }
    // Nobody types: the page is still served.
    std::future::pending::<()>().await;
}
