//! How are lines passed on, and what happens when the server ends? It is started again, and told what the one before it
//! knew: the host does not notice, except that requests that were under way fail.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use toolway::client::record::Recorder;
use toolway::client::{Command, ProcessHandle};

use super::ledger::{Ledger, Verdict};
use super::line::Message;
use super::line_reader::{LineReader, Piece};
use crate::failure::{Failure, Fault, Result, chain};

/// How often in a row a server may end without having sent anything.
const MAX_SILENT_ENDS: u32 = 5;

/// The time to wait before a server is started again, which doubles each time that it ends without having sent anything.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// How long a server may take to answer when the conversation is opened again.
const OPENING_TIMEOUT: Duration = Duration::from_secs(60);

/// Passes lines on between a host and a server, until the host closes its input.
pub(crate) async fn relay(
    command: &Command,
    recorder: Option<&Recorder>,
    host_input: impl AsyncRead + Unpin,
    host_output: impl AsyncWrite + Unpin,
) -> Result<()> {
    let mut host = Host { input: LineReader::new(host_input), output: host_output, recorder };
    let ledger = Mutex::new(Ledger::default());
    let mut server = Server::start(command)?;
    let mut silent_ends = 0;
    loop {
        let end = server.serve(&mut host, &ledger).await;
        match end {
            End::HostClosed => {
                let _ = server.process.close().await;
                return Ok(());
            }
            End::HostFailed(error) => {
                let _ = server.process.close().await;
                return Err(Failure::usage(format!("stdin or stdout failed: {error}")));
            }
            End::ServerEnded { has_spoken } => silent_ends = if has_spoken { 0 } else { silent_ends + 1 },
        }
        server.process.ended().await;
        let why = server.process.diagnosis();
        drop(server);
        eprint_line(&format!("toolway proxy: {why}"));
        let lines = lock(&ledger).end_server();
        for line in lines {
            host.write(&line).await.map_err(|error| Failure::usage(format!("stdout failed: {error}")))?;
        }
        if silent_ends >= MAX_SILENT_ENDS {
            let text =
                format!("the server ended {MAX_SILENT_ENDS} times without having sent anything: {why}");
            return Err(Failure::new(Fault::CannotStart, text));
        }
        // The host may leave meanwhile; what it says meanwhile is for the next server.
        tokio::select! {
            () = sleep(if silent_ends == 0 { Duration::ZERO } else { FIRST_WAIT * (1 << silent_ends) }) => {}
            _ = host.input.ended() => return Ok(()),
        }
        server = Server::start(command)?;
    }
}

/// The program that has started this one.
struct Host<'r, R, W> {
    input: LineReader<R>,
    output: W,
    recorder: Option<&'r Recorder>,
}

impl<R, W: AsyncWrite + Unpin> Host<'_, R, W> {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.output.write_all(line).await?;
        self.output.flush().await
    }
}

struct Server {
    output: LineReader<Box<dyn AsyncRead + Send + Unpin>>,
    input: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    process: ProcessHandle,
}

/// Why a server is no longer served.
enum End {
    /// The host has closed its input, and the server has answered what it had to.
    HostClosed,
    HostFailed(io::Error),
    ServerEnded {
        /// `true` if the server has sent something.
        has_spoken: bool,
    },
}

impl Server {
    fn start(command: &Command) -> Result<Self> {
        let process = command.spawn_io().map_err(|error| Failure::new(Fault::CannotStart, chain(&error)))?;
        let (output, input, process) = process.into_parts();
        Ok(Self { output: LineReader::new(Box::new(output)), input: Some(Box::new(input)), process })
    }

    /// Passes lines on until the host or the server ends.
    async fn serve<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &mut self,
        host: &mut Host<'_, R, W>,
        ledger: &Mutex<Ledger>,
    ) -> End {
        if let Err(end) = self.open(host, ledger).await {
            return end;
        }
        let Self { output, input, .. } = self;
        let Host { input: host_input, output: host_output, recorder } = host;
        let has_spoken = AtomicBool::new(false);
        let up = pass_up(host_input, input, ledger, *recorder);
        let down = async {
            while let Ok(Some(piece)) = output.next().await {
                has_spoken.store(true, Ordering::Relaxed);
                pass_down(&piece, host_output, ledger, *recorder).await?;
            }
            Ok(())
        };
        let (mut up, mut down) = (std::pin::pin!(up), std::pin::pin!(down));
        let is_host_closed = tokio::select! {
            biased;
            ended = &mut down => return match ended {
                Ok(()) => End::ServerEnded { has_spoken: has_spoken.load(Ordering::Relaxed) },
                Err(error) => End::HostFailed(error),
            },
            ended = &mut up => match ended {
                Ok(is_host_closed) => is_host_closed,
                Err(error) => return End::HostFailed(error),
            },
        };
        // The last answers, or the end of a server that no longer reads.
        match down.await {
            Err(error) => End::HostFailed(error),
            Ok(()) if is_host_closed => End::HostClosed,
            Ok(()) => End::ServerEnded { has_spoken: has_spoken.load(Ordering::Relaxed) },
        }
    }

    /// Tells a server what the one before it knew.
    async fn open<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &mut self,
        host: &mut Host<'_, R, W>,
        ledger: &Mutex<Ledger>,
    ) -> std::result::Result<(), End> {
        const SILENT: End = End::ServerEnded { has_spoken: false };
        let opening = lock(ledger).opening();
        if let Some((line, id)) = opening {
            self.write(&line, host.recorder).await.map_err(|_| SILENT)?;
            let answered = timeout(OPENING_TIMEOUT, async {
                while let Ok(Some(piece)) = self.output.next().await {
                    let is_answer = |message: &Message<'_>| message.response() == Some(&*id);
                    if Message::read(piece.bytes()).iter().any(is_answer) {
                        record(host.recorder, piece.bytes(), Recorder::record_in);
                        return Ok(true);
                    }
                    pass_down(&piece, &mut host.output, ledger, host.recorder)
                        .await
                        .map_err(End::HostFailed)?;
                }
                Ok(false)
            });
            if !answered.await.unwrap_or(Ok(false))? {
                return Err(SILENT);
            }
        }
        let replayed = lock(ledger).replayed();
        for line in replayed {
            self.write(&line, host.recorder).await.map_err(|_| SILENT)?;
        }
        Ok(())
    }

    async fn write(&mut self, line: &[u8], recorder: Option<&Recorder>) -> io::Result<()> {
        record(recorder, line, Recorder::record_out);
        match &mut self.input {
            Some(input) => input.write_all(line).await,
            None => Ok(()),
        }
    }
}

/// Passes on what the host says. Returns `true` when the host has closed its input, and `false` when the server no longer
/// reads.
async fn pass_up(
    host: &mut LineReader<impl AsyncRead + Unpin>,
    server: &mut Option<Box<dyn AsyncWrite + Send + Unpin>>,
    ledger: &Mutex<Ledger>,
    recorder: Option<&Recorder>,
) -> io::Result<bool> {
    while let Some(piece) = host.next().await? {
        let verdict = match &piece {
            Piece::Line(line) => lock(ledger).note_host_line(line),
            Piece::Part(_) => Verdict::Pass,
        };
        let bytes = match &verdict {
            Verdict::Pass => piece.bytes(),
            Verdict::Instead(line) => line,
            Verdict::Drop => continue,
        };
        record(recorder, bytes, Recorder::record_out);
        if let Some(writer) = server
            && writer.write_all(bytes).await.is_err()
        {
            return Ok(false);
        }
    }
    // Closing its input tells the server that the host is gone.
    if let Some(mut writer) = server.take() {
        let _ = writer.shutdown().await;
    }
    Ok(true)
}

/// Passes on what the server says.
async fn pass_down(
    piece: &Piece,
    host: &mut (impl AsyncWrite + Unpin),
    ledger: &Mutex<Ledger>,
    recorder: Option<&Recorder>,
) -> io::Result<()> {
    record(recorder, piece.bytes(), Recorder::record_in);
    let verdict = match piece {
        Piece::Line(line) => lock(ledger).note_server_line(line),
        Piece::Part(_) => Verdict::Pass,
    };
    match &verdict {
        Verdict::Pass => host.write_all(piece.bytes()).await?,
        Verdict::Instead(line) => host.write_all(line).await?,
        Verdict::Drop => return Ok(()),
    }
    host.flush().await
}

fn record(recorder: Option<&Recorder>, line: &[u8], direction: impl Fn(&Recorder, &[u8])) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if let Some(recorder) = recorder.filter(|_| !line.trim_ascii().is_empty()) {
        direction(recorder, line.strip_suffix(b"\r").unwrap_or(line));
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn eprint_line(line: &str) {
    crate::console::write_stderr(&format!("{line}\n"));
}
