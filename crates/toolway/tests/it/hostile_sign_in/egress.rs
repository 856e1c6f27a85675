//! Which addresses can a server lead a client to?

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::json;
use toolway::Chain;
use toolway::ErrorKind::PeerMisbehaved;

use super::pair::{Page, Pair, RESOURCE, SERVER, Site};
use super::scenario::{Scenario, Step, check_text};

/// Addresses to which a server on the Internet cannot lead.
const INSIDE: [&str; 26] = [
    "127.0.0.1",
    "127.1",
    "127.0.0.1.",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "127.0.0.0x1",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "169.254.169.254",
    "255.255.255.255",
    "224.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[fc00::1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
];

#[tokio::test]
async fn a_public_server_leads_to_no_address_inside_the_network() {
    for host in INSIDE {
        let url = format!("https://{host}/x");
        let name: &'static str = url.clone().leak();
        let inside = "inside the network";
        let scenario =
            Scenario::in_public(name).challenges(&[&format!("Bearer resource_metadata=\"{url}\"")]);
        scenario.fails(PeerMisbehaved, inside, Step::Resource).await;
        let scenario = Scenario::in_public(name).page(Site::Mcp, RESOURCE, Page::redirect(302, &url));
        scenario.fails(PeerMisbehaved, inside, Step::Resource).await;
        let scenario = Scenario::in_public(name).resource(json!({"authorization_servers": [url]}));
        scenario.fails(PeerMisbehaved, inside, Step::Resource).await;
        let scenario = Scenario::in_public(name).page(Site::Id, SERVER, Page::redirect(308, &url));
        scenario.fails(PeerMisbehaved, inside, Step::Server).await;
        let scenario = Scenario::in_public(name).server(json!({"registration_endpoint": url}));
        scenario.fails(PeerMisbehaved, inside, Step::Server).await;
        let scenario = Scenario::in_public(name).server(json!({"token_endpoint": url}));
        scenario.fails(PeerMisbehaved, inside, Step::Browser).await;
    }
}

#[tokio::test]
async fn a_public_server_leads_to_no_place_without_encryption() {
    for url in ["http://93.184.216.35/x", "http://id.example:1/x", "HTTP://93.184.216.34/x"] {
        let https = "must begin with https://";
        let scenario = Scenario::in_public(url).challenges(&[&format!("Bearer resource_metadata=\"{url}\"")]);
        scenario.fails(PeerMisbehaved, https, Step::Resource).await;
        let scenario = Scenario::in_public(url).page(Site::Mcp, RESOURCE, Page::redirect(302, url));
        scenario.fails(PeerMisbehaved, https, Step::Resource).await;
        let scenario = Scenario::in_public(url).resource(json!({"authorization_servers": [url]}));
        scenario.fails(PeerMisbehaved, https, Step::Resource).await;
        let scenario = Scenario::in_public(url).server(json!({"registration_endpoint": url}));
        scenario.fails(PeerMisbehaved, https, Step::Server).await;
        let scenario = Scenario::in_public(url).server(json!({"token_endpoint": url}));
        scenario.fails(PeerMisbehaved, https, Step::Browser).await;
    }
}

/// An application that allows private networks does not allow its own machine and its cloud.
#[tokio::test]
async fn private_networks_are_all_that_an_application_can_allow() {
    for (host, is_allowed) in [
        ("10.0.0.1", true),
        ("[fc00::1]", true),
        ("127.0.0.1", false),
        ("[::1]", false),
        ("127.1", false),
        ("0.0.0.0", false),
        ("169.254.169.254", false),
        ("[::ffff:169.254.169.254]", false),
        ("[fd00:ec2::254]", false),
    ] {
        let pair = Pair::in_public();
        pair.state().resource = json!({"authorization_servers": [format!("https://{host}")]});
        let error = pair.connect(pair.user().allow_private_networks()).await.unwrap_err();
        check_text(host, &error);
        let was_asked = pair.state().visits.iter().any(|visit| visit.site == Site::Elsewhere);
        assert_eq!(was_asked, is_allowed, "{host}: {error:?}");
        assert_eq!(error.kind() == PeerMisbehaved, !is_allowed, "{host}: {error:?}");
    }
}

#[tokio::test]
async fn a_public_pair_that_is_honest_works() {
    Scenario::in_public("honest").signs_in().await;
}

/// The reasons why a client does not connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Inside,
    Unencrypted,
    NotAUrl,
}

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Self::Inside => "is an address inside the network",
            Self::Unencrypted => "must begin with https://",
            Self::NotAUrl => "is not a URL",
        }
    }
}

/// The first and the last address of each range that is not public, and addresses of metadata services.
const V4: [[u8; 4]; 32] = [
    [0, 0, 0, 0],
    [0, 255, 255, 255],
    [10, 0, 0, 0],
    [10, 255, 255, 255],
    [100, 64, 0, 0],
    [100, 100, 100, 200],
    [100, 127, 255, 255],
    [127, 0, 0, 0],
    [127, 0, 0, 1],
    [127, 255, 255, 255],
    [169, 254, 0, 0],
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [169, 254, 255, 255],
    [172, 16, 0, 0],
    [172, 31, 255, 255],
    [192, 0, 0, 0],
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [192, 88, 99, 1],
    [192, 168, 0, 0],
    [192, 168, 255, 255],
    [198, 18, 0, 0],
    [198, 19, 255, 255],
    [198, 51, 100, 1],
    [203, 0, 113, 1],
    [224, 0, 0, 1],
    [239, 255, 255, 255],
    [240, 0, 0, 1],
    [255, 255, 255, 254],
    [255, 255, 255, 255],
    [127, 1, 2, 3],
];

const V6: [&str; 17] = [
    "::",
    "::1",
    "100::1",
    "2001:2::1",
    "2001:db8::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fdff:ffff::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "64:ff9b:1:a9fe:a9:fe00:5db8:d822",
];

/// Texts that a parser may read as a URL of another place, or not at all.
const TEXTS: [(&str, Verdict); 33] = [
    ("https://localhost/x", Verdict::Inside),
    ("https://LOCALHOST./x", Verdict::Inside),
    ("https://id.localhost:8443/x", Verdict::Inside),
    ("https://0/x", Verdict::Inside),
    ("https://00/x", Verdict::Inside),
    ("https://0x/x", Verdict::Inside),
    ("https://1.0x7f/x", Verdict::Inside),
    ("https://127.1/x", Verdict::Inside),
    ("https://127.0.1/x", Verdict::Inside),
    ("https://127.0.0.1../x", Verdict::Inside),
    ("https://127.0.0.01/x", Verdict::Inside),
    ("https://id.example.10/x", Verdict::Inside),
    ("https://256.256.256.256/x", Verdict::Inside),
    ("https://99999999999/x", Verdict::Inside),
    ("//127.0.0.1/x", Verdict::Inside),
    ("//[::1]:8443/x", Verdict::Inside),
    ("https://[0:0:0:0:0:0:0:1]/x", Verdict::Inside),
    ("https://[0:0:0:0:0:FFFF:7F00:0001]/x", Verdict::Inside),
    ("http://93.184.216.35/x", Verdict::Unencrypted),
    ("http://id.example/x", Verdict::Unencrypted),
    ("HtTp://id.example:443/x", Verdict::Unencrypted),
    ("https://me@93.184.216.35/x", Verdict::NotAUrl),
    ("https://93.184.216.35@127.0.0.1/x", Verdict::NotAUrl),
    ("https://93.184.216.35:99999/x", Verdict::NotAUrl),
    ("https://127.0.0.1\\@93.184.216.35/x", Verdict::NotAUrl),
    ("https://[::1/x", Verdict::NotAUrl),
    ("https://[::1]x/x", Verdict::NotAUrl),
    ("https://", Verdict::NotAUrl),
    ("file:///etc/passwd", Verdict::NotAUrl),
    ("ftp://93.184.216.35/x", Verdict::NotAUrl),
    ("gopher://127.0.0.1:70/x", Verdict::NotAUrl),
    ("javascript:canary()", Verdict::NotAUrl),
    ("data:application/json,{}", Verdict::NotAUrl),
];

/// Returns URLs that do not lead to a public server, and why.
fn hostile_urls() -> BTreeSet<(String, Verdict)> {
    let mut hosts = Vec::new();
    for octets in V4 {
        let [a, b, c, d] = octets;
        let [high, low] = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        let embedded = [
            [0, 0, 0, 0, 0, 0xffff, high, low],
            [0, 0, 0, 0, 0, 0, high, low],
            [0, 0, 0, 0, 0xffff, 0, high, low],
            [0x64, 0xff9b, 0, 0, 0, 0, high, low],
            [0x64, 0xff9b, 1, 0, 0, 0, high, low],
            [0x2002, high, low, 0, 0, 0, 0, 1],
            [0x2001, 0, 0x5db8, 0xd822, 0, 0, !high, !low],
        ];
        hosts.push(Ipv4Addr::from(octets).to_string());
        hosts.extend(embedded.map(|segments| format!("[{}]", Ipv6Addr::from(segments))));
        hosts.push(format!("[::ffff:{high:x}:{low:x}]"));
        hosts.push(u32::from_be_bytes(octets).to_string());
        hosts.push(format!("{:#x}", u32::from_be_bytes(octets)));
        hosts.push(format!("{a:#o}.{b:#o}.{c:#o}.{d:#o}").replace("0o", "0"));
        hosts.push(format!("{a:#x}.{b}.{c}.{d:#x}"));
        hosts.push(format!("{a}.{b}.{}", u16::from_be_bytes([c, d])));
        hosts.push(format!("{a}.{b}.{c}.{d}."));
    }
    hosts.extend(V6.map(|host| format!("[{host}]")));
    let urls = hosts.into_iter().map(|host| (format!("https://{host}:8443/x"), Verdict::Inside));
    urls.chain(TEXTS.map(|(text, verdict)| (text.to_owned(), verdict))).collect()
}

#[tokio::test]
async fn a_public_server_leads_to_none_of_the_hostile_urls() {
    let urls = hostile_urls();
    assert!(urls.len() >= 200, "{} URLs", urls.len());
    for (url, verdict) in urls {
        let pair = Pair::in_public();
        let redirect = Page::redirect(302, &url);
        pair.state().pages.insert((Site::Mcp, RESOURCE.to_owned()), redirect);
        let error = pair.connect(pair.user()).await.unwrap_err();
        let text = Chain(&error).to_string();
        assert!(text.contains(verdict.text()), "{url:?}: {text}");
        assert_eq!(error.kind(), PeerMisbehaved, "{url:?}: {text}");
        check_text(&url, &error);
        let elsewhere = pair.state().visits.iter().filter(|visit| visit.site != Site::Mcp).count();
        assert_eq!(elsewhere, 0, "{url:?}");
    }
}

/// These addresses lead to this machine, whatever it listens on, and are forbidden even if the MCP server is here.
#[cfg(unix)]
#[tokio::test]
async fn no_connection_is_opened_to_a_forbidden_address() {
    use tokio::net::{TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let hosts =
        ["0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "0", "0x0", "0.0.0.0.", "127.1", "0177.0.0.1", "2130706433"];
    for (host, scheme) in hosts.iter().flat_map(|host| [(host, "http"), (host, "https")]) {
        let url = format!("{scheme}://{host}:{port}");
        let pair = Pair::on_loopback().await;
        pair.state().resource = json!({"authorization_servers": [url]});
        let error = pair.connect(pair.user()).await.unwrap_err();
        let text = Chain(&error).to_string();
        assert!(text.contains(Verdict::Inside.text()), "{url}: {text}");
    }
    // The listener can be reached at such an address, and the test is the first to connect to it.
    let own = TcpStream::connect(("0.0.0.0", port)).await.unwrap();
    let (_, from) = listener.accept().await.unwrap();
    assert_eq!(from, own.local_addr().unwrap());
}
