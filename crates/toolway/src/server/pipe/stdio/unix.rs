//! Which kind of descriptor are stdin and stdout, and how are they read and written without blocking the runtime?
//!
//! Hosts pass pipes, Node passes sockets, a shell passes files and terminals. Pipes and sockets are made non-blocking.
//! The non-blocking flag belongs to the open file, which other descriptors may share: a terminal is shared with the
//! shell, and stdout may be the same pipe as stderr, where a non-blocking write would make `eprintln!` panic. So
//! terminals and shared pipes are used from threads. So are files, because the kernel cannot poll them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustix::fs::{FileType, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::AddressFamily;
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
    match (rustix::fs::fstat(a), rustix::fs::fstat(b)) {
        (Ok(a), Ok(b)) => a.st_dev == b.st_dev && a.st_ino == b.st_ino,
        _ => false,
    }
}

enum DescriptorKind {
    Pipe,
    UnixSocket,
    InternetSocket,
    Other,
}

fn descriptor_kind(descriptor: &OwnedFd) -> io::Result<DescriptorKind> {
    let mode = rustix::fs::fstat(descriptor)?.st_mode;
    Ok(match FileType::from_raw_mode(mode) {
        FileType::Fifo => DescriptorKind::Pipe,
        FileType::Socket => match rustix::net::getsockname(descriptor)?.address_family() {
            AddressFamily::UNIX => DescriptorKind::UnixSocket,
            AddressFamily::INET | AddressFamily::INET6 => DescriptorKind::InternetSocket,
            _ => DescriptorKind::Other,
        },
        _ => DescriptorKind::Other,
    })
}

fn reader(input: OwnedFd) -> io::Result<BoxReader> {
    Ok(match descriptor_kind(&input)? {
        DescriptorKind::Pipe => {
            set_nonblocking(&input)?;
            Box::pin(pipe::Receiver::from_owned_fd(input)?)
        }
        DescriptorKind::UnixSocket => Box::pin(unix_stream(input)?),
        DescriptorKind::InternetSocket => Box::pin(tcp_stream(input)?),
        DescriptorKind::Other => Box::pin(ThreadReader::start(File::from(input))?),
    })
}

fn writer(output: OwnedFd, shared_with_stderr: bool) -> io::Result<BoxWriter> {
    let kind = if shared_with_stderr { DescriptorKind::Other } else { descriptor_kind(&output)? };
    Ok(match kind {
        DescriptorKind::Pipe => {
            set_nonblocking(&output)?;
            Box::pin(pipe::Sender::from_owned_fd(output)?)
        }
        DescriptorKind::UnixSocket => Box::pin(unix_stream(output)?),
        DescriptorKind::InternetSocket => Box::pin(tcp_stream(output)?),
        DescriptorKind::Other => Box::pin(tokio::fs::File::from_std(File::from(output))),
    })
}

fn set_nonblocking(descriptor: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(descriptor)?;
    Ok(rustix::fs::fcntl_setfl(descriptor, flags | OFlags::NONBLOCK)?)
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
