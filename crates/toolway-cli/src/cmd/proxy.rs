//! How is a server put behind a proxy?

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use toolway::client::record::Recorder;
use toolway::server::http::{HttpService, shutdown_signal};

use super::{CommandContext, expect_no_more_words};
use crate::args::Proxy;
use crate::console::{Console, write_stderr};
use crate::failure::{Failure, Result};
use crate::location::{CommandSpec, Endpoint, Find, interrupted};
use crate::proxy::http::Front;
use crate::proxy::{Upstream, UrlServer};
use crate::terminal::escape_for_terminal;

pub(crate) async fn run(here: &CommandContext, proxy: Proxy) -> Result<()> {
    let Proxy { mut words, record, http, max_message, location } = proxy;
    let place = location.find(&mut words, here.own_server.as_ref())?;
    expect_no_more_words(&words)?;
    if let Some(address) = http.filter(|address| !address.ip().is_loopback()) {
        return Err(Failure::usage(format!(
            "`proxy` listens on this machine only, and {address} can be reached from others"
        ))
        .hint("choose an address of this machine: --http 127.0.0.1:8000"));
    }
    // Stdin belongs to the host, so no user can be asked.
    place.ask_consent(&Console::new(false, true)).await?;
    let recorder = record.map(Recorder::to_file);
    let name = place.name();
    let max_message = max_message.or(place.max_message);
    let upstream = match place.endpoint {
        Endpoint::Command(program) => command(&program, recorder),
        Endpoint::Url(address) => Upstream::Url(Arc::new(UrlServer { address, recorder, max_message })),
        Endpoint::Own(_) => return Err(Failure::usage("`proxy` needs a URL or a command")),
    };
    match http {
        Some(address) => serve(upstream, &name, address, max_message).await,
        None => tokio::select! {
            outcome = upstream.relay(stdin(), tokio::io::stdout()) => outcome,
            () = interrupted() => Err(Failure::interrupted()),
        },
    }
}

fn command(program: &CommandSpec, recorder: Option<Recorder>) -> Upstream {
    // The host has set the environment for the server.
    let mut command = program.command().inherit_env().on_stderr(|line| {
        let _ = writeln!(std::io::stderr().lock(), "{}", escape_for_terminal(line));
    });
    if let Some(recorder) = &recorder {
        command = command.recorder(recorder);
    }
    Upstream::Command(Arc::new(command), recorder)
}

/// Serves hosts over HTTP until a signal comes.
async fn serve(
    upstream: Upstream,
    name: &str,
    address: SocketAddr,
    max_message: Option<usize>,
) -> Result<()> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!(
            "cannot listen on {address}: {error}; choose another address with --http ADDRESS"
        ))
    })?;
    let address = listener.local_addr().map_err(toolway::Error::from)?;
    let front = Front::new(upstream, max_message);
    let mut service = HttpService::answered_by(front.clone());
    if let Some(bytes) = max_message {
        service = service.max_body(bytes);
    }
    let (tell, told) = oneshot::channel();
    let stop = async {
        shutdown_signal().await;
        let _ = tell.send(());
        // Streams end with their servers, so that no connection has to be waited for.
        front.close().await;
    };
    let mut serving = pin!(service.serve_until(listener, stop));
    // The first poll installs the signal handlers, before the URL is printed.
    if let Poll::Ready(outcome) = poll_fn(|cx| Poll::Ready(serving.as_mut().poll(cx))).await {
        return Ok(outcome?);
    }
    write_stderr(&format!("Passing messages on to {name} at http://{address}/mcp; end with Ctrl-C.\n"));
    let second_signal = async {
        let _ = told.await;
        shutdown_signal().await;
    };
    tokio::select! {
        outcome = serving => Ok(outcome?),
        () = second_signal => Err(Failure::interrupted()),
        () = front.end_idle() => Ok(()),
    }
}

/// Returns what comes from stdin. It is read on a thread that the runtime does not wait for: the program can exit while
/// the host keeps stdin open.
fn stdin() -> DuplexStream {
    let (near, mut far) = tokio::io::duplex(BUFFER);
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER];
        let mut stdin = std::io::stdin().lock();
        // An error means that nothing more comes, as the end does.
        while let Ok(length @ 1..) = stdin.read(&mut buffer) {
            if runtime.block_on(far.write_all(&buffer[..length])).is_err() {
                return;
            }
        }
    });
    near
}

/// The size in bytes of the buffer between stdin and the proxy.
const BUFFER: usize = 64 << 10;
