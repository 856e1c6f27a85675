//! Can the address of a URL be reached?

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::Uri;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use toolway::client::IntoTarget;

use super::report::{Report, Step};
use crate::failure::{Fault, Result, chain};
use crate::location::Address;

/// Checks the URL, its host name and its port, up to a connection.
pub(super) async fn examine(report: &mut Report<'_>, address: &Address, patience: Duration) -> Result<()> {
    let (host, port) = check_url(report, address)?;
    if let Some(proxy) = address.http().proxy_address() {
        report.skip("dns", &format!("the proxy {proxy} finds the host"))?;
        return report.skip("tcp", &format!("the proxy {proxy} connects to it"));
    }
    let places = resolve_host(report, &host, port, patience).await?;
    connect(report, &places, patience).await
}

fn check_url(report: &mut Report<'_>, address: &Address) -> Result<(String, u16)> {
    let step = Step::begin("url");
    if let Err(error) = address.http().into_target() {
        let fix = if address.url.contains('@') {
            "remove the part before the @, and give a token with --bearer or in TOOLWAY_BEARER"
        } else {
            "write it as https://example.com/mcp"
        };
        return Err(report.fail(step, Fault::Usage, &chain(&error), fix));
    }
    let uri = address.url.parse::<Uri>().ok();
    let parts = uri.and_then(|uri| Some((uri.scheme_str()?.to_owned(), uri.host()?.to_owned(), uri)));
    let Some((scheme, host, uri)) = parts else {
        return Err(report.fail(
            step,
            Fault::Usage,
            "the URL has no host",
            "write it as https://example.com/mcp",
        ));
    };
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    report.pass_untimed("url", &format!("{scheme}, host {host}, port {port}, path {}", uri.path()))?;
    Ok((host, port))
}

async fn resolve_host(
    report: &mut Report<'_>,
    host: &str,
    port: u16,
    patience: Duration,
) -> Result<Vec<SocketAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        report.skip("dns", "the host is an IP address")?;
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let step = Step::begin("dns");
    let reason = match timeout(patience, lookup_host((bare, port))).await {
        Ok(Ok(found)) => {
            let mut places: Vec<_> = found.collect();
            places.dedup();
            if !places.is_empty() {
                let shown: Vec<_> = places.iter().map(|place| place.ip().to_string()).collect();
                report.pass(step, &[shown.join(", ")])?;
                return Ok(places);
            }
            "no address was found".to_owned()
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("the name server did not answer within {patience:?}"),
    };
    let fix = "check the spelling, and that this machine is online or in the right VPN";
    Err(report.fail(step, Fault::Unreachable, &format!("the host `{host}` is not known: {reason}"), fix))
}

async fn connect(report: &mut Report<'_>, places: &[SocketAddr], patience: Duration) -> Result<()> {
    let step = Step::begin("tcp");
    let mut refused = Vec::new();
    let mut last = None;
    for place in places {
        let error = match timeout(patience, TcpStream::connect(place)).await {
            Ok(Ok(_)) => {
                let mut lines = vec![format!("connected to {place}")];
                lines.extend(refused);
                return report.pass(step, &lines);
            }
            Ok(Err(error)) => error,
            Err(_) => io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {patience:?}")),
        };
        refused.push(format!("{place}: {error}"));
        last = Some(error.kind());
    }
    let fix = match last {
        Some(io::ErrorKind::ConnectionRefused) => {
            "nothing listens there: start the server, or check the host and the port"
        }
        Some(io::ErrorKind::TimedOut) => {
            "a firewall may block the connection, or the server is down: check the host and the port"
        }
        _ => "check the network of this machine",
    };
    Err(report.fail(step, Fault::Unreachable, &refused.join("\n"), fix))
}
