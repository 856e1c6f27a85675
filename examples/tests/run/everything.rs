//! Does every feature of the example `everything` work, over stdio and over HTTP?

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::client::{Answer, ClientBuilder};
use toolway::types::{Content, CreateMessageResult, LogLevel, Role, Root};

use super::{
    Child, Client, Code, NOTHING, Notification, address_of, call, next, spawn, start, start_session,
};

#[tokio::test]
async fn tools_answer_in_every_form() {
    on_each_wire(async |client| {
        for (tool, arguments, expected) in [
            ("add", json!({"a": 2, "b": 3}), "5"),
            // An argument of the wrong type is coerced if the schema leaves no doubt.
            ("add", json!({"a": "2", "b": "3.5"}), "5.5"),
            ("echo", json!({"text": "hello"}), "hello"),
            ("divide", json!({"a": 1, "b": 4}), "0.25"),
            ("stats", json!({"values": [1, 2, 3]}), r#"{"count":3,"sum":6.0,"mean":2.0}"#),
            ("numbers", json!({}), "[1,2,3]"),
            ("code", json!({}), "```rust\nfn main() {}\n```"),
            ("nothing", json!({}), ""),
            ("maybe", json!({"say": true}), "yes"),
            ("maybe", json!({"say": false}), "(null)"),
            ("countdown", json!({"steps": 3}), "done"),
            ("waited", json!({}), "0"),
            ("waiting", json!({}), "0"),
            ("profile", json!({"name": "Ann", "email": "ann@example.com", "age": 30}), "Ann free"),
            (
                "profile",
                json!({"name": "Ann", "email": "ann@example.com", "age": 30, "plan": "pro"}),
                "Ann pro",
            ),
            ("describe", json!({"point": {"x": 1, "y": 2.5}}), "(1, 2.5) [] and 0 labels"),
            (
                "describe",
                json!({"point": {"x": 1, "y": 2}, "tags": ["a", "b"], "labels": {"k": "v"}}),
                "(1, 2) [a, b] and 1 labels",
            ),
            ("read", json!({"uri": "everything://readme"}), "# Everything\n\nOne of each.\n"),
            ("who", json!({}), "toolway 2026-07-28"),
        ] {
            assert_eq!(call(&client, tool, arguments.clone()).await, expected, "{tool} {arguments}");
        }
        let stats = client.call("stats", json!({"values": [4]})).await.unwrap();
        let stats: Value = stats.structured().unwrap().decode().unwrap();
        assert_eq!(stats, json!({"count": 1, "sum": 4.0, "mean": 4.0}));
    })
    .await;
}

#[tokio::test]
async fn tools_answer_with_every_kind_of_content() {
    on_each_wire(async |client| {
        let blocks =
            async |tool: &str, arguments| client.call(tool, arguments).await.unwrap().into_inner().content;
        assert!(matches!(&blocks("picture", json!({})).await[..],
            [Content::Image(image)] if image.mime_type == "image/png"));
        assert!(matches!(&blocks("sound", json!({})).await[..],
            [Content::Audio(audio)] if audio.mime_type == "audio/wav"));
        assert!(matches!(&blocks("mixed", json!({})).await[..],
            [Content::Text(_), Content::Image(_), Content::Resource(embedded)]
                if embedded.resource.mime_type.as_deref() == Some("text/markdown")));
        assert!(matches!(&blocks("link", json!({"id": 7})).await[..],
            [Content::Link(link)] if link.uri == "everything://note/7" && link.name == "note"));
        assert!(blocks("nothing", json!({})).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn failures_tell_the_model_what_it_may_know() {
    on_each_wire(async |client| {
        for (tool, arguments, expected) in [
            ("divide", json!({"a": 1, "b": 0}), "division by zero: choose another `b`"),
            ("add", json!({"a": 1}), "argument `b` is missing"),
            ("add", json!({"a": 1, "b": 2, "c": 3}), "unknown argument `c`"),
            ("profile", json!({"name": "Ann", "email": "nowhere", "age": 30}), "argument `email`"),
            ("profile", json!({"name": "Ann", "email": "ann@example.com", "age": 3}), "argument `age`"),
            (
                "profile",
                json!({"name": "Ann", "email": "ann@example.com", "age": 30, "plan": "gold"}),
                "`plan`",
            ),
            (
                "fail",
                json!({}),
                "the tool `fail` failed; the server's operator can find the cause under reference ",
            ),
            (
                "crash",
                json!({}),
                "the tool `crash` failed; the server's operator can find the cause under reference ",
            ),
            ("read", json!({"uri": "everything://nothing"}), "no such resource"),
        ] {
            let result = client.call(tool, arguments).await.unwrap();
            let text = result.first_text().unwrap();
            assert!(result.is_error() && text.contains(expected), "{tool}: {text}");
            assert!(!text.contains("secret"), "{tool}: {text}");
        }
        let unknown = client.call("ad", json!({})).await.unwrap_err();
        let unknown = unknown.rpc().unwrap();
        assert_eq!((unknown.code.0, &*unknown.message), (-32602, "no such tool: `ad`, did you mean `add`?"));
    })
    .await;
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    on_each_wire(async |client| {
        let resources = client.resources().await.unwrap();
        let uris: Vec<&str> = resources.iter().map(|resource| &*resource.uri).collect();
        let registered =
            ["everything://bundle", "everything://config", "everything://logo", "everything://readme"];
        assert_eq!(uris[..4], registered);
        // The resources that a handler lists come last, on three pages.
        assert_eq!(uris.len(), 4 + 25);
        assert_eq!(uris[28], "everything://dynamic/25");

        let read = async |uri: &str| client.read_resource(uri).await.unwrap().contents;
        for (uri, text, mime_type) in [
            ("everything://readme", "# Everything\n\nOne of each.\n", "text/markdown"),
            ("everything://config", r#"{"name":"everything","version":1}"#, "application/json"),
            ("everything://note/7", "note 7", "text/plain"),
            ("everything://file/a/b%20c", "file a/b c", "text/plain"),
            ("everything://dynamic/25", "dynamic 25", "text/plain"),
        ] {
            let contents = &read(uri).await[0];
            assert_eq!(contents.text.as_deref(), Some(text), "{uri}");
            assert_eq!(contents.mime_type.as_deref(), Some(mime_type), "{uri}");
            assert_eq!(contents.uri, uri);
        }
        assert!(read("everything://logo").await[0].blob.as_deref().unwrap().starts_with("iVBORw0KGgo"));
        assert_eq!(read("everything://bundle").await.len(), 2);
        for uri in ["everything://nothing", "everything://note/seven", "everything://dynamic/26"] {
            let missing = client.read_resource(uri).await.unwrap_err();
            assert_eq!(missing.code(), Some(Code::INVALID_PARAMS), "{uri}: {missing}");
        }

        let templates = client.resource_templates().await.unwrap();
        let templates: Vec<&str> = templates.iter().map(|template| &*template.uri_template).collect();
        assert_eq!(
            templates,
            ["everything://file/{+path}", "everything://note/{id}", "everything://letter/{number}"]
        );
    })
    .await;
}

#[tokio::test]
async fn prompts_are_listed_filled_in_and_completed() {
    on_each_wire(async |client| {
        let prompts = client.prompts().await.unwrap();
        let names: Vec<&str> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["gallery", "greet", "review", "interview"]);

        let greet = client.get_prompt("greet", [("name", "Ann")]).await.unwrap();
        assert_eq!(greet.messages[0].content.as_text(), Some("Greet Ann in a casual style"));
        let review =
            client.get_prompt("review", [("code", "fn f() {}"), ("language", "rust")]).await.unwrap();
        assert_eq!(review.description.as_deref(), Some("A code review"));
        assert_eq!(review.messages.len(), 2);
        // Three blocks in one message become a message each.
        assert_eq!(client.get_prompt("gallery", NOTHING).await.unwrap().messages.len(), 3);
        let missing = client.get_prompt("greet", NOTHING).await.unwrap_err();
        assert_eq!(missing.rpc().unwrap().message, "argument `name` is missing");

        let styles = client.complete_prompt("greet", "style", "f", NOTHING).await.unwrap();
        assert_eq!(styles.values, ["formal", "friendly"]);
        // An enum completes itself.
        let languages = client.complete_prompt("review", "language", "", NOTHING).await.unwrap();
        assert_eq!(languages.values, ["rust", "python", "typescript"]);
        let notes = client.complete_resource("everything://note/{id}", "id", "24", NOTHING).await.unwrap();
        assert_eq!(notes.values.len(), 11);
        let notes = client.complete_resource("everything://note/{id}", "id", "", NOTHING).await.unwrap();
        assert_eq!((notes.values.len(), notes.total, notes.has_more), (100, Some(250), Some(true)));
    })
    .await;
}

#[tokio::test]
async fn the_server_says_who_it_is_and_has_a_method_of_its_own() {
    on_each_wire(async |client| {
        let info = client.server_info().unwrap();
        assert_eq!((&*info.name, info.title.as_deref()), ("everything", Some("Everything")));
        assert!(client.instructions().unwrap().starts_with("This server has one of everything."));
        let sum = client.request("everything/sum", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.decode::<Value>().unwrap()["sum"], json!(3.0));
        let wrong = client.request("everything/sum", json!({"a": 1})).await.unwrap_err();
        assert_eq!(wrong.code(), Some(Code::INVALID_PARAMS));
    })
    .await;
}

#[tokio::test]
async fn progress_and_logs_reach_those_who_listen() {
    on_each_wire(async |client| {
        let mut news = client.notifications();
        call(&client, "countdown", json!({"steps": 3})).await;
        for step in 1..=3 {
            let Notification::Progress(told) = next(&mut news).await else { panic!("no progress") };
            assert_eq!(told.progress.as_u64(), Some(step));
            assert_eq!(told.total.unwrap().as_u64(), Some(3));
            assert_eq!(told.message, Some(format!("step {step}")));
        }
        client.set_log_level(LogLevel::Error).await.unwrap();
        call(&client, "chatter", json!({})).await;
        for level in ["error", "critical", "alert", "emergency"] {
            let Notification::LogMessage(told) = next(&mut news).await else { panic!("no log message") };
            assert_eq!((told.level.as_str(), told.logger.as_deref()), (level, Some("chatter")));
            let data: Value = told.data.decode().unwrap();
            assert_eq!(data["message"], format!("{level} message"));
        }
        assert!(news.try_next().is_none());
    })
    .await;
}

#[tokio::test]
async fn changes_are_told_in_a_conversation() {
    let (client, _child) = start_session("everything").await;
    let mut news = client.notifications();
    assert_eq!(call(&client, "add_tool", json!({"name": "new"})).await, "added new");
    assert!(matches!(next(&mut news).await, Notification::ToolsChanged(_)));
    assert_eq!(call(&client, "new", json!({})).await, "I am new");
    assert_eq!(call(&client, "remove_tool", json!({"name": "new"})).await, "removed new");
    assert!(matches!(next(&mut news).await, Notification::ToolsChanged(_)));
    call(&client, "resources_changed", json!({})).await;
    assert!(matches!(next(&mut news).await, Notification::ResourcesChanged(_)));
    client.subscribe("everything://readme").await.unwrap();
    call(&client, "touch", json!({"uri": "everything://config"})).await;
    call(&client, "touch", json!({"uri": "everything://readme"})).await;
    let told = next(&mut news).await;
    assert!(
        matches!(&told, Notification::ResourceUpdated(told) if told.uri == "everything://readme"),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_user_the_model_and_the_roots_are_asked() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut child = spawn("everything", [""; 0]);
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = answering().protocol(version).connect_io(stdout, stdin).await.unwrap();
        for (tool, arguments, expected) in [
            ("sign_up", json!({}), "ada@example.com, 36, 0.5, letters, free, tools, nobody"),
            ("wizard", json!({}), "Ada likes red; drafts: 1"),
            ("survey", json!({}), "Because. Ada, who works in file:///srv"),
            ("offer", json!({}), "thank you"),
            ("pay", json!({}), "you went to pay"),
            ("think", json!({"question": "Why?"}), "Because."),
            ("folders", json!({}), "file:///srv"),
        ] {
            assert_eq!(call(&client, tool, arguments).await, expected, "{version}: {tool}");
        }
        let interview = client.get_prompt("interview", NOTHING).await.unwrap();
        assert_eq!(interview.messages[0].content.as_text(), Some("Interview Ada"), "{version}");
        let letter = client.read_resource("everything://letter/7").await.unwrap();
        assert_eq!(letter.text(), Some("Letter 7: dear Ada"), "{version}");
    }
}

/// A client whose user gives the same data about Ada to every question.
fn answering() -> ClientBuilder {
    let about_ada =
        json!({"name": "Ada", "email": "ada@example.com", "age": 36, "topics": ["tools"], "colour": "red"});
    let answer = move |field: &str| about_ada[field].clone();
    Client::builder()
        .on_elicit(move |question| {
            let fields = question.form().unwrap().properties.0.iter();
            let known =
                fields.map(|(name, _)| (name.clone(), answer(name))).filter(|(_, value)| !value.is_null());
            let filled: serde_json::Map<String, Value> = known.collect();
            async move { Answer::accept(filled) }
        })
        .on_elicit_url(async |_| Answer::consent())
        .on_sample(async |_| Ok(CreateMessageResult::new(Role::Assistant, Content::text("Because."), "none")))
        .roots([Root::new("file:///srv")])
}

/// Runs a test with the example over stdio and over HTTP.
async fn on_each_wire(test: impl AsyncFn(Client)) {
    let (client, _child) = start("everything").await;
    test(client).await;
    let (client, _child) = serve_http().await;
    test(client).await;
}

/// Starts the example on a free port, which it prints on stderr.
async fn serve_http() -> (Client, Child) {
    let mut child = spawn("everything", ["--http", "127.0.0.1:0"]);
    let url = format!("http://{}/mcp", address_of(&mut child).await);
    (Client::connect_http(&url).await.unwrap(), child)
}
