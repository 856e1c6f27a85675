//! Which bytes get which answer? The tables are in `framing.rs` and `messages.rs`.

use toolway::prelude::*;
use toolway::server::{Admit, Headers};

use crate::wire::{Answer, Served, discover};

/// The bytes that an attacker sends, and the expected answers.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) sent: Vec<u8>,
    /// `true` if the attacker then closes its writing half.
    pub(crate) then_finishes: bool,
    pub(crate) due: Vec<(u16, Body)>,
    pub(crate) after: After,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Body {
    Nothing,
    /// An answer that is not an error.
    Result,
    /// An error with this code.
    Error(i64),
}

/// The expected state of the connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// The next request on it is answered.
    Open,
    /// It is closed, and the bytes that follow are not read as a request.
    Closed,
}

pub(crate) fn case(
    name: &'static str,
    sent: impl Into<Vec<u8>>,
    status: u16,
    body: Body,
    after: After,
) -> Case {
    Case { name, sent: sent.into(), then_finishes: false, due: vec![(status, body)], after }
}

/// Refused by the HTTP library, which gives no reason and closes the connection.
pub(crate) fn no_http(name: &'static str, sent: impl Into<Vec<u8>>, status: u16) -> Case {
    case(name, sent, status, Body::Nothing, After::Closed)
}

/// Well-formed HTTP that is refused with an error; the connection stays open.
pub(crate) fn refused(name: &'static str, sent: impl Into<Vec<u8>>, status: u16, code: i64) -> Case {
    case(name, sent, status, Body::Error(code), After::Open)
}

/// Unusual, but allowed.
pub(crate) fn taken(name: &'static str, sent: impl Into<Vec<u8>>) -> Case {
    case(name, sent, 200, Body::Result, After::Open)
}

/// Tries every case, and reports all failures.
pub(crate) async fn try_all(served: &Served, cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for case in cases {
        if let Err(told) = try_one(served, &case).await {
            wrong.push(format!("{}: {told}", case.name));
        }
        assert!(served.is_well().await, "{}: the next one is answered", case.name);
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

async fn try_one(served: &Served, case: &Case) -> Result<(), String> {
    let mut wire = served.connect().await;
    wire.send(&case.sent).await;
    if case.then_finishes {
        wire.finish().await;
    }
    let mut answers = Vec::new();
    while answers.len() < case.due.len() {
        match wire.answer().await {
            Some(answer) => answers.push(answer),
            None => break,
        }
    }
    if let Some(leak) =
        answers.iter().find(|answer| answer.head.to_ascii_lowercase().contains("access-control"))
    {
        return Err(format!("a page may read it: {}", leak.head));
    }
    let shown: Vec<_> = answers.iter().map(|answer| (answer.status, body(answer))).collect();
    // Any further answer to the bytes above would arrive before the answer to this.
    wire.send(&discover("Connection: close\r\n")).await;
    let next = wire.answer().await.map(|answer| (answer.status, body(&answer)));
    let after = match next {
        Some((200, Body::Result)) if wire.is_closed().await => After::Open,
        None => After::Closed,
        _ => return Err(format!("came {shown:?} and then {next:?}, due {:?}", case.due)),
    };
    if (&shown, after) == (&case.due, case.after) {
        return Ok(());
    }
    let texts: Vec<_> = answers.iter().map(|answer| answer.body.escape_ascii().to_string()).collect();
    Err(format!("came {shown:?} {after:?}, due {:?} {:?}: {texts:?}", case.due, case.after))
}

fn body(answer: &Answer) -> Body {
    if answer.body.is_empty() {
        return Body::Nothing;
    }
    // An answer that is not a message, such as that of `/health`, has no code.
    let Ok(message) = serde_json::from_slice::<serde_json::Value>(&answer.body) else { return Body::Nothing };
    match message["error"]["code"].as_i64() {
        Some(code) => Body::Error(code),
        None => Body::Result,
    }
}

/// The principal that the header names, if any.
async fn who(headers: Headers) -> Admit {
    match headers.text("x-who") {
        Some(name) => Admit::as_principal(name),
        None => Admit::anyone(),
    }
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Its argument may be repeated in a header.
#[tool]
fn locate(#[arg(header = "Region")] region: String) -> String {
    region
}

/// The longest body that the server of these cases accepts.
pub(crate) const MAX_BODY: usize = 2 << 20;

pub(crate) async fn served() -> Served {
    let server = Server::new("bytes", "1.0.0").on_connect(who).tools(tools![add, locate]).build().unwrap();
    Served::start(server.http().max_body(MAX_BODY)).await
}
