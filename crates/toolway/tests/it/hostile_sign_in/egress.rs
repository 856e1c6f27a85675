//! Which addresses can a server lead a client to?

use serde_json::json;
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
    for url in ["http://93.184.216.35/x", "http://localhost:1/x", "HTTP://93.184.216.34/x"] {
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
