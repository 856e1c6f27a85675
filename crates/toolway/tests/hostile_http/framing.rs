//! Unusual HTTP: how does the server answer requests that are cut, doubled, smuggled or sent from another origin?
//!
//! Refusals by the HTTP library below us have no body. They are listed here so that a change of them is noticed.

use toolway::Server;

use crate::bytes::{After, Body, Case, MAX_BODY, case, no_http, refused, served, taken, try_all};
use crate::turn;
use crate::wire::{Served, call, discover, framed, mirrored, stateless};

const INVALID_REQUEST: i64 = -32600;
const PARSE_ERROR: i64 = -32700;

#[tokio::test]
async fn the_length_of_a_body_has_one_meaning_or_none() {
    let _turn = turn().await;
    try_all(&served().await, lengths()).await;
}

#[tokio::test]
async fn heads_that_are_broken_or_too_long_are_refused() {
    let _turn = turn().await;
    try_all(&served().await, heads()).await;
}

#[tokio::test]
async fn nobody_is_let_in_by_another_name_or_from_another_page() {
    let _turn = turn().await;
    try_all(&served().await, hosts()).await;
}

/// Every combination of host, origin, method and route; `h2c.rs` has the same table for HTTP/2.
#[tokio::test]
async fn every_route_checks_host_and_origin_with_every_method() {
    let _turn = turn().await;
    let server = Server::new("matrix", "1.0.0").build().unwrap();
    let door = Served::start(server.http().legacy_sse()).await;
    let hosts = [
        ("Host: localhost\r\n", true),
        ("Host: evil.example\r\n", false),
        ("", false),
        ("Host: localhost\r\nHost: evil.example\r\n", false),
    ];
    let origins = [
        ("", true),
        ("Origin: http://localhost:3000\r\n", true),
        ("Origin: null\r\n", false),
        ("Origin: https://evil.example\r\n", false),
    ];
    // The status of a request that is allowed, for each route.
    let routes = ["/mcp", "/mcp?sessionId=0", "/health", "/ready", "/nothing"];
    let methods = [
        ("POST", [200, 404, 405, 405, 404]),
        ("GET", [200, 200, 200, 200, 404]),
        ("DELETE", [400, 400, 405, 405, 404]),
        ("OPTIONS", [405, 405, 405, 405, 404]),
    ];
    let mut cells = 0;
    for (method, allowed) in methods {
        for (route, allowed) in routes.into_iter().zip(allowed) {
            for ((host, is_our_host), (origin, is_our_page)) in
                hosts.into_iter().flat_map(|host| origins.map(|origin| (host, origin)))
            {
                let sent = if method == "POST" {
                    String::from_utf8(discover(origin)).unwrap()
                } else {
                    format!(
                        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{origin}\r\n"
                    )
                };
                let sent = sent.replacen("POST /mcp", &format!("{method} {route}"), 1);
                let mut wire = door.connect().await;
                wire.send(sent.replacen("Host: localhost\r\n", host, 1).as_bytes()).await;
                let answer = wire.head().await.unwrap();
                // Load balancers use the address, so the health checks do not look at the host.
                let is_allowed = is_our_host && is_our_page || matches!(route, "/health" | "/ready");
                let due = if is_allowed { allowed } else { 403 };
                assert_eq!(answer.status, due, "{method} {route} {host:?} {origin:?}");
                assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{}", answer.head);
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 320);
}

#[tokio::test]
async fn methods_paths_and_versions_that_are_not_served_are_refused() {
    let _turn = turn().await;
    try_all(&served().await, methods()).await;
}

#[tokio::test]
async fn media_types_decide_before_a_body_is_read() {
    let _turn = turn().await;
    try_all(&served().await, media_types()).await;
}

/// Valid headers for `body`.
fn headers() -> String {
    mirrored("server/discover", "")
}

fn body() -> String {
    stateless("1", "server/discover", "")
}

/// A valid message with these length headers.
fn sized(length: &str) -> Vec<u8> {
    framed(&format!("{}{length}", headers()), body().as_bytes())
}

fn chunked(rest: &str) -> Vec<u8> {
    framed(&format!("{}Transfer-Encoding: chunked\r\n", headers()), rest.as_bytes())
}

/// The body as one chunk, with an extension after its size and trailers after its end.
fn one_chunk(extension: &str, trailers: &str) -> Vec<u8> {
    let body = body();
    chunked(&format!("{:x}{extension}\r\n{body}\r\n0\r\n{trailers}\r\n", body.len()))
}

fn lengths() -> Vec<Case> {
    let length = body().len();
    let over = MAX_BODY + 1;
    // The part that a proxy which uses the other header would treat as a separate request.
    let smuggled = |first: &str| {
        let inner = String::from_utf8(call("add")).unwrap();
        framed(&format!("{}{first}", headers()), format!("0\r\n\r\n{inner}").as_bytes())
    };
    let short = Case {
        then_finishes: true,
        ..case(
            "shorter than said",
            sized(&format!("Content-Length: {}\r\n", length + 9)),
            400,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        )
    };
    let ambiguous = |name, sent, code| case(name, sent, 400, Body::Error(code), After::Closed);
    let broken_chunk = |name, size: &str| {
        let sent = chunked(&format!("{size}\r\n{}\r\n0\r\n\r\n", body()));
        case(name, sent, 400, Body::Error(INVALID_REQUEST), After::Closed)
    };
    vec![
        // RFC 9112, 6.3: the chunks count, and the connection is closed. The empty body is not a message.
        ambiguous(
            "a length and chunks",
            smuggled("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            PARSE_ERROR,
        ),
        ambiguous(
            "chunks and a length",
            smuggled("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
            PARSE_ERROR,
        ),
        no_http("chunks that are not last", sized("Transfer-Encoding: chunked, gzip\r\n"), 400),
        // The last coding determines the end of a body, and a body is decoded once: its content is not a chunk.
        ambiguous("chunks twice", sized("Transfer-Encoding: chunked, chunked\r\n"), INVALID_REQUEST),
        ambiguous(
            "chunks on two lines",
            sized("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            INVALID_REQUEST,
        ),
        no_http("an unknown coding", sized("Transfer-Encoding: xchunked\r\n"), 400),
        no_http("a coding with a tab", sized("Transfer-Encoding:\x0bchunked\r\n"), 400),
        taken(
            "one length said twice",
            sized(&format!("Content-Length: {length}\r\nContent-Length: {length}\r\n")),
        ),
        no_http("two lengths", sized(&format!("Content-Length: {length}\r\nContent-Length: 3\r\n")), 400),
        no_http("two lengths on a line", sized(&format!("Content-Length: {length}, 3\r\n")), 400),
        no_http("a negative length", sized("Content-Length: -1\r\n"), 400),
        no_http("a length with a sign", sized(&format!("Content-Length: +{length}\r\n")), 400),
        no_http("a length in hexadecimal", sized("Content-Length: 0x10\r\n"), 400),
        no_http("an empty length", sized("Content-Length:\r\n"), 400),
        no_http("a length beyond numbers", sized("Content-Length: 99999999999999999999\r\n"), 400),
        case(
            "a length near the end of numbers",
            sized("Content-Length: 9223372036854775807\r\n"),
            413,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        ),
        case(
            "over the limit by its length",
            sized(&format!("Content-Length: {over}\r\n")),
            413,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        ),
        case(
            "over the limit in chunks",
            chunked(&format!("{over:x}\r\n{}", " ".repeat(over))),
            413,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        ),
        short,
        refused("no length at all", framed(&headers(), b""), 400, PARSE_ERROR),
        taken("one chunk", one_chunk("", "")),
        case("one chunk and a length", with_length(one_chunk("", "")), 200, Body::Result, After::Closed),
        taken("a chunk with an extension", one_chunk(";a=b;c=\"d\"", "")),
        taken("trailers", one_chunk("", "X-Late: 1\r\n")),
        taken("a trailer that is a length", one_chunk("", "Content-Length: 1\r\n")),
        broken_chunk("a chunk of no size", ""),
        broken_chunk("a chunk with a sign", "+5"),
        broken_chunk("a negative chunk", "-5"),
        broken_chunk("a chunk in no digits", "zz"),
        broken_chunk("a chunk beyond numbers", "fffffffffffffffff"),
        broken_chunk("a chunk longer than said", "5"),
        case(
            "an extension without end",
            chunked(&format!("5;{}", "a".repeat(20_000))),
            400,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        ),
        Case {
            due: vec![(100, Body::Nothing), (200, Body::Result)],
            ..taken(
                "asks before it sends",
                sized(&format!("Content-Length: {length}\r\nExpect: 100-continue\r\n")),
            )
        },
        case(
            "asks before it sends too much",
            framed(&format!("{}Content-Length: {over}\r\nExpect: 100-continue\r\n", headers()), b""),
            413,
            Body::Error(INVALID_REQUEST),
            After::Closed,
        ),
        Case {
            due: vec![
                (200, Body::Result),
                (404, Body::Error(INVALID_REQUEST)),
                (200, Body::Nothing),
                (200, Body::Result),
            ],
            ..taken(
                "several at once",
                [discover(""), plain("GET /nothing"), plain("GET /health"), discover("")].concat(),
            )
        },
        Case {
            after: After::Closed,
            ..taken("one more behind the last", [discover("Connection: close\r\n"), discover("")].concat())
        },
    ]
}

/// A request without a body.
fn plain(line: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()
}

fn with_length(sent: Vec<u8>) -> Vec<u8> {
    String::from_utf8(sent).unwrap().replacen("\r\n\r\n", "\r\nContent-Length: 7\r\n\r\n", 1).into_bytes()
}

fn heads() -> Vec<Case> {
    let many = |count: usize| discover(&"X-A: b\r\n".repeat(count));
    // `discover` has six headers of its own.
    let own = String::from_utf8(discover("")).unwrap().split_once("\r\n\r\n").unwrap().0.lines().count() - 1;
    let path = |length: usize| plain(&format!("GET /{}", "a".repeat(length)));
    vec![
        no_http("a folded header", discover("X-A: b\r\n c\r\n"), 400),
        no_http("a folded header first", "POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n", 400),
        no_http("a space before the colon", discover("X-A : b\r\n"), 400),
        no_http("a header without a colon", discover("X-A\r\n"), 400),
        no_http("a header without a name", discover(": b\r\n"), 400),
        no_http("a bare CR in a header", discover("X-A: b\rc\r\n"), 400),
        no_http("NUL in a header", discover("X-A: b\0c\r\n"), 400),
        no_http("NUL in a name", discover("X\0A: b\r\n"), 400),
        no_http("NUL in a path", plain("GET /mcp\0"), 400),
        no_http("a space in a path", plain("GET /mcp /mcp"), 400),
        // RFC 9112, 2.2: a recipient may accept a single LF as the end of a line.
        taken("bare LF in headers", discover("X-A: b\nX-B: c\n")),
        taken("a header that is no ASCII", discover("X-A: \u{e9}\r\n")),
        taken("as many headers as may be", many(100 - own)),
        no_http("one header too many", many(101 - own), 431),
        no_http("a thousand headers", many(1000), 431),
        // The limit is checked between two reads, each of which may be as long again.
        no_http("a head far over 64 KiB", discover(&format!("X-A: {}\r\n", "a".repeat(300_000))), 431),
        no_http("a path far over 64 KiB", path(300_000), 431),
        refused("a long path", path(60_000), 404, INVALID_REQUEST),
        no_http("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(3), 400),
        no_http("only ends of lines", "\r\n\r\n\r\nx\r\n\r\n", 400),
    ]
}

fn hosts() -> Vec<Case> {
    let to = |target: &str, host: &str| {
        let text = String::from_utf8(discover("")).unwrap();
        text.replacen("POST /mcp", &format!("POST {target}"), 1)
            .replacen("Host: localhost\r\n", host, 1)
            .into_bytes()
    };
    let unread = |name, sent| case(name, sent, 403, Body::Error(INVALID_REQUEST), After::Open);
    vec![
        taken("a name with a port", to("/mcp", "Host: LOCALHOST:80\r\n")),
        taken("an address of its own", to("http://localhost/mcp", "Host: localhost\r\n")),
        unread("no Host", to("/mcp", "")),
        unread("two Hosts", to("/mcp", "Host: localhost\r\nHost: evil.example\r\n")),
        unread("two equal Hosts", to("/mcp", "Host: localhost\r\nHost: localhost\r\n")),
        unread("an evil Host", to("/mcp", "Host: evil.example\r\n")),
        unread("an empty Host", to("/mcp", "Host:\r\n")),
        unread("a Host with a user", to("/mcp", "Host: localhost@evil.example\r\n")),
        unread("a user at a Host", to("/mcp", "Host: evil.example@localhost\r\n")),
        unread("a Host with a space", to("/mcp", "Host: localhost evil.example\r\n")),
        unread("a Host with a path", to("/mcp", "Host: localhost/evil\r\n")),
        unread("a Host with a port that is none", to("/mcp", "Host: localhost:http\r\n")),
        unread("a Host with a port beyond ports", to("/mcp", "Host: localhost:99999\r\n")),
        unread("a Host with two ports", to("/mcp", "Host: localhost:80:80\r\n")),
        unread("a Host that only begins well", to("/mcp", "Host: localhost.evil.example\r\n")),
        unread("a Host that is no ASCII", to("/mcp", "Host: l\u{f6}calhost\r\n")),
        unread("an address that differs from the Host", to("http://evil.example/mcp", "Host: localhost\r\n")),
        unread("a Host that differs from the address", to("http://localhost/mcp", "Host: evil.example\r\n")),
        unread("an evil address alone", to("http://evil.example/mcp", "")),
        unread("an evil Host elsewhere", to("/nothing", "Host: evil.example\r\n")),
        // Load balancers use the address.
        case(
            "any Host for the health",
            to("/health", "Host: evil.example\r\n"),
            405,
            Body::Error(INVALID_REQUEST),
            After::Open,
        ),
        case(
            "a path that looks like a host",
            to("//evil.example/mcp", "Host: localhost\r\n"),
            404,
            Body::Error(INVALID_REQUEST),
            After::Open,
        ),
        taken("a page of this machine", discover("Origin: http://localhost:3000\r\n")),
        unread("a page without origin", discover("Origin: null\r\n")),
        unread("an evil page", discover("Origin: https://evil.example\r\n")),
        unread("an evil page with a user", discover("Origin: http://localhost@evil.example\r\n")),
        unread(
            "an evil page beside a good one",
            discover("Origin: http://localhost\r\nOrigin: https://evil.example\r\n"),
        ),
        unread("two pages on a line", discover("Origin: http://localhost, https://evil.example\r\n")),
        unread("a file", discover("Origin: file://\r\n")),
        unread("an empty origin", discover("Origin:\r\n")),
    ]
}

fn methods() -> Vec<Case> {
    let preflight = "Origin: http://localhost\r\nAccess-Control-Request-Method: POST\r\n\
                     Access-Control-Request-Headers: content-type\r\n";
    let with = |line: &str, headers: &str| format!("{line}\r\nHost: localhost\r\n{headers}\r\n");
    let not_served = |name, sent: String| refused(name, sent, 405, INVALID_REQUEST);
    vec![
        not_served("a page asks whether it may", with("OPTIONS /mcp HTTP/1.1", preflight)),
        not_served("TRACE", with("TRACE /mcp HTTP/1.1", "")),
        not_served("PUT", with("PUT /mcp HTTP/1.1", "")),
        not_served("an invented method", with("PROPFIND /mcp HTTP/1.1", "")),
        not_served("a method in small letters", with("post /mcp HTTP/1.1", "")),
        not_served("GET without a session", with("GET /mcp HTTP/1.1", "")),
        refused("OPTIONS of everything", with("OPTIONS * HTTP/1.1", ""), 404, INVALID_REQUEST),
        refused("DELETE without a session", with("DELETE /mcp HTTP/1.1", ""), 400, INVALID_REQUEST),
        refused("another path", with("GET /mcp/ HTTP/1.1", ""), 404, INVALID_REQUEST),
        refused("a path with dots", with("GET /x/../mcp HTTP/1.1", ""), 404, INVALID_REQUEST),
        refused("an encoded path", with("GET /%6dcp HTTP/1.1", ""), 404, INVALID_REQUEST),
        case(
            "CONNECT",
            with("CONNECT evil.example:443 HTTP/1.1", ""),
            403,
            Body::Error(INVALID_REQUEST),
            After::Open,
        ),
        case(
            "CONNECT to this machine",
            "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
            404,
            Body::Error(INVALID_REQUEST),
            After::Open,
        ),
        Case {
            after: After::Closed,
            ..case("HTTP/1.0", with("GET /health HTTP/1.0", ""), 200, Body::Nothing, After::Closed)
        },
        no_http("HTTP/0.9", "GET /mcp\r\n\r\n", 400),
        no_http("HTTP/1.2", with("GET /mcp HTTP/1.2", ""), 400),
        // The complete preface starts HTTP/2, with the feature `h2c`.
        no_http("almost HTTP/2", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 400),
        no_http("no method", with(" /mcp HTTP/1.1", ""), 400),
    ]
}

fn media_types() -> Vec<Case> {
    let typed = |line: &str| {
        let text = String::from_utf8(discover("")).unwrap();
        text.replacen("Content-Type: application/json\r\n", line, 1).into_bytes()
    };
    let accepting = |line: &str| {
        let text = String::from_utf8(discover("")).unwrap();
        text.replacen("Accept: application/json, text/event-stream\r\n", line, 1).into_bytes()
    };
    let mistyped = |name, sent| case(name, sent, 415, Body::Error(INVALID_REQUEST), After::Open);
    vec![
        mistyped("text", typed("Content-Type: text/plain\r\n")),
        mistyped("text that says JSON", typed("Content-Type: text/plain; application/json\r\n")),
        mistyped("a form", typed("Content-Type: application/x-www-form-urlencoded\r\n")),
        mistyped("parts", typed("Content-Type: multipart/form-data; boundary=x\r\n")),
        mistyped("no type", typed("")),
        mistyped("an empty type", typed("Content-Type:\r\n")),
        mistyped("JSON with padding", typed("Content-Type: application/jsonp\r\n")),
        mistyped("two types on a line", typed("Content-Type: text/plain, application/json\r\n")),
        mistyped("two types", typed("Content-Type: text/plain\r\nContent-Type: application/json\r\n")),
        mistyped(
            "two types, the right one first",
            typed("Content-Type: application/json\r\nContent-Type: text/plain\r\n"),
        ),
        taken("large letters", typed("Content-Type: APPLICATION/JSON\r\n")),
        taken("a charset", typed("Content-Type: application/json ;charset=utf-8\r\n")),
        refused(
            "a coding that nobody asked for",
            discover("Content-Encoding: gzip\r\n"),
            415,
            INVALID_REQUEST,
        ),
        taken("a coding that is none", discover("Content-Encoding: identity\r\n")),
        taken("takes anything", accepting("Accept: */*\r\n")),
        taken("says nothing about what it takes", accepting("")),
        taken("takes only JSON", accepting("Accept: application/json\r\n")),
        refused("takes only pages", accepting("Accept: text/html\r\n"), 406, INVALID_REQUEST),
        refused("takes only events", accepting("Accept: text/event-stream\r\n"), 406, INVALID_REQUEST),
        taken(
            "takes it on a second line",
            accepting("Accept: text/html\r\nAccept: application/json;q=0.1\r\n"),
        ),
    ]
}
