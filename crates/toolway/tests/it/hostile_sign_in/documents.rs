//! Which documents are refused?

use serde_json::json;
use toolway::ErrorKind::{PeerMisbehaved, PeerRefused};

use super::pair::{OPENID, Page, RESOURCE, SERVER, Site, server_document};
use super::scenario::{Scenario, Step};

#[tokio::test]
async fn a_document_about_another_server_ends_the_login() {
    for (name, resource) in [
        ("another host", "https://evil.example/canary"),
        ("another port", "{other}/mcp"),
        ("another scheme", "https://{mcp-authority}/mcp"),
        ("a name for the same host", "http://localhost:{mcp-port}/mcp"),
        ("a host that begins in the same way", "{mcp}.evil.example/mcp"),
        ("the server as the user of another host", "{mcp}@evil.example/mcp"),
        ("a path that begins in the same way", "{mcp}/m"),
        ("a path below that of the server", "{mcp}/mcp/admin"),
        ("a path in capitals", "{mcp}/MCP"),
        ("a path with dots", "{mcp}/x/../mcp"),
        ("a fragment", "{mcp}/mcp#canary"),
        ("a backslash", "{mcp}\\mcp"),
        ("a text that is not a URL", "canary \u{1b}[31m <html>"),
    ] {
        let scenario = Scenario::new(name).await.resource(json!({"resource": resource}));
        scenario.fails(PeerRefused, "speaks of another server", Step::Resource).await;
    }
    // The challenge leads to the document of a server that is not the one that was called.
    let scenario = Scenario::new("the challenge leads to the document of another server").await;
    let other = json!({"resource": "{other}/mcp", "authorization_servers": ["{other}"]});
    let scenario = scenario.challenges(&["Bearer resource_metadata=\"{mcp}/document\""]).page(
        Site::Mcp,
        "/document",
        Page::json(200, other),
    );
    scenario.fails(PeerRefused, "speaks of another server", Step::Resource).await;
}

/// The server may be one of 2025-03-26, which is its own authorization server. What such a document names is not used.
#[tokio::test]
async fn a_document_that_cannot_be_read_leads_to_no_authorization_server() {
    let named = json!(["{id}"]);
    let twice = r#"{"resource":"{mcp}/mcp","resource":"{mcp}/mcp","authorization_servers":["{id}"]}"#;
    let deep = format!(r#"{{"resource":"{{mcp}}/mcp","x":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    for (name, page) in [
        ("a page", Page::html(200)),
        ("a page of an error", Page::html(403)),
        ("no resource", Page::json(200, json!({"authorization_servers": named}))),
        ("an empty resource", Page::json(200, json!({"resource": "", "authorization_servers": named}))),
        (
            "several resources",
            Page::json(200, json!({"resource": ["{mcp}/mcp"], "authorization_servers": named})),
        ),
        ("a number", Page::json(200, json!({"resource": 7, "authorization_servers": named}))),
        ("an array", Page::json(200, json!([{"resource": "{mcp}/mcp", "authorization_servers": named}]))),
        ("a member twice", Page::new(200, twice)),
        ("an object that is nested too deep", Page::new(200, deep)),
        ("half of an object", Page::new(200, r#"{"resource":"{mcp}/mcp","authorization_servers":["{id}"]"#)),
    ] {
        let scenario = Scenario::new(name).await.page(Site::Mcp, RESOURCE, page);
        let pair =
            scenario.fails(PeerRefused, "refuses to register this client (404)", Step::Registration).await;
        assert_eq!(pair.visits_to(Site::Mcp, "/register").len(), 1, "{name}");
        let visits = &pair.state().visits;
        assert!(visits.iter().all(|visit| visit.site == Site::Mcp), "{name}: {visits:#?}");
    }
}

#[tokio::test]
async fn a_document_that_names_no_authorization_server_ends_the_login() {
    for (name, servers) in [
        ("nothing", json!(null)),
        ("an empty list", json!([])),
        ("a text instead of a list", json!("{id}")),
        ("numbers", json!([1, {"issuer": "{id}"}, null])),
        ("a script", json!(["javascript:canary()"])),
        ("a file", json!(["file:///etc/canary"])),
        ("data", json!(["data:text/html,canary"])),
        ("a user", json!(["http://canary:canary@{id-authority}"])),
        ("a query", json!(["{id}?canary=1"])),
        ("a fragment", json!(["{id}#canary"])),
        ("a line end", json!(["{id}/\r\nx-canary: 1"])),
    ] {
        let scenario = Scenario::new(name).await.resource(json!({"authorization_servers": servers}));
        scenario.fails(PeerRefused, "names no authorization server", Step::Resource).await;
    }
    let many: Vec<_> = (0..1000).map(|number| format!("{{id}}/{number}")).collect();
    let scenario = Scenario::new("a thousand servers").await.resource(json!({"authorization_servers": many}));
    let pair = scenario.fails(PeerRefused, "does not describe itself", Step::Server).await;
    let asked = pair.state().visits.iter().filter(|visit| visit.site == Site::Id).count();
    assert_eq!(asked, 12, "four servers at three places");
}

#[tokio::test]
async fn a_document_that_is_not_sent_as_it_should_be_ends_the_login() {
    for (name, page, says) in [
        ("too long", Page::json(200, json!({})).padded((64 << 10) + 1), "too long"),
        ("encoded", Page::json(200, json!({})).with("content-encoding", "gzip"), "encoded"),
        ("a loop of redirects", Page::redirect(302, "?again"), "redirects too often"),
        (
            "a redirect without encryption",
            Page::redirect(302, "http://evil.example/x"),
            "must begin with https://",
        ),
        ("a redirect into the network", Page::redirect(307, "http://10.0.0.1/canary"), "inside the network"),
        (
            "a redirect to the cloud",
            Page::redirect(301, "http://169.254.169.254/canary"),
            "inside the network",
        ),
        ("a redirect to a script", Page::redirect(302, "javascript:canary()"), "redirects to something"),
        ("a redirect to a file", Page::redirect(302, "file:///etc/canary"), "redirects to something"),
    ] {
        for (site, path, last) in [(Site::Mcp, RESOURCE, Step::Resource), (Site::Id, SERVER, Step::Server)] {
            let scenario = Scenario::new(name).await.page(site, path, page.clone());
            let pair = scenario.fails(PeerMisbehaved, says, last).await;
            let redirects = if says == "redirects too often" { 3 } else { 0 };
            assert_eq!(pair.visits_to(site, path).len(), 1 + redirects, "{name}");
        }
    }
}

/// Otherwise an outage, or an attacker who causes one, would lead to the rules of an older revision.
#[tokio::test]
async fn a_server_that_fails_is_not_taken_for_an_older_one() {
    for (name, page) in [
        ("an error of the server", Page::html(500)),
        ("a server that is busy", Page::html(503)),
        ("too many requests", Page::html(429)),
        ("no answer at all", Page::never()),
    ] {
        for (site, path, last) in [(Site::Mcp, RESOURCE, Step::Resource), (Site::Id, SERVER, Step::Server)] {
            let scenario = Scenario::in_public(name).page(site, path, page.clone());
            let pair = scenario.fails(PeerRefused, "does not answer", last).await;
            assert_eq!(pair.visits_to(site, path).len(), 2, "{name}: once more");
            assert_eq!(pair.visits_to(site, OPENID).len(), 0, "{name}: nothing else is tried");
        }
    }
}

#[tokio::test]
async fn an_authorization_server_with_another_name_is_not_used() {
    for (name, issuer) in [
        ("another host", "https://evil.example"),
        ("another scheme", "https://{id-authority}"),
        ("another port", "{other}"),
        ("another name of the host", "http://localhost:{id-port}"),
        ("a scheme in capitals", "HTTP://{id-authority}"),
        ("a path", "{id}/tenant"),
        ("two slashes", "{id}//"),
        ("a user", "http://canary@{id-authority}"),
        ("a text that is not a URL", "canary \u{1b}[31m"),
    ] {
        let scenario = Scenario::new(name).await.server(json!({"issuer": issuer}));
        // The next document is good, and must not be looked at.
        let scenario = scenario.page(Site::Id, OPENID, Page::json(200, server_document("{id}")));
        let pair = scenario.fails(PeerRefused, "calls itself", Step::Server).await;
        assert_eq!(pair.visits_to(Site::Id, OPENID).len(), 0, "{name}");
    }
    let scenario = Scenario::new("a slash after a path").await;
    let scenario = scenario.resource(json!({"authorization_servers": ["{id}/a"]})).page(
        Site::Id,
        &format!("{SERVER}/a"),
        Page::json(200, server_document("{id}/a/")),
    );
    scenario.fails(PeerRefused, "calls itself", Step::Server).await;
    // A server of 2025-03-26 is its own authorization server.
    let scenario = Scenario::new("an older server that names another one").await;
    let scenario = scenario.page(Site::Mcp, RESOURCE, Page::html(404)).page(
        Site::Mcp,
        SERVER,
        Page::json(200, server_document("{id}")),
    );
    scenario.fails(PeerRefused, "calls itself", Step::Resource).await;
    for (name, issuer) in
        [("no name", json!(null)), ("a list of names", json!(["{id}"])), ("empty", json!(""))]
    {
        let scenario = Scenario::new(name).await.server(json!({"issuer": issuer}));
        scenario.fails(PeerRefused, "does not describe itself", Step::Server).await;
    }
}

#[tokio::test]
async fn a_login_is_not_begun_without_pkce() {
    for (name, methods) in [
        ("nothing", json!(null)),
        ("an empty list", json!([])),
        ("only plain", json!(["plain"])),
        ("a text instead of a list", json!("S256")),
        ("another case", json!(["s256"])),
        ("another method", json!(["S256 ", "S512", 256])),
    ] {
        let scenario = Scenario::new(name).await.server(json!({"code_challenge_methods_supported": methods}));
        scenario.fails(PeerRefused, "PKCE", Step::Server).await;
    }
}

#[tokio::test]
async fn a_page_that_is_not_a_web_page_is_not_opened() {
    for (name, page) in [
        ("nothing", json!(null)),
        ("a script", json!("javascript:canary()//")),
        ("a script in capitals", json!("JAVASCRIPT://127.0.0.1/%0acanary()")),
        ("a file", json!("file:///etc/canary")),
        ("data", json!("data:text/html,<script>canary()</script>")),
        ("a program", json!("ms-msdt:/id canary")),
        ("a fragment", json!("{id}/authorize#canary")),
        ("a user", json!("http://canary@{id-authority}/authorize")),
        ("a space", json!("{id}/authorize --canary")),
        ("a line end", json!("{id}/authorize\r\ncanary")),
        ("a quotation mark", json!("{id}/authorize\"&calc&\"")),
        ("a command", json!("{id}/authorize`canary`")),
        ("a path", json!("/authorize")),
        ("an option", json!("--canary=http://{id-authority}/authorize")),
        ("a list", json!(["{id}/authorize"])),
    ] {
        let scenario = Scenario::new(name).await.server(json!({"authorization_endpoint": page}));
        scenario.fails(PeerRefused, "no usable `authorization_endpoint`", Step::Server).await;
    }
}

/// The URLs at which nothing is posted, and the reason.
const NO_ENDPOINTS: [(&str, &str, &str); 9] = [
    ("a script", "javascript:canary()", "is not an HTTP URL"),
    ("a file", "file:///etc/canary", "is not an HTTP URL"),
    ("data", "data:text/html,canary", "is not an HTTP URL"),
    ("a user", "http://canary:canary@{id-authority}/x", "is not an HTTP URL"),
    ("a fragment", "{id}/x#canary", "is not an HTTP URL"),
    ("a line end", "{id}/x HTTP/1.1\r\nx-canary: 1", "is not an HTTP URL"),
    ("no encryption", "http://evil.example/x", "must begin with https://"),
    ("the network", "https://10.0.0.1/x", "inside the network"),
    ("the cloud", "http://169.254.169.254/latest", "inside the network"),
];

#[tokio::test]
async fn nothing_is_posted_to_a_place_that_is_not_a_web_server() {
    for (name, url, says) in NO_ENDPOINTS {
        let scenario = Scenario::new(name).await.server(json!({"registration_endpoint": url}));
        scenario.fails(PeerMisbehaved, says, Step::Server).await;
        let scenario = Scenario::new(name).await.server(json!({"token_endpoint": url}));
        scenario.fails(PeerMisbehaved, says, Step::Browser).await;
    }
    let scenario = Scenario::new("no token endpoint").await.server(json!({"token_endpoint": null}));
    scenario.fails(PeerRefused, "no usable `token_endpoint`", Step::Browser).await;
    let scenario =
        Scenario::new("no registration endpoint").await.server(json!({"registration_endpoint": null}));
    scenario.fails(PeerRefused, "OAuth::client_id", Step::Server).await;
}

#[tokio::test]
async fn a_challenge_that_is_strange_is_read_or_ignored() {
    let many: Vec<_> = (0..1000).map(|number| format!("p{number}=\"canary\"")).collect();
    let many = format!("Bearer {}, resource_metadata=\"{{other}}/evil\"", many.join(", "));
    for (name, challenges) in [
        ("none", &[][..]),
        ("a thousand parameters", &[many.as_str()]),
        ("a file", &["Bearer resource_metadata=\"file:///etc/canary\""]),
        ("a script", &["Bearer resource_metadata=\"javascript:canary()\""]),
        ("another host without a scheme", &["Bearer resource_metadata=\"//{other-authority}/evil\""]),
        ("a user", &["Bearer resource_metadata=\"http://canary@{other-authority}/evil\""]),
        ("a text without an end", &["Bearer resource_metadata=\"{other}/evil"]),
        (
            "a scheme that is not for tokens",
            &["Basic resource_metadata=\"{other}/evil\"", "Digest x=\"canary\""],
        ),
        ("parameters before the scheme", &["resource_metadata=\"{other}/evil\", Bearer"]),
        (
            "the same parameter twice",
            &["Bearer resource_metadata=\"{mcp}/x\", resource_metadata=\"{other}/evil\""],
        ),
        (
            "several lines",
            &[
                "Basic realm=\"canary, Bearer\"",
                "bEARER error=\"canary\"",
                "Bearer resource_metadata=\"{other}/evil\"",
            ],
        ),
        ("nonsense", &["=,=\"\\", "Bearer =, ,,=="]),
        ("scopes with control characters", &["Bearer scope=\"\\\"a\\\" \\\\ \t\""]),
    ] {
        let pair = Scenario::new(name).await.challenges(challenges).signs_in().await;
        let state = pair.state();
        assert_eq!(state.opened.len(), 1, "{name}");
        assert!(!state.opened[0].contains("scope="), "{name}: {}", state.opened[0]);
    }
}
