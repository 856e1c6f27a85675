//! How is a server put behind a proxy?

use std::io::{Read, Write};

use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;

use toolway::client::record::Recorder;

use super::{CommandContext, expect_no_more_words};
use crate::args::Proxy;
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{Endpoint, Find, interrupted};
use crate::proxy;
use crate::terminal::escape_for_terminal;

pub(crate) async fn run(here: &CommandContext, proxy: Proxy) -> Result<()> {
    let Proxy { mut words, record, location } = proxy;
    let place = location.find(&mut words, here.own_server.as_ref())?;
    expect_no_more_words(&words)?;
    // Stdin belongs to the host, so no user can be asked.
    place.ask_consent(&Console::new(false, true)).await?;
    let Endpoint::Command(program) = &place.endpoint else {
        return Err(Failure::usage("`proxy` passes on what a command says, and this server is a URL")
            .hint("give the command at the end of the line: -- COMMAND [ARG]..."));
    };
    let recorder = record.map(Recorder::to_file);
    // The host has set the environment for the server.
    let mut command = program.command().inherit_env().on_stderr(|line| {
        let _ = writeln!(std::io::stderr().lock(), "{}", escape_for_terminal(line));
    });
    if let Some(recorder) = &recorder {
        command = command.recorder(recorder);
    }
    tokio::select! {
        outcome = proxy::relay(&command, recorder.as_ref(), stdin(), tokio::io::stdout()) => outcome,
        () = interrupted() => Err(Failure::interrupted()),
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
