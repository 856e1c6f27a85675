//! What does the command do at the terminal?

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use toolway::Hub;
use toolway::client::open_browser;
use toolway::client::record::Recorder;

use super::inspector::{Inspector, Subject};
use super::listen;
use super::live_server::{LiveServer, Surroundings};
use super::object::object;
use super::recording::Recording;
use super::server::InspectedServer;
use crate::args::{ConnectionArgs, Inspect, TargetKind};
use crate::cmd::{CommandContext, expect_no_more_words};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{Endpoint, Find, ServerLocation, interrupted};

/// The port, if the user names none and it is free.
const PORT: u16 = 6270;

/// The servers, or the recording, that the page shows.
enum Plan {
    Server(String, Box<ServerLocation>),
    Hub(Vec<(String, ServerLocation)>),
    Recording(String, Box<Recording>),
}

impl Plan {
    fn of<K: TargetKind<LocationArgs: Find>>(
        here: &CommandContext,
        reach: &K::LocationArgs,
        mut words: Vec<String>,
        is_followed: bool,
    ) -> Result<Self> {
        if let [file] = words.as_slice()
            && is_cassette(file)
        {
            return Ok(Self::Recording(
                file.clone(),
                Box::new(Recording::open(Path::new(file), is_followed)?),
            ));
        }
        if words.is_empty()
            && let Some(names) = reach.names_in_file()?
        {
            let found = names.into_iter().map(|name| {
                let place = reach.find(&mut vec![name.clone()], here.own_server.as_ref())?;
                Ok((name, place))
            });
            let found = found.collect::<Result<Vec<_>>>()?;
            if found.is_empty() {
                return Err(Failure::not_found("the file has no server, or all of them are disabled"));
            }
            return Ok(Self::Hub(found));
        }
        let place = reach.find(&mut words, here.own_server.as_ref())?;
        expect_no_more_words(&words)?;
        Ok(Self::Server(short_name(&place), Box::new(place)))
    }
}

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    inspect: Inspect<K>,
) -> Result<()> {
    let Inspect { port, no_open, record, follow, target } = inspect;
    let talk = target.talk;
    let wants_json = talk.json;
    let console = Console::new(talk.verbose, talk.no_input);
    let plan = Plan::of::<K>(here, &target.reach, target.words, follow)?;
    let listener = listen(port).await?;
    let port = listener.local_addr().map_or(PORT, |address| address.port());
    let inspector = match plan {
        Plan::Server(name, place) => {
            place.ask_consent(&console).await?;
            let inspector = Inspector::new(port, Subject::Server, console.clone(), talk, None);
            let recorder = record.as_deref().map_or_else(Recorder::new, Recorder::to_file);
            add_server(&inspector, name, *place, recorder).reconnect();
            inspector
        }
        Plan::Hub(servers) => {
            for (_, place) in &servers {
                place.ask_consent(&console).await?;
            }
            hub_inspector(port, servers, record.as_deref(), console.clone(), talk)?
        }
        Plan::Recording(file, recording) => {
            let subject = Subject::Recording { file, is_followed: follow };
            let inspector = Inspector::new(port, subject, console.clone(), talk, None);
            let name = recording.name();
            inspector.add(|id| InspectedServer::of_recording(id, name, *recording));
            inspector
        }
    };
    let inspector = Arc::new(inspector);
    show_link(&inspector, port, wants_json, no_open, &console).await?;
    tokio::select! {
        () = listen::serve(listener, inspector.clone()) => {}
        () = new_links(&inspector, port, wants_json, &console) => {}
        () = interrupted() => {}
    }
    for server in inspector.servers() {
        if let Some(live) = server.live() {
            live.shut_down().await;
        }
    }
    Ok(())
}

/// Returns an inspector for all servers of a file, which a hub connects.
fn hub_inspector(
    port: u16,
    servers: Vec<(String, ServerLocation)>,
    record: Option<&Path>,
    console: Console,
    talk: ConnectionArgs,
) -> Result<Inspector> {
    // The hub asks for the settings of each server when it connects it, which is after all servers are here.
    let live: Arc<Mutex<HashMap<String, Arc<LiveServer>>>> = Arc::default();
    let known = live.clone();
    let hub = Hub::builder()
        .client_for(move |name, builder| {
            let live = known.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
            live.map_or(builder, |live| live.recorded(live.builder(None), &live.recorder))
        })
        .build()?;
    let inspector = Inspector::new(port, Subject::Hub, console, talk, Some(hub));
    for (name, place) in servers {
        // The recording of each server of a file is a file of its own.
        let recorder = match record {
            Some(file) => Recorder::to_file(file.with_extension(format!("{name}.jsonl"))),
            None => Recorder::new(),
        };
        let server = add_server(&inspector, name.clone(), place, recorder);
        live.lock().unwrap_or_else(PoisonError::into_inner).insert(name, server.clone());
        server.reconnect();
    }
    Ok(inspector)
}

/// Adds a server, which is not connected yet.
fn add_server(
    inspector: &Inspector,
    name: String,
    place: ServerLocation,
    recorder: Recorder,
) -> Arc<LiveServer> {
    let with = Surroundings {
        talk: inspector.talk.clone(),
        console: inspector.console.clone(),
        events: inspector.events.clone(),
        questions: inspector.questions.clone(),
        hub: inspector.hub.clone(),
    };
    let mut added = None;
    inspector.add(|id| {
        let live = Arc::new(LiveServer::new(id, name.clone(), place, recorder, with));
        added = Some(live.clone());
        InspectedServer::of_live(id, name, live)
    });
    added.expect("the server was made")
}

/// Returns a name for a server in one word: of its program, or of its host.
fn short_name(place: &ServerLocation) -> String {
    let name = match &place.endpoint {
        Endpoint::Url(address) => {
            let uri = address.url.parse::<http::Uri>().ok();
            uri.and_then(|uri| Some(uri.host()?.to_owned()))
        }
        Endpoint::Command(start) => {
            Path::new(&start.program).file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        Endpoint::Own(server) => Some(server.info().name.clone()),
    };
    name.unwrap_or_else(|| "server".to_owned())
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

async fn show_link(
    inspector: &Inspector,
    port: u16,
    wants_json: bool,
    no_open: bool,
    console: &Console,
) -> Result<()> {
    let link = link(inspector, port);
    if wants_json {
        return write_json_link(&link, console);
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

fn write_json_link(link: &str, console: &Console) -> Result<()> {
    console.write_result(&format!("{}\n", object! {"url": link}))
}

fn link(inspector: &Inspector, port: u16) -> String {
    format!("http://127.0.0.1:{port}/#{}", inspector.gate.new_code())
}

/// Shows a new link with each Enter.
async fn new_links(inspector: &Inspector, port: u16, wants_json: bool, console: &Console) {
    while console.typed.next().await.is_some() {
        let link = link(inspector, port);
        if wants_json {
            // The reader of stdout has gone: the page is still served.
            let _ = write_json_link(&link, console);
        } else {
            console.write_lines(&format!("\n  {link}\n"));
        }
    }
    // At the end of the input no further links are shown; the page is still served.
    std::future::pending::<()>().await;
}
