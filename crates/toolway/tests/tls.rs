//! Clients over TLS: which certificates do they trust, and which errors do they report? The servers are real, and so
//! are the certificates: each test creates them with its own authority.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use toolway::client::{Http, IntoTarget};
use toolway::prelude::*;
use toolway::{Chain, Error, ErrorKind, ProtocolVersion};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Says how far it is.
#[tool]
async fn count(ctx: Ctx) -> &'static str {
    for n in 1..=3 {
        ctx.progress(n, 3, "counting").await;
    }
    "counted"
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        Self::named("an authority of the tests")
    }

    fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for these names.
    fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// The negotiated protocol of each connection.
type Agreed = Arc<Mutex<Vec<Option<Vec<u8>>>>>;

/// Starts a server behind TLS; returns its URL.
async fn serve(config: ServerConfig) -> (String, Agreed) {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let behind = plain.local_addr().unwrap();
    let server = Server::new("calculator", "1.0.0").tools(tools![add, count]).build().unwrap();
    tokio::spawn(async move { server.http().hosts(["notes.invalid"]).serve(plain).await });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let agreed = Agreed::default();
    let tell = agreed.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, tell) = (acceptor.clone(), tell.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate closes the connection immediately.
                let Ok(mut near) = acceptor.accept(socket).await else { return };
                tell.lock().unwrap().push(near.get_ref().1.alpn_protocol().map(<[u8]>::to_vec));
                let mut far = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (url, agreed)
}

async fn refused(server: Http) -> Error {
    let error = Client::connect_http(server).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error:?}");
    assert!(error.is_unsent() && !error.is_reply_lost(), "{error:?}");
    error
}

#[tokio::test]
async fn a_server_with_a_certificate_of_a_trusted_authority_is_called() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost"], |_| {})).await;
    // Two authorities work like one.
    let server = Http::new(&url).root_certificate(Authority::new().pem()).root_certificate(authority.pem());
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let client = Client::builder().protocol(version).connect_http(server.clone()).await.unwrap();
        let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!(sum.first_text(), Some("5"));
        let counted = client.call("count", json!({})).await.unwrap();
        assert_eq!(counted.first_text(), Some("counted"));
        client.close().await.unwrap();
    }
    let agreed = agreed.lock().unwrap().clone();
    assert!(!agreed.is_empty());
    assert!(agreed.iter().all(|protocol| protocol.as_deref() == Some(b"http/1.1")), "{agreed:?}");
}

#[tokio::test]
async fn an_unknown_authority_is_not_believed() {
    let (url, agreed) = serve(Authority::new().issue(&["localhost"], |_| {})).await;
    let other = Authority::named("somebody else").pem();
    // An authority with the same name but another key is not trusted.
    let namesake = Authority::new().pem();
    let server = Http::new(&url).header("x-key", "secret");
    for (server, part) in [
        (server.clone(), "`Http::root_certificate`"),
        (server.clone().root_certificate(other), "`Http::root_certificate`"),
        (server.root_certificate(namesake), "another key"),
    ] {
        let error = refused(server).await;
        let text = Chain(&error).to_string();
        assert!(text.contains(&url) && text.contains(part), "{text}");
        assert!(!format!("{error:#?}").contains("secret"), "{error:#?}");
    }
    assert!(agreed.lock().unwrap().is_empty(), "nothing was said");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["other.example"], |_| {})).await;
    let error = refused(Http::new(&url).root_certificate(authority.pem())).await;
    let text = Chain(&error).to_string();
    assert!(text.contains("not for localhost but for") && text.contains("other.example"), "{text}");
    assert!(agreed.lock().unwrap().is_empty(), "nothing was said");
}

#[tokio::test]
async fn a_certificate_out_of_its_time_is_not_believed() {
    let authority = Authority::new();
    let expired = authority.issue(&["localhost"], |params| params.not_after = date_time_ymd(2001, 2, 3));
    let early = authority.issue(&["localhost"], |params| params.not_before = date_time_ymd(3001, 2, 3));
    for (config, part) in [(expired, "has expired"), (early, "is not valid yet")] {
        let (url, agreed) = serve(config).await;
        let error = refused(Http::new(&url).root_certificate(authority.pem())).await;
        let text = Chain(&error).to_string();
        assert!(text.contains(part) && text.contains("clock"), "{text}");
        assert!(agreed.lock().unwrap().is_empty(), "nothing was said");
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_said_to_be_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let server = Server::new("plain", "1.0.0").build().unwrap();
    tokio::spawn(async move { server.http().serve(listener).await });
    let text = Chain(&refused(Http::new(&url)).await).to_string();
    assert!(text.contains("does not speak TLS") && text.contains("http://"), "{text}");
}

/// The clock is paused, and advances when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let silent = tokio::spawn(async move {
        let mut sockets = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            sockets.push(socket);
        }
    });
    let error = refused(Http::new(&url).connect_timeout(Duration::from_secs(7))).await;
    let text = Chain(&error).to_string();
    assert!(text.contains("no connection was established within 7s"), "{text}");
    silent.abort();
}

#[test]
fn what_is_no_certificate_is_said_to_be_none() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    let broken = Authority::new().pem().replace("MII", "AAA");
    for (pem, part) in [
        ("", "must begin with -----BEGIN CERTIFICATE-----"),
        ("secret", "must begin with"),
        (key.as_str(), "must begin with"),
        ("-----BEGIN CERTIFICATE-----\nsecret", "is not PEM"),
        (broken.as_str(), "cannot be used"),
    ] {
        let server = Http::new("https://localhost/mcp").root_certificate(pem);
        let error = server.into_target().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

const CHILD: &str = "TOOLWAY_TEST_TLS_URL";

/// Does something only if the test below starts it, in a process with its own system certificates.
#[tokio::test]
async fn in_another_process() {
    let Ok(url) = std::env::var(CHILD) else { return };
    let client = Client::connect_http(url).await.unwrap();
    client.ping().await.unwrap();
    client.close().await.unwrap();
}

#[tokio::test]
async fn an_authority_that_the_system_trusts_is_trusted() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost"], |_| {})).await;
    let file = std::env::temp_dir().join(format!("toolway-authority-{}.pem", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_another_process"]).env(CHILD, &url).env("SSL_CERT_FILE", &file);
    let output = command.output().await.unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(!agreed.lock().unwrap().is_empty(), "it was called");
}

#[tokio::test]
async fn a_wrong_ssl_cert_file_does_not_widen_trust() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost"], |_| {})).await;
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "in_another_process", "--nocapture"]).env(CHILD, &url);
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR").env(name, "/does/not/exist");
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains("SSL_CERT_FILE and SSL_CERT_DIR name no certificate that can be used"),
            "{said}"
        );
    }
    assert!(agreed.lock().unwrap().is_empty(), "no connection was made");
}

/// A proxy that opens connections to one address, whatever it is asked for. Returns its host and port, and the heads of
/// the requests.
async fn open_proxy(leads_to: String, password: Option<&'static str>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let tell = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (tell, leads_to) = (tell.clone(), leads_to.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(near.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let is_welcome = password.is_none_or(|password| head.contains(password));
                tell.lock().unwrap().push(head);
                if !is_welcome {
                    near.write_all(b"HTTP/1.1 407 Who are you\r\n\r\n").await.unwrap();
                    return;
                }
                let Ok(mut far) = TcpStream::connect(leads_to).await else {
                    near.write_all(b"HTTP/1.1 502 Unknown\r\n\r\n").await.unwrap();
                    return;
                };
                near.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, heads)
}

fn host_and_port(url: &str) -> String {
    url.trim_start_matches("https://").trim_end_matches("/mcp").to_owned()
}

#[tokio::test]
async fn a_server_is_reached_through_a_proxy() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost"], |_| {})).await;
    let server = Http::new(&url).root_certificate(authority.pem());
    // `me:s3cret` in Base64.
    let (proxy, heads) = open_proxy(host_and_port(&url), Some("Basic bWU6czNjcmV0")).await;
    let through = server.clone().proxy(format!("http://me:s3cret@{proxy}"));
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let client = Client::builder().protocol(version).connect_http(through.clone()).await.unwrap();
        let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!(sum.first_text(), Some("5"));
        client.close().await.unwrap();
    }
    let heads = heads.lock().unwrap().clone();
    let wanted = format!("CONNECT {} HTTP/1.1\r\n", host_and_port(&url));
    assert!(!heads.is_empty() && heads.iter().all(|head| head.starts_with(&wanted)), "{heads:?}");
    assert_eq!(agreed.lock().unwrap().len(), heads.len(), "each connection went through the proxy");
    let through = through.without_proxy();
    Client::connect_http(through).await.unwrap().ping().await.unwrap();
    assert_eq!(agreed.lock().unwrap().len(), heads.len() + 1);
}

#[tokio::test]
async fn a_proxy_that_does_not_help_is_blamed() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost"], |_| {})).await;
    let server = Http::new(&url).root_certificate(authority.pem());
    let (closed, _) = open_proxy(host_and_port(&url), Some("never")).await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let (lost, _) = open_proxy(free.clone(), None).await;
    for (proxy, part) in [
        (&closed, "asks for a user and a password"),
        (&free, "cannot be reached"),
        (&lost, "did not connect to the server"),
    ] {
        let error = refused(server.clone().proxy(format!("http://me:s3cret@{proxy}"))).await;
        let text = Chain(&error).to_string();
        assert!(text.contains(part) && text.contains(proxy.as_str()), "{text}");
        assert!(!format!("{error:#?}").contains("s3cret"), "{error:#?}");
    }
    assert!(agreed.lock().unwrap().is_empty(), "nothing was said");
    let error = server.proxy("socks5://me:s3cret@localhost").into_target().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[tokio::test]
async fn the_environment_names_the_proxy_and_its_exceptions() {
    let authority = Authority::new();
    let (url, agreed) = serve(authority.issue(&["localhost", "notes.invalid"], |_| {})).await;
    let (proxy, heads) = open_proxy(host_and_port(&url), None).await;
    let file = std::env::temp_dir().join(format!("toolway-proxy-{}.pem", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    for (target, exceptions, is_reached, is_proxied) in [
        ("https://notes.invalid/mcp", "other.invalid", true, true),
        // Without the proxy, the name leads nowhere.
        ("https://notes.invalid/mcp", "other.invalid, notes.invalid", false, false),
        // This machine needs no proxy.
        (url.as_str(), "", true, false),
    ] {
        heads.lock().unwrap().clear();
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "in_another_process", "--nocapture"]).env(CHILD, target);
        command.env("HTTPS_PROXY", &proxy).env("NO_PROXY", exceptions).env("SSL_CERT_FILE", &file);
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.success(), is_reached, "{target}: {said}");
        assert_eq!(!heads.lock().unwrap().is_empty(), is_proxied, "{target}: {said}");
    }
    std::fs::remove_file(&file).unwrap();
    assert!(!agreed.lock().unwrap().is_empty());
}
