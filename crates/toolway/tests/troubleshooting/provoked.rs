//! Are errors that really happen on the page, where users look for them?

use std::error::Error as StdError;

use serde_json::{Value, json};
use toolway::agent::{ToolCall, ToolFailure, ToolSet};
use toolway::client::{Answer, Command, Http};
use toolway::hub::{Config, NameRules};
use toolway::prelude::*;
use toolway::server::{Extensions, ServerBuilder, ToolEntry};
use toolway::{Form, Result, agent};
use toolway_protocol::uri_template::UriTemplate;

use crate::page;

/// Errors, each with the words of the page that describe it.
#[derive(Default)]
struct Provoked(Vec<(&'static str, Vec<String>)>);

impl Provoked {
    /// Adds an error. One of its sentences must be on the page.
    fn error(&mut self, page: &'static str, error: &(dyn StdError + 'static)) {
        let mut sentences = lines(&error.to_string());
        let mut source = error.source();
        while let Some(error) = source {
            sentences.extend(lines(&error.to_string()));
            source = error.source();
        }
        self.0.push((page, sentences));
    }

    fn text(&mut self, page: &'static str, text: &str) {
        self.0.push((page, lines(text)));
    }

    /// Fails with each error that the page does not describe in these words.
    fn check(self) {
        let messages = page::messages();
        let mut wrong = Vec::new();
        for (words, sentences) in self.0 {
            if !messages.iter().any(|message| message == words) {
                wrong.push(format!("not on the page: {words}"));
            } else if !sentences.iter().any(|sentence| page::says(words, sentence)) {
                wrong.push(format!("the page says: {words}\n    but it is: {sentences:#?}"));
            }
        }
        assert!(wrong.is_empty(), "docs/troubleshooting.md:\n{}", wrong.join("\n"));
    }
}

/// Returns the lines of an error, without the marks and places before them and the codes after them.
fn lines(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ");
        let line = line.rsplit_once(" (-32").map_or(line, |(line, _)| line);
        found.push(line.to_owned());
        // `tool `add`: …`, `3:50: servers.github.args …`
        found.extend(line.match_indices(": ").map(|(at, _)| line[at + 2..].to_owned()));
        found.extend(line.match_indices(' ').map(|(at, _)| line[at + 1..].to_owned()));
    }
    found
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fail as the arguments want it.
#[tool]
fn fail(secret: bool) -> std::result::Result<String, ToolError> {
    if secret {
        Err(std::io::Error::other("the disk is full"))?;
    }
    Err(ToolError::new("it rains"))
}

/// Never finish.
#[tool]
async fn wait() -> String {
    std::future::pending().await
}

#[derive(Form)]
struct Sure {
    yes: bool,
}

/// Ask whether the user is sure.
#[tool]
async fn ask(ctx: Ctx) -> std::result::Result<String, ToolError> {
    let Sure { yes } = ctx.ask("Are you sure?").await?;
    Ok(yes.to_string())
}

#[resource("provoked://about")]
fn about() -> &'static str {
    "a server"
}

#[tool]
fn stateful(db: State<String>) -> String {
    db.to_string()
}

fn server() -> Server {
    Server::new("provoked", "1.0.0")
        .tools(tools![add, fail, wait, ask])
        .resources(resources![about])
        .build()
        .unwrap()
}

#[test]
fn mistakes_of_an_author() {
    let mut provoked = Provoked::default();
    let mut build = |page, server: ServerBuilder| provoked.error(page, &server.build().unwrap_err());
    let app = || Server::new("app", "1.0.0");
    build("the server … cannot be built", Server::new("", "1.0.0"));
    build("the server's name is empty", Server::new("", "1.0.0"));
    build("two …s have the name `…`", app().tools(tools![add, add]));
    build(
        "it takes `State<…>`, but the server was given no such value: call `.state(…)`",
        app().tools(tools![stateful]),
    );
    build(
        "it takes `State<…>`, but the server was given `…`: take `State<…>`, or give it a `…`",
        app().state(std::sync::Arc::new(String::new())).tools(tools![stateful]),
    );
    build(
        "its name holds …: a name is made of A–Z, a–z, 0–9, `_`, `-`, `.` and `/`",
        app().tool(ToolEntry::of::<add>().with_name("ä")),
    );
    build(
        "seal key … is neither 32 bytes in base64 nor 64 hexadecimal digits; make one with `openssl rand -base64 32`",
        app().seal_keys(["secret"]),
    );
    build("`eras` is empty: a server must serve at least one era", app().eras([]));
    build(
        "the arguments of a tool are an object: `type` must be \"object\", it is …",
        app().tool(ToolEntry::define(
            toolway::types::Tool::new("t", json!({"type": "array"})),
            async |_: Value| (),
        )),
    );
    let again = server().add_tool(ToolEntry::of::<add>()).unwrap_err();
    provoked.error("the tool `…` cannot be added", &again);
    for (page, template) in [
        ("`{` is never closed, add `}` after the variable", "a://{b"),
        ("`}` closes nothing, add `{` before the variable", "a://b}"),
        ("the start of … is ambiguous, put a literal between it and the variable before it", "a://{b}{c}"),
        ("the variable … comes twice, give each one its own name", "a://{b}/{b}"),
        ("… (at byte …)", "a://{b"),
    ] {
        let error = UriTemplate::parse(template).and_then(|template| template.check_matchable()).unwrap_err();
        provoked.0.push((
            page,
            vec![error.to_string(), error.to_string().rsplit_once(" (at").unwrap().0.to_owned()],
        ));
    }
    provoked.check();
}

#[tokio::test]
async fn servers_that_are_not_there() {
    // Bound but not listening, so that no other program gets the port meanwhile.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = format!("http://{}/mcp", held.local_addr().unwrap());
    let web = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = format!("http://{}", web.local_addr().unwrap());
    tokio::spawn(
        axum::serve(
            web,
            axum::Router::new().route("/who", axum::routing::any(http::StatusCode::UNAUTHORIZED)),
        )
        .into_future(),
    );

    let mut provoked = Provoked::default();
    for (page, target) in [
        ("failed to connect to …", closed.clone()),
        ("the connection could not be opened", closed),
        ("… answered … without a message: is the path right? Often it is /mcp", format!("{place}/nowhere")),
        (
            "… requires authorization: sign in with `oauth`, or give a valid token with `bearer`",
            format!("{place}/who"),
        ),
        ("… is not a URL: a URL looks like http://localhost:8000/mcp", "http://".to_owned()),
        (
            "… cannot be used, because a URL must not contain a user and a password: send them in a header, with \
             `Http::header` or `Http::bearer`",
            "http://me:secret@localhost/mcp".to_owned(),
        ),
        (
            "…: this build supports plain HTTP only, not HTTPS: enable the feature `tls` of `toolway` in Cargo.toml, \
             or give a client that supports HTTPS with `Http::with_client`",
            "https://localhost/mcp".to_owned(),
        ),
        ("failed to start `…`: …", "no-such-program-anywhere".to_owned()),
        (
            "failed to start `…`: it was not found on `PATH`; is it installed?",
            "no-such-program-anywhere".to_owned(),
        ),
        ("the command line names no program", "  ".to_owned()),
        ("the quote at byte … of the command line `…` is not closed", "echo 'a".to_owned()),
        (
            "the command line begins with `…=…` instead of a program: set variables with `Command::env`",
            "A=b program".to_owned(),
        ),
        (
            "`…` at byte … of the command line `…` needs a shell, but the command is started without one: give one \
             program and its arguments, or name the shell: sh -c '…'",
            "a | b".to_owned(),
        ),
    ] {
        let is_other_build = cfg!(feature = "tls") && page.starts_with("…: this build");
        match Client::connect(&*target).await {
            Ok(_) => panic!("{target} is there"),
            Err(_) if is_other_build => {}
            Err(error) => provoked.error(page, &error),
        }
    }
    let token = Client::connect(Http::new(&place).bearer("")).await.unwrap_err();
    provoked.error("the bearer token is empty", &token);
    let folder = Client::connect(Command::new("true").cwd("/no/such/folder")).await.unwrap_err();
    provoked.error(
        "failed to start `…`: its working directory `…` does not exist, or is not a directory",
        &folder,
    );
    provoked.check();
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_dies() {
    let mut provoked = Provoked::default();
    let error = Client::connect("sh -c 'echo no token >&2; exit 3'").await.unwrap_err();
    provoked.error("the server `…` ended with exit status …", &error);
    provoked.error("its stderr: …", &error);
    provoked.check();
}

#[tokio::test(start_paused = true)]
async fn calls_that_fail() {
    let server = server();
    let client = Client::connect(&server).await.unwrap();
    let mut provoked = Provoked::default();
    let text = async |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments).await.unwrap();
        assert!(result.is_error());
        result.text().unwrap_err()
    };
    provoked.error("no such tool: `…`, did you mean `…`?", &client.call("ad", json!({})).await.unwrap_err());
    provoked.error("no such resource", &client.read_resource("a://b").await.unwrap_err());
    provoked.error("no such method: …", &client.request("acme/none", json!({})).await.unwrap_err());
    provoked.error("the tool failed: …", &text("fail", json!({"secret": false})).await);
    provoked.error(
        "the tool `…` failed; the server's operator can find the cause under reference …",
        &text("fail", json!({"secret": true})).await,
    );
    provoked.error("argument `…` is missing", &text("add", json!({"a": 1})).await);
    provoked.error(
        "unknown argument `…`, known are `…`",
        &text("add", json!({"a": 1, "b": 2, "colour": 1})).await,
    );
    provoked.error("expected an integer, got …", &text("add", json!({"a": "one", "b": 2})).await);
    provoked.error(
        "the client cannot be asked: it does not support such forms for its user (elicitation)",
        &client.call("ask", json!({})).await.map_or_else(|error| error, |result| result.text().unwrap_err()),
    );
    let number = client.call("add", json!({"a": 1, "b": 2})).await.unwrap().decode::<String>().unwrap_err();
    provoked.error("the tool's … cannot be decoded as the expected type", &number);
    let late = client.call("wait", json!({})).timeout(std::time::Duration::from_secs(1)).await.unwrap_err();
    provoked.error("the server did not answer … within …", &late);

    let declining = Client::builder().on_elicit(async |_| Answer::decline()).connect(&server).await.unwrap();
    let declined = declining.call("ask", json!({})).await.unwrap().text().unwrap_err();
    provoked.error("the user declined to answer `…`", &declined);
    let wrong = Client::builder()
        .on_elicit(async |_| Answer::accept(json!({"no": 1})))
        .connect(&server)
        .await
        .unwrap();
    let wrong = wrong.call("ask", json!({})).await.map(|result| result.text());
    provoked.error("the answer to `…` does not fit: …", &wrong.and_then(|text| text).unwrap_err());

    let clone = client.clone();
    client.close().await.unwrap();
    provoked.error("the client is closed", &clone.call("add", json!({})).await.unwrap_err());
    provoked.check();
}

#[tokio::test]
async fn hubs_and_their_files() {
    let mut provoked = Provoked::default();
    let server = server();
    let hub = Hub::new();
    hub.connect("calc", &server).await.unwrap();
    let failed = |result: Result<&Hub>| result.unwrap_err();
    provoked.error(
        "there is a server `…` already: disconnect it, or take another name",
        &failed(hub.connect("calc", &server).await),
    );
    provoked.error(
        "a server of a hub needs a name, but its name is empty",
        &failed(hub.connect("", &server).await),
    );
    provoked.error("no such server: `…`, did you mean `…`? (…)", &hub.client("cal").unwrap_err());
    provoked
        .error("no such tool: `…`, did you mean `…`?", &hub.call("calc__ad", json!({})).await.unwrap_err());
    let rules = NameRules::default().with_separator("ä");
    provoked.error(
        "the separator of names must be made of …; found …",
        &Hub::builder().names(rules).build().unwrap_err(),
    );

    let mut file = |page, text: &str| provoked.error(page, &Config::parse(text).unwrap_err());
    let of = |server: Value| json!({"mcpServers": {"a": server}}).to_string();
    file("there are … mistakes", r#"{"mcpServers": {"a": {}, "b": {}}}"#);
    file("this is not JSON: …", "{]");
    file("there is nothing in it: write `{ \"mcpServers\": {} }`", "");
    file("the file has no servers: is `…` meant to be `…`?", r#"{"mcpServer": {}}"#);
    file("the file must be an object or a list of servers; found …", "5");
    file("this comment does not end: close it with `*/`", "{ /* }");
    file("… has neither `command` nor `url`: say how the server is started, or where it is", &of(json!({})));
    file(
        "must be a string; found a list: put the program here, and the rest into `args`",
        &of(json!({"command": ["a"]})),
    );
    file("is empty: say which program is to be started", &of(json!({"command": ""})));
    file("… must be …; found …", &of(json!({"command": 5})));
    file("must be `stdio`, `http` or `sse`; found `…`", &of(json!({"type": "pigeon", "url": "http://a"})));
    file("must be a number of milliseconds; found …", &of(json!({"command": "a", "timeout": "long"})));
    file("… must begin with `https://` or `http://`", &of(json!({"url": "example.com"})));
    file("has no host: write `https://host/path`", &of(json!({"url": "http://"})));
    file(
        "has the same name as the server in line …: rename one",
        r#"{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}}}"#,
    );
    provoked.error("cannot be read: …", &Hub::from_file("/no/such/mcp.json").await.unwrap_err());
    let unset = Config::parse(&of(json!({"command": "a", "env": {"A": "${NOT_SET_ANYWHERE}"}}))).unwrap();
    let hub = Hub::from_config(unset).await;
    let said = hub.map_or_else(|error| format!("{error:?}"), |hub| hub.status()[0].to_string());
    provoked.text("needs the variable `…`, which is not set: set it, or write `${…:-a default}`", &said);
    provoked.check();
}

#[derive(serde::Deserialize)]
struct City {
    city: String,
}

#[tokio::test]
async fn what_a_model_reads() {
    let mut provoked = Provoked::default();
    let schema =
        || json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let weather = || agent::native_tool("weather", "The weather.", schema(), async |of: City| of.city);
    let tools = ToolSet::new().with(weather());
    let call = |name: &str, arguments: &str| json!([{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]);
    for (page, name, arguments) in [
        ("no such tool: `…`, did you mean `…`?", "wether", "{}"),
        ("the arguments are not valid JSON: …", "weather", "{\"city\": "),
        ("the arguments must be a JSON object, not …", "weather", "[]"),
        ("the arguments of `…` do not fit: …", "weather", "{}"),
    ] {
        let answers = tools.call_all(ToolCall::from_openai(&call(name, arguments))).await;
        provoked.text(page, &answers[0].result.as_ref().unwrap_err().for_model());
    }
    provoked
        .error("there is a tool `…` already; a free name is `…`", &tools.try_with(weather()).unwrap_err());
    for (page, failure) in [
        ("… is unavailable right now; go on without it or try again later", ToolFailure::unavailable("a")),
        ("the call of … was cancelled", ToolFailure::cancelled("a")),
        ("the call of … was refused: …", ToolFailure::refused(toolway::RpcError::invalid_params("no"))),
    ] {
        provoked.text(page, &failure.for_model());
    }
    provoked.check();
}

#[tokio::test]
async fn messages_that_are_none() {
    let mut provoked = Provoked::default();
    let server = server();
    for (page, message) in [
        ("not JSON, at byte …", "{"),
        ("a message must be an object", "5"),
        ("`jsonrpc` is missing, it must be \"2.0\"", "{}"),
        ("`jsonrpc` must be \"2.0\"", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#),
        ("`method` must be a string", r#"{"jsonrpc":"2.0","id":1,"method":5}"#),
        ("`id` must be a string or an integer, not null", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
        (
            "`id` must be a string or an integer, not a fraction",
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ),
        ("`params` must be an object", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#),
        ("`params.…` is missing", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#),
        ("no such method: …", r#"{"jsonrpc":"2.0","id":1,"method":"acme/none"}"#),
        (
            "only protocol version … has batches: send one message at a time",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        ),
        (
            "`params.cursor` was not issued by this server",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#,
        ),
        (
            "`params._meta` lacks …",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        ),
    ] {
        let reply = server.handle_json(message, Extensions::default()).await.unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        provoked
            .text(page, reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{message}: {reply}")));
    }
    provoked.check();
}
