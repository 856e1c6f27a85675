//! How does the browser return to this program?
//!
//! A listener on this machine waits for one GET with the state of the login. Anything else is answered with an error and
//! does not end the login.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use toolway_protocol::oauth::{Callback, HttpUrl};

use crate::ground::error::{Error, ErrorKind, Result};

/// Waits for the browser.
pub(super) struct Loopback {
    listeners: Vec<TcpListener>,
    path: String,
    port: u16,
    pub(super) redirect_uri: String,
}

impl Loopback {
    /// Listens at a port that a client was registered with, or at a free one.
    pub(super) async fn open(pinned: Option<&str>) -> Result<Self> {
        let parts = pinned.and_then(HttpUrl::parse);
        let port =
            parts.filter(|parts| parts.origin.matches(':').count() > 1).map_or(0, |parts| parts.port());
        let path =
            parts.map(|parts| parts.path).filter(|path| !path.is_empty()).unwrap_or("/callback").to_owned();
        let taken = |error: std::io::Error| {
            let message = format!(
                "port {port} of this machine is taken, and the browser must return to it: close the other program"
            );
            Error::new(ErrorKind::Application, message).caused_by(error)
        };
        let mut others = 0;
        let (listeners, port) = loop {
            match listen(port).await {
                // Another program may have the port that the system chose for the one address at the other one.
                Err(error) if port == 0 && is_taken(&error) && others < MAX_OTHER_PORTS => others += 1,
                outcome => break outcome.map_err(taken)?,
            }
        };
        let redirect_uri = match pinned.zip(parts) {
            Some((pinned, parts)) if parts.port() == port => pinned.to_owned(),
            Some((_, parts)) => format!("http://{}:{port}{path}", parts.host),
            None => format!("http://localhost:{port}{path}"),
        };
        Ok(Self { listeners, path, port, redirect_uri })
    }

    /// Waits until the browser comes back with this state.
    pub(super) async fn wait(self, state: &str, limit: Duration) -> Result<Callback> {
        let (sender, mut callbacks) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            let (path, port, state, sender) =
                (self.path.clone(), self.port, state.to_owned(), sender.clone());
            tasks.spawn(async move {
                let mut visits = JoinSet::new();
                loop {
                    let Ok((stream, _)) = listener.accept().await else {
                        // The process may have no file left, and an error that stays must not keep a core busy.
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    while visits.try_join_next().is_some() {}
                    if visits.len() >= MAX_VISITS {
                        continue;
                    }
                    let (path, state, sender) = (path.clone(), state.clone(), sender.clone());
                    visits.spawn(async move {
                        let visit = serve(stream, &path, port, &state, &sender);
                        let _ = tokio::time::timeout(VISIT_TIMEOUT, visit).await;
                    });
                }
            });
        }
        let callback = tokio::time::timeout(limit, callbacks.recv()).await;
        // The page is written before the callback comes, and the next login may need the port.
        tasks.shutdown().await;
        match callback {
            Ok(Some(callback)) => Ok(callback),
            _ => Err(Error::new(
                ErrorKind::Timeout,
                format!(
                    "no one signed in within {} s: try again, and sign in on the page that opens",
                    limit.as_secs()
                ),
            )),
        }
    }
}

/// Listens at both addresses that `localhost` may be. A machine without IPv6 has only the first.
async fn listen(port: u16) -> std::io::Result<(Vec<TcpListener>, u16)> {
    let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let port = first.local_addr()?.port();
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await {
        Ok(second) => Ok((vec![first, second], port)),
        // The browser would bring the code to another program.
        Err(error) if is_taken(&error) => Err(error),
        Err(_) => Ok((vec![first], port)),
    }
}

/// Returns whether another program has a port. Windows reports a port that is reserved as one without permission.
fn is_taken(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::AddrInUse | std::io::ErrorKind::PermissionDenied)
}

/// Serves one request.
async fn serve(
    mut stream: TcpStream,
    path: &str,
    port: u16,
    state: &str,
    callbacks: &mpsc::Sender<Callback>,
) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() >= MAX_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let callback = std::str::from_utf8(&head).ok().and_then(|head| read_callback(head, path, port));
    let (status, page) = match &callback {
        Some(callback) if callback.state() == state => ("200 OK", SIGNED_IN),
        Some(_) => ("400 Bad Request", OTHER_LOGIN),
        None => ("404 Not Found", NOT_HERE),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await?;
    if let Some(callback) = callback.filter(|callback| callback.state() == state) {
        let _ = callbacks.try_send(callback);
    }
    Ok(())
}

/// Returns the callback of a request head, if it is one.
fn read_callback(head: &str, path: &str, port: u16) -> Option<Callback> {
    let mut lines = head.split("\r\n");
    let target = lines.next()?.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let mut hosts =
        lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.next()?.1.trim();
    // A page on another host that leads its name here is not the browser that comes back.
    let is_ours = ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| *host == format!("{name}:{port}"));
    let (asked, query) = target.split_once('?')?;
    (is_ours && hosts.next().is_none() && asked == path).then(|| Callback::read(query).ok()).flatten()
}

const SIGNED_IN: &str =
    "<!doctype html><title>Signed in</title><p>You are signed in. You can close this page.";
const OTHER_LOGIN: &str = "<!doctype html><title>Another login</title><p>This page belongs to another login, which is not waited for.";
const NOT_HERE: &str = "<!doctype html><title>Not found</title><p>There is nothing here.";
/// The length of the longest head of a request.
const MAX_HEAD: usize = 8 << 10;
/// The largest number of requests at one time.
const MAX_VISITS: usize = 16;
const VISIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How many other ports are tried if the one that the system chose is taken at one of the two addresses.
const MAX_OTHER_PORTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(port: u16, target: &str, host: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn only_the_login_that_is_waited_for_ends_it() {
        let loopback = Loopback::open(None).await.unwrap();
        let port = loopback.port;
        assert_eq!(loopback.redirect_uri, format!("http://localhost:{port}/callback"));
        let waiting = tokio::spawn(async move { loopback.wait("s1", Duration::from_secs(60)).await });
        let host = format!("localhost:{port}");
        for (target, host, status) in [
            ("/callback?code=x&state=s2", host.as_str(), "HTTP/1.1 400 Bad Request"),
            ("/callback?code=x&code=y&state=s1", &host, "HTTP/1.1 404 Not Found"),
            ("/other?code=x&state=s1", &host, "HTTP/1.1 404 Not Found"),
            ("/callback", &host, "HTTP/1.1 404 Not Found"),
            ("/callback?code=x&state=s1", "evil.example", "HTTP/1.1 404 Not Found"),
            ("/callback?code=x&state=s1", &host, "HTTP/1.1 200 OK"),
        ] {
            assert_eq!(get(port, target, host).await, status, "{target} {host}");
        }
        let callback = waiting.await.unwrap().unwrap();
        assert_eq!(callback.outcome("i", false), Ok(Ok("x".to_owned())));
    }

    #[tokio::test]
    async fn a_port_that_another_program_has_for_ipv6_is_taken() {
        // A machine without IPv6 has no such program.
        let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else { return };
        let port = other.local_addr().unwrap().port();
        assert!(listen(port).await.is_err_and(|error| is_taken(&error)));
        let error = Loopback::open(Some(&format!("http://localhost:{port}/back"))).await.err().unwrap();
        assert!(error.to_string().contains(&format!("port {port} of this machine is taken")), "{error}");
        let free = Loopback::open(None).await.unwrap();
        assert_eq!(free.listeners.len(), 2);
        assert_ne!(free.port, port);
    }

    #[tokio::test]
    async fn a_port_that_is_pinned_is_the_only_one() {
        let first = Loopback::open(None).await.unwrap();
        let pinned = format!("http://127.0.0.1:{}/back", first.port);
        let error = Loopback::open(Some(&pinned)).await.err().unwrap();
        assert!(error.to_string().contains(&first.port.to_string()), "{error}");
        drop(first);
        let again = Loopback::open(Some(&pinned)).await.unwrap();
        assert_eq!((again.redirect_uri.as_str(), again.path.as_str()), (pinned.as_str(), "/back"));
        let error = again.wait("s", Duration::ZERO).await.err().unwrap();
        assert!(error.is_timeout(), "{error}");
    }
}
