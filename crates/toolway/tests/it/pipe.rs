//! Pipes in both directions: frames, order, cancellation, and how they end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use toolway::prelude::*;

/// Sends one line to a new server and reads the one line it answers.
pub(crate) async fn one_line(server: &Server, frame: &[u8]) -> Value {
    let mut talk = Talk::start(server);
    talk.send(frame).await;
    talk.receive().await
}

async fn serve(server: Server, pipe: DuplexStream) -> toolway::Result<()> {
    let (reader, writer) = tokio::io::split(pipe);
    server.serve_io(reader, writer).await
}

/// A server behind a pipe, driven with raw lines.
pub(crate) struct Talk {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    task: JoinHandle<toolway::Result<()>>,
}

impl Talk {
    pub(crate) fn start(server: &Server) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        let task = tokio::spawn(serve(server.clone(), far));
        let (reader, writer) = tokio::io::split(near);
        Self { writer, lines: BufReader::new(reader).lines(), task }
    }

    pub(crate) async fn send(&mut self, frame: &[u8]) {
        self.writer.write_all(frame).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send_json(&mut self, frame: Value) {
        self.send(frame.to_string().as_bytes()).await;
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(5), self.lines.next_line()).await;
        let line = line.expect("an answer within five seconds").unwrap().expect("an answer before the end");
        serde_json::from_str(&line).unwrap()
    }

    /// Aborts the server.
    pub(crate) fn abort(self) {
        self.task.abort();
    }

    /// Closes the input and returns the remaining output.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        self.writer.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.task.await.unwrap().unwrap();
        rest
    }
}

fn call(id: Value, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

/// Holds calls, and counts those that have entered and were dropped.
pub(crate) struct Gate {
    pub(crate) open: Semaphore,
    pub(crate) entered: Semaphore,
    pub(crate) dropped: Arc<Notify>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        Self { open: Semaphore::new(0), entered: Semaphore::new(0), dropped: Arc::default() }
    }

    /// Waits until `count` calls wait.
    pub(crate) async fn entered(&self, count: u32) {
        self.entered.acquire_many(count).await.unwrap().forget();
    }
}

/// Waits until the gate opens.
#[tool]
pub(crate) async fn wait(gate: State<Gate>) -> &'static str {
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _tell = Tell(gate.dropped.clone());
    gate.entered.add_permits(1);
    gate.open.acquire().await.unwrap().forget();
    "through"
}

/// Answers at once.
#[tool]
pub(crate) fn quick() -> &'static str {
    "quick"
}

/// A schema over several lines.
struct Pretty;

impl toolway::server::element::ToolHandler for Pretty {
    fn definition(&self) -> toolway::types::Tool {
        toolway::types::Tool::new(
            "pretty",
            toolway::RawJson::parse("{\n  \"type\": \"object\"\r\n}").unwrap(),
        )
    }

    fn call(
        &self,
        _: toolway::server::parameter::Arguments,
        _: toolway::server::parameter::Scope,
    ) -> toolway::BoxFuture<'static, Result<toolway::types::CallToolResult, ToolError>> {
        Box::pin(async { Ok(toolway::types::CallToolResult::default()) })
    }
}

fn server() -> (Server, State<Gate>) {
    let server = Server::new("pipe", "1.0.0").state(Gate::closed()).tools(tools![wait, quick]);
    let server = server.tools([toolway::server::ToolEntry::new(Pretty)]).build().unwrap();
    let gate = server.state::<Gate>().unwrap();
    (server, gate)
}

#[tokio::test]
async fn a_person_can_type_a_ping_and_read_the_answer() {
    let (server, _) = server();
    let reply = one_line(&server, br#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#).await;
    assert_eq!(reply, json!({"jsonrpc": "2.0", "id": "x", "result": {}}));
}

#[tokio::test]
async fn ids_keep_their_type() {
    let (server, _) = server();
    for id in [json!(7), json!("7"), json!(-1), json!(i64::MAX), json!("")] {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert_eq!(one_line(&server, frame.to_string().as_bytes()).await["id"], id);
    }
}

#[tokio::test]
async fn broken_frames_get_the_exact_error_and_the_next_one_works() {
    let (server, _) = server();
    let mut talk = Talk::start(&server);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}}}}}"#,
        "[".repeat(200) + &"]".repeat(200)
    );
    for (frame, code, id) in [
        (&b"not json"[..], -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (b"7", -32600, Value::Null),
        (br#"{"id":1,"method":"ping"}"#, -32600, json!(1)),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, json!(1)),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600, json!(2)),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, json!(1)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602, json!(1)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}"#, -32602, json!(1)),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"\u0061":2}}}"#,
            -32602,
            json!(1),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","name":"wait"}}"#,
            -32602,
            json!(1),
        ),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#, -32602, json!(1)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, -32602, json!(1)),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":[]}}"#,
            -32602,
            json!(1),
        ),
        (br#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, -32601, json!(1)),
        // The id of a reply belongs to a request of ours: the peer would take it for one of its own.
        (br#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1,"error":7}"#, -32600, Value::Null),
        (deep.as_bytes(), -32600, Value::Null),
    ] {
        let shown = String::from_utf8_lossy(frame);
        talk.send(frame).await;
        let reply = talk.receive().await;
        assert_eq!(reply["error"]["code"], code, "{shown}: {reply}");
        assert_eq!(reply.get("id").cloned().unwrap_or_default(), id, "{shown}: {reply}");
    }
    talk.send_json(call(json!(2), "quick")).await;
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "quick");
}

#[tokio::test]
async fn escapes_do_not_hide_a_method() {
    let (server, _) = server();
    let frame =
        br#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools\/call","params":{"n\u0061me":"qu\u0069ck"}}"#;
    assert_eq!(one_line(&server, frame).await["result"]["content"][0]["text"], "quick");
}

#[tokio::test]
async fn a_line_beyond_the_limit_is_refused_and_costs_only_itself() {
    let server = Server::new("small", "1.0.0").max_message(100).build().unwrap();
    let mut talk = Talk::start(&server);
    talk.send(&vec![b'x'; 1000]).await;
    assert_eq!(talk.receive().await["error"]["code"], -32600);
    talk.send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    assert_eq!(talk.receive().await["id"], 1);
}

#[tokio::test]
async fn unknown_notifications_and_stray_answers_are_met_with_silence() {
    let (server, _) = server();
    let mut talk = Talk::start(&server);
    for frame in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/unheard/of", "params": {"a": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}}),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}}),
    ] {
        talk.send_json(frame).await;
    }
    talk.send_json(call(json!(1), "quick")).await;
    assert_eq!(talk.receive().await["id"], 1);
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

/// JSON-RPC 2.0, 4.1: not even "invalid params".
#[tokio::test]
async fn a_notification_has_no_answer_whatever_is_wrong_with_its_params() {
    let (server, _) = server();
    let mut talk = Talk::start(&server);
    for params in
        ["7", "null", "[]", r#"{"_meta":7}"#, r#"{"name":1,"name":2}"#, r#"{"_meta":{"a":1,"a":2}}"#]
    {
        for method in ["notifications/progress", "notifications/cancelled", "tools/call", "no/such"] {
            let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            talk.send(frame.as_bytes()).await;
        }
    }
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_slow_call_does_not_hold_up_a_quick_one() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!("slow"), "wait")).await;
    gate.entered(1).await;
    talk.send_json(call(json!("fast"), "quick")).await;
    assert_eq!(talk.receive().await["id"], "fast");
    gate.open.add_permits(1);
    let reply = talk.receive().await;
    assert_eq!(reply["id"], "slow");
    assert_eq!(reply["result"]["content"][0]["text"], "through");
}

#[tokio::test]
async fn cancelling_drops_the_call_and_sends_nothing() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!(1), "wait")).await;
    gate.entered(1).await;
    talk.send_json(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}),
    )
    .await;
    talk.send_json(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    gate.dropped.notified().await;
    talk.send_json(call(json!(2), "quick")).await;
    assert_eq!(talk.receive().await["id"], 2);
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_the_first_call_goes_on() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!(1), "wait")).await;
    gate.entered(1).await;
    talk.send_json(call(json!(1), "quick")).await;
    assert_eq!(talk.receive().await["error"]["code"], -32600);
    gate.open.add_permits(1);
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "through");
    talk.send_json(call(json!(1), "quick")).await;
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "quick", "free again");
}

#[tokio::test]
async fn calls_that_run_when_the_input_ends_are_finished() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!(1), "wait")).await;
    gate.entered(1).await;
    gate.open.add_permits(1);
    let rest = talk.end().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["content"][0]["text"], "through");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_does_not_keep_the_server_alive() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!(1), "wait")).await;
    gate.entered(1).await;
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_last_line_needs_no_end() {
    let (server, _) = server();
    let mut talk = Talk::start(&server);
    talk.writer.write_all(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.unwrap();
    assert_eq!(talk.end().await.len(), 1);
}

#[tokio::test]
async fn a_frame_is_one_line_whatever_the_author_wrote() {
    let (server, _) = server();
    let reply = one_line(&server, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(reply["result"]["tools"][2]["inputSchema"], json!({"type": "object"}));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_stops_being_read() {
    #[tool]
    fn blob() -> String {
        "x".repeat(100_000)
    }
    let server = Server::new("blob", "1.0.0").tools(tools![blob]).build().unwrap();
    let (near, far) = tokio::io::duplex(1 << 10);
    let task = tokio::spawn(serve(server, far));
    let (mut reader, mut writer) = tokio::io::split(near);
    // More answers than may be queued: writing blocks instead of filling the server's memory. (The clock is paused: the
    // timeout fires when all tasks are idle, not after some real time.)
    let mut sent = 0;
    loop {
        let line = call(json!(sent), "blob").to_string() + "\n";
        if tokio::time::timeout(Duration::from_millis(200), writer.write_all(line.as_bytes())).await.is_err()
        {
            break;
        }
        sent += 1;
        assert!(sent < 1000, "the server takes requests without end");
    }
    // Once the answers are read, everything that was accepted is answered.
    let reading = tokio::spawn(async move {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).await.unwrap();
        all
    });
    writer.shutdown().await.unwrap();
    task.await.unwrap().unwrap();
    let answers = reading.await.unwrap();
    assert!(answers.split(|byte| *byte == b'\n').filter(|line| line.len() > 100_000).count() >= sent);
}

#[tokio::test(start_paused = true)]
async fn answers_that_find_no_room_are_errors_that_ask_to_retry() {
    const CALLS: usize = 40;
    /// Waits until the gate opens, and returns much.
    #[tool]
    async fn much(gate: State<Gate>) -> String {
        gate.entered.add_permits(1);
        gate.open.acquire().await.unwrap().forget();
        "x".repeat(100_000)
    }
    let room = 1 << 20;
    let server =
        Server::new("much", "1.0.0").state(Gate::closed()).tools(tools![much]).reply_budget(room, room);
    let server = server.build().unwrap();
    let gate = server.state::<Gate>().unwrap();
    let (near, far) = tokio::io::duplex(64 << 10);
    let task = tokio::spawn(serve(server.clone(), far));
    let (mut reader, mut writer) = tokio::io::split(near);
    for id in 0..CALLS {
        let line = call(json!(id), "much").to_string() + "\n";
        writer.write_all(line.as_bytes()).await.unwrap();
    }
    gate.entered(u32::try_from(CALLS).unwrap()).await;
    gate.open.add_permits(CALLS);
    // Everything that can be done without the reader is done: the clock is paused.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(server.usage().replies.used <= room, "{:?}", server.usage());
    writer.shutdown().await.unwrap();
    let mut answers = String::new();
    reader.read_to_string(&mut answers).await.unwrap();
    task.await.unwrap().unwrap();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let busy = answers.iter().filter(|answer| answer["error"]["data"]["retryAfterMs"].is_number()).count();
    let results = answers.iter().filter(|answer| answer["result"].is_object()).count();
    assert_eq!((answers.len(), busy + results), (CALLS, CALLS), "each call has one end");
    assert!((5..=11).contains(&results), "{results} results in a megabyte");
    assert_eq!(server.usage().replies.used, 0);
}

#[tokio::test]
async fn a_peer_that_goes_away_is_no_error() {
    let (server, gate) = server();
    let mut talk = Talk::start(&server);
    talk.send_json(call(json!(1), "wait")).await;
    gate.entered(1).await;
    drop((talk.lines, talk.writer));
    gate.open.add_permits(1);
    talk.task.await.unwrap().unwrap();
}
