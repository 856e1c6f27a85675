//! Which kind of descriptor are stdin and stdout, and how are they read and written without blocking the runtime?
//!
//! Hosts pass pipes, Node passes sockets, a shell passes files and terminals. Pipes and sockets are made non-blocking.
//! The non-blocking flag belongs to the open file, which other descriptors may share: a terminal is shared with the
//! shell, and stdout may be the same pipe as stderr, where a non-blocking write would make `eprintln!` panic. So
//! terminals and shared pipes are used from threads. So are files, because the kernel cannot poll them.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

type BoxReader = Pin<Box<dyn AsyncRead + Send>>;
type BoxWriter = Pin<Box<dyn AsyncWrite + Send>>;

/// Takes over stdin and stdout from the rest of the process.
pub(crate) fn take() -> io::Result<(BoxReader, BoxWriter)> {
    // The copies get numbers above 2, so that a copy never takes the number of a standard stream that is closed.
    let input = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(io::stdout(), 3)?;
    io::stdout().flush()?;
    let shared = is_same_file(output.as_fd(), io::stderr().as_fd());
    dup2_stdout(io::stderr())?;
    let nothing = File::open("/dev/null")?;
    dup2_stdin(&nothing)?;
    // Child processes inherit the new stdin, so it must not be close-on-exec.
    fcntl_setfd(io::stdin(), FdFlags::empty())?;
    Ok((reader(input)?, writer(output, shared)?))
}

fn is_same_file(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    match (metadata(a), metadata(b)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

/// Returns the facts about an open file. The standard library reads them of a `File` only, so this makes a copy of the
/// descriptor, which is closed at once.
fn metadata(descriptor: BorrowedFd<'_>) -> io::Result<Metadata> {
    File::from(descriptor.try_clone_to_owned()?).metadata()
}

enum DescriptorKind {
    Pipe,
    UnixSocket,
    InternetSocket,
    Other,
}

fn descriptor_kind(descriptor: &OwnedFd) -> io::Result<DescriptorKind> {
    let file_type = metadata(descriptor.as_fd())?.file_type();
    if file_type.is_fifo() {
        return Ok(DescriptorKind::Pipe);
    }
    if !file_type.is_socket() {
        return Ok(DescriptorKind::Other);
    }
    // Each of these types refuses the addresses of other families.
    let copy = || descriptor.try_clone();
    if std::os::unix::net::UnixStream::from(copy()?).local_addr().is_ok() {
        return Ok(DescriptorKind::UnixSocket);
    }
    let is_internet = std::net::TcpStream::from(copy()?).local_addr().is_ok();
    Ok(if is_internet { DescriptorKind::InternetSocket } else { DescriptorKind::Other })
}

fn reader(input: OwnedFd) -> io::Result<BoxReader> {
    Ok(match descriptor_kind(&input)? {
        // This makes the pipe non-blocking.
        DescriptorKind::Pipe => Box::pin(pipe::Receiver::from_owned_fd(input)?),
        DescriptorKind::UnixSocket => Box::pin(unix_stream(input)?),
        DescriptorKind::InternetSocket => Box::pin(tcp_stream(input)?),
        DescriptorKind::Other => Box::pin(ThreadReader::start(File::from(input))?),
    })
}

fn writer(output: OwnedFd, shared_with_stderr: bool) -> io::Result<BoxWriter> {
    let kind = if shared_with_stderr { DescriptorKind::Other } else { descriptor_kind(&output)? };
    Ok(match kind {
        DescriptorKind::Pipe => Box::pin(pipe::Sender::from_owned_fd(output)?),
        DescriptorKind::UnixSocket => Box::pin(unix_stream(output)?),
        DescriptorKind::InternetSocket => Box::pin(tcp_stream(output)?),
        DescriptorKind::Other => Box::pin(tokio::fs::File::from_std(File::from(output))),
    })
}

fn unix_stream(socket: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(socket);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

fn tcp_stream(socket: OwnedFd) -> io::Result<TcpStream> {
    let stream = std::net::TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// Reads a file or a terminal in its own thread. The thread is not joined: a read from a terminal ends only when the
/// user types, and the process must be able to exit before that.
struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl ThreadReader {
    fn start(mut file: File) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new().name("toolway-stdin".into()).spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let chunk = match file.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, rest: Bytes::new() })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest[..count]);
        self.rest.advance(count);
        Poll::Ready(Ok(()))
    }
}
