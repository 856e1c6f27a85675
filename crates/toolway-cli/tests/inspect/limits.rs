//! What does an inspector do with clients that send too much, too slowly, or too many requests?

use serde_json::{Value, json};

use crate::browser::{Connection, Inspected};

#[test]
fn a_body_over_four_mebibytes_is_refused_and_one_below_is_read() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    let text_of = |bytes: usize| {
        let body = json!({"server": 0, "tool": "add", "text": " ".repeat(bytes)}).to_string();
        inspected.ask("POST", "/api/check", &serde_json::from_str(&body).unwrap())
    };
    let (status, reply) = text_of(4 << 20);
    assert_eq!(status, 413, "{reply}");
    assert_eq!(reply["error"]["code"], "too_large");
    assert_eq!(text_of((4 << 20) - 1000).0, 200);
    // A length that is only announced is refused, too: nothing is reserved for it.
    let mut connection = inspected.connect();
    let token = format!("Bearer {}", inspected.token);
    let headers = [("host", &*inspected.address), ("authorization", &*token)];
    connection.write_head("POST", "/api/check", &headers, 1 << 40);
    connection.write(&vec![b' '; (4 << 20) + 1]).unwrap();
    assert_eq!(connection.read("POST").status, 413);
    assert_eq!(inspected.state()["mode"], "server");
}

#[test]
fn a_head_or_a_body_that_never_ends_is_given_up() {
    let inspected = Inspected::fixture(&["serve"]);
    let mut head = inspected.connect();
    head.write(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    let mut nothing = inspected.connect();
    let mut body = inspected.connect();
    let token = format!("Bearer {}", inspected.token);
    let headers = [("host", &*inspected.address), ("authorization", &*token)];
    body.write_head("POST", "/api/check", &headers, 100);
    body.write(b"{").unwrap();
    assert_eq!(body.read("POST").status, 408);
    head.until_closed();
    nothing.until_closed();
}

#[test]
fn three_hundred_connections_do_not_stop_the_next_one() {
    let inspected = Inspected::fixture(&["serve"]);
    let open: Vec<_> = (0..300).map(|_| Connection::new(&inspected.address)).collect();
    assert_eq!(inspected.state()["mode"], "server");
    drop(open);
    assert_eq!(inspected.state()["mode"], "server");
}

#[test]
fn clients_that_do_not_read_do_not_stop_the_next_one() {
    let inspected = Inspected::fixture(&["serve"]);
    let request =
        format!("GET /page.js HTTP/1.1\r\nhost: {}\r\naccept-encoding: gzip\r\n\r\n", inspected.address);
    // More replies than the buffers of the system take.
    let requests = request.repeat(500);
    let open: Vec<_> = (0..260)
        .map(|_| {
            let mut connection = Connection::new(&inspected.address);
            // A connection that waits for its place takes what the system takes for it.
            let _ = connection.write(requests.as_bytes());
            connection
        })
        .collect();
    assert_eq!(inspected.state()["mode"], "server");
    drop(open);
}

#[test]
fn a_reader_of_events_that_goes_away_frees_its_place() {
    let inspected = Inspected::fixture(&["serve"]);
    // More readers, one after the other, than there are places.
    for _ in 0..600 {
        inspected.events().next();
    }
    let mut events = inspected.events();
    let first = events.next();
    assert_eq!((&first["n"], &first["type"]), (&json!(1), &json!("connection")), "{first}");
    assert_eq!(inspected.state()["mode"], "server");
}

#[test]
fn a_page_that_lost_its_connection_goes_on_after_the_event_that_it_knows() {
    let inspected = Inspected::fixture(&["serve"]);
    inspected.ready();
    inspected.call("add", &json!({"a": 1, "b": 2}));
    let ends = |event: &Value| event["type"] == "call" && event["call"]["state"] == "ok";
    let all = inspected.events().all_until(ends);
    let numbers: Vec<_> = all.iter().map(|event| event["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "numbered without gaps");
    let rest = inspected.stream("/api/events?after=2").all_until(ends);
    assert_eq!(rest, all[2..]);
    let frames = inspected.stream("/api/frames?server=0&after=0");
    let is_reply = |frame: &Value| frame["method"] == "tools/call" && frame["dir"] == "in";
    let frames = { frames }.all_until(is_reply);
    let last = frames.last().unwrap();
    let answers = last["answers"].as_u64().unwrap();
    let mut rest = inspected.stream(&format!("/api/frames?server=0&after={answers}"));
    assert_eq!(rest.until(is_reply), *last, "the same description, also of what it answers");
}
