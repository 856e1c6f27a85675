//! Which requests are refused, and with which status? By the names of the address, the page that sends them, the token, the
//! method and the path.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::browser::Inspected;

/// Who sends a request: a row of the table.
struct Sender {
    host: &'static str,
    origin: &'static str,
    site: &'static str,
    token: &'static str,
}

const fn from(host: &'static str, origin: &'static str, site: &'static str, token: &'static str) -> Sender {
    Sender { host, origin, site, token }
}

/// What is asked, and the columns of the table.
const ASKED: [(&str, &str); 8] = [
    ("GET", "/"),
    ("POST", "/page.js"),
    ("POST", "/api/enter"),
    ("GET", "/api/state"),
    ("POST", "/api/state"),
    ("POST", "/api/cut"),
    ("DELETE", "/api/call"),
    ("GET", "/api/none"),
];

/// Each row with the status of each column. `{}` is the port, an empty text leaves a header out.
///
/// The body is empty: an enter with it is a mistake (400), as is a cut.
const TABLE: [(Sender, [u16; 8]); 18] = [
    // The own page.
    (from("127.0.0.1:{}", "", "", "right"), [200, 405, 400, 200, 405, 400, 405, 404]),
    (
        from("127.0.0.1:{}", "http://127.0.0.1:{}", "same-origin", "right"),
        [200, 405, 400, 200, 405, 400, 405, 404],
    ),
    (
        from("localhost:{}", "http://localhost:{}", "same-origin", "right"),
        [200, 405, 400, 200, 405, 400, 405, 404],
    ),
    (from("[::1]:{}", "", "none", "right"), [200, 405, 400, 200, 405, 400, 405, 404]),
    (from("LOCALHOST:{}", "", "", "right"), [200, 405, 400, 200, 405, 400, 405, 404]),
    // Without a token that is known.
    (from("127.0.0.1:{}", "", "none", ""), [200, 405, 400, 401, 401, 401, 401, 401]),
    (
        from("127.0.0.1:{}", "http://127.0.0.1:{}", "same-origin", "wrong"),
        [200, 405, 400, 401, 401, 401, 401, 401],
    ),
    // Another name: a page whose name was bound to this address.
    (from("evil.example:{}", "", "", "right"), [403; 8]),
    (from("evil.example", "http://evil.example", "same-origin", "right"), [403; 8]),
    (from("127.0.0.1", "", "", "right"), [403; 8]),
    (from("127.0.0.1:1", "", "", "right"), [403; 8]),
    (from("127.0.0.1:{}.evil.example", "", "", "right"), [403; 8]),
    // Another page.
    (from("127.0.0.1:{}", "https://evil.example", "cross-site", "right"), [403; 8]),
    (from("127.0.0.1:{}", "http://127.0.0.1:8000", "same-site", "right"), [403; 8]),
    (from("127.0.0.1:{}", "null", "", "right"), [403; 8]),
    (from("127.0.0.1:{}", "https://127.0.0.1:{}", "", "right"), [403; 8]),
    (from("127.0.0.1:{}", "", "cross-site", "right"), [403; 8]),
    (from("127.0.0.1:{}", "", "same-site", ""), [403; 8]),
];

#[test]
fn each_cell_of_the_table_has_its_status() {
    let inspected = Inspected::fixture(&["serve"]);
    let port = inspected.address.rsplit(':').next().unwrap().to_owned();
    let mut wrong = Vec::new();
    let mut cells = 0;
    for (row, (sender, statuses)) in TABLE.iter().enumerate() {
        let with_port = |text: &str| text.replace("{}", &port);
        let token = match sender.token {
            "right" => format!("Bearer {}", inspected.token),
            "wrong" => format!("Bearer {}", inspected.token.chars().rev().collect::<String>()),
            _ => String::new(),
        };
        let headers = [
            ("host", with_port(sender.host)),
            ("origin", with_port(sender.origin)),
            ("sec-fetch-site", sender.site.to_owned()),
            ("authorization", token),
        ];
        let headers: Vec<_> = headers
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        for ((method, path), expected) in ASKED.iter().zip(statuses) {
            let reply = inspected.connect().send(method, path, &headers, b"");
            cells += 1;
            if reply.status != *expected {
                wrong.push(format!("row {row}: {method} {path}: {} instead of {expected}", reply.status));
            }
            if reply.status == 403 {
                let error: Value = serde_json::from_slice(&reply.body).unwrap();
                let message = error["error"]["message"].as_str().unwrap();
                assert!(
                    message.contains("Host")
                        || message.contains("pages of")
                        || message.contains("another origin"),
                    "it says what is wrong: {message}"
                );
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(cells >= 60, "{cells}");
}

#[test]
fn a_header_that_may_occur_once_is_refused_twice() {
    let inspected = Inspected::fixture(&["serve"]);
    let (host, token) = (&*inspected.address, format!("Bearer {}", inspected.token));
    let own = format!("http://{host}");
    for (twice, value) in
        [("host", host), ("origin", &own), ("sec-fetch-site", "same-origin"), ("authorization", &token)]
    {
        let mut headers = vec![("authorization", &*token)];
        if twice != "authorization" {
            headers.push((twice, value));
        }
        headers.push((twice, value));
        if twice != "host" {
            headers.push(("host", host));
        }
        let reply = inspected.connect().send("GET", "/api/state", &headers, b"");
        let expected = if twice == "authorization" { 401 } else { 403 };
        // The HTTP library refuses two hosts itself, if it does at all.
        assert!([expected, 400].contains(&reply.status), "{twice}: {}", reply.head);
    }
    let none = inspected.connect().send("GET", "/api/state", &[("authorization", &token)], b"");
    assert!([400, 403].contains(&none.status), "without a host: {}", none.head);
}

#[test]
fn every_path_but_those_of_the_page_needs_the_token() {
    let inspected = Inspected::fixture(&["serve"]);
    let names = [
        "state",
        "events",
        "frames",
        "frame",
        "call",
        "calls",
        "both",
        "hub",
        "cassette",
        "check",
        "cancel",
        "answer",
        "cut",
        "restart",
        "revision",
        "log_level",
        "watch",
        "render",
        "export",
        "doctor",
    ];
    let mut statuses = BTreeSet::new();
    for name in names {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            statuses.insert(inspected.send(method, &format!("/api/{name}"), &[], b"{}").0);
        }
    }
    assert_eq!(statuses, BTreeSet::from([401]));
    let reply = inspected.connect().send("OPTIONS", "/api/call", &[("host", &inspected.address)], b"");
    assert!(
        !reply.head.to_ascii_lowercase().contains("access-control"),
        "no other origin is invited: {}",
        reply.head
    );
}
