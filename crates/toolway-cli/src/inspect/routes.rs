//! Which requests are there?

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolway::ProtocolVersion;

use super::both_eras;
use super::calls::CallRequest;
use super::doctor_report::doctor_report;
use super::export::export;
use super::fields::CheckedArguments;
use super::frame_lines::{describe_all, send_frames};
use super::hub_view::hub_view;
use super::inspector::Inspector;
use super::page::{self, PageFile};
use super::provider_tools::provider_report;
use super::questions::AnswerRequest;
use super::recording::Recording;
use super::server::InspectedServer;
use super::web::{Refusal, Reply, accepts_gzip, bytes_reply, json_reply, lines_reply, read_body};

/// How often an empty line is sent to a reader of events if there is nothing else.
const QUIET: Duration = Duration::from_secs(15);

/// The longest time limit of a call, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Answers a request.
pub(super) async fn answer(inspector: &Arc<Inspector>, request: Request<Incoming>) -> Reply {
    let path = request.uri().path().to_owned();
    if let Err(forbidden) = inspector.gate.check_origin(request.headers()) {
        return Refusal::forbidden(forbidden.0).reply();
    }
    if let Some(file) = page::FILES.iter().find(|file| file.path == path) {
        return page_file(file, &request).unwrap_or_else(Refusal::reply);
    }
    let outcome = match path.as_str() {
        "/api/enter" => enter(inspector, request).await,
        _ if !inspector.gate.has_token(request.headers()) => {
            let message = "this inspector does not know the token; use the link that its terminal shows";
            Err(Refusal::new(StatusCode::UNAUTHORIZED, "ended", message))
        }
        _ => route(inspector, &path, request).await,
    };
    outcome.unwrap_or_else(Refusal::reply)
}

fn page_file(file: &PageFile, request: &Request<Incoming>) -> Result<Reply, Refusal> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(wrong_method("GET"));
    }
    if file.is_gzip && !accepts_gzip(request.headers()) {
        let message = "this file is sent compressed, and the request does not accept gzip; use a browser, or \
                       `curl --compressed`";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, "usage", message));
    }
    let mut reply = bytes_reply(StatusCode::OK, file.media_type, Bytes::from_static(file.content));
    if file.is_gzip {
        reply.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(reply)
}

fn wrong_method(right: &str) -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "usage", format!("this path takes {right}"))
}

async fn enter(inspector: &Inspector, request: Request<Incoming>) -> Result<Reply, Refusal> {
    #[derive(Deserialize)]
    struct Code {
        code: String,
    }
    need_post(&request)?;
    let Code { code } = read(request).await?;
    match inspector.gate.enter(&code) {
        Ok(token) => Ok(json_reply(StatusCode::OK, &json!({ "token": token }))),
        Err(forbidden) => {
            inspector.console.write_lines(&format!("A browser was refused: {}.", forbidden.0));
            Err(Refusal::forbidden(forbidden.0))
        }
    }
}

fn need_post(request: &Request<Incoming>) -> Result<(), Refusal> {
    if request.method() == Method::POST { Ok(()) } else { Err(wrong_method("POST")) }
}

async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Refusal> {
    let body = read_body(request).await?;
    serde_json::from_slice(&body)
        .map_err(|error| Refusal::usage(format!("the request is not understood: {error}")))
}

/// The query of a request, with numbers only.
fn number(request: &Request<Incoming>, name: &str) -> Result<u64, Refusal> {
    let query = request.uri().query().unwrap_or_default();
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    match value {
        None => Ok(0),
        Some(text) => text.parse().map_err(|_| Refusal::usage(format!("`{name}` is not a number"))),
    }
}

/// Returns the server with the number in the query.
fn queried_server(
    inspector: &Inspector,
    request: &Request<Incoming>,
) -> Result<Arc<InspectedServer>, Refusal> {
    let number = number(request, "server")?;
    inspector.server(usize::try_from(number).unwrap_or(usize::MAX))
}

#[derive(Deserialize)]
struct OfServer {
    server: usize,
}

#[derive(Deserialize)]
struct OfTool {
    server: usize,
    tool: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    fields: Option<Vec<(String, String)>>,
}

#[derive(Deserialize)]
struct OfCall {
    call: u64,
    #[serde(default, rename = "as")]
    form: String,
}

#[derive(Deserialize)]
struct Cut {
    server: usize,
    #[serde(default)]
    after_events: Option<u32>,
}

#[derive(Deserialize)]
struct Revision {
    server: usize,
    revision: Option<String>,
}

#[derive(Deserialize)]
struct Level {
    server: usize,
    level: String,
}

#[derive(Deserialize)]
struct Watch {
    server: usize,
    uri: String,
    on: bool,
}

async fn route(inspector: &Arc<Inspector>, path: &str, request: Request<Incoming>) -> Result<Reply, Refusal> {
    const READS: [&str; 9] =
        ["state", "events", "frames", "frame", "call", "calls", "both", "hub", "cassette"];
    const WRITES: [&str; 14] = [
        "check",
        "call",
        "cancel",
        "both",
        "answer",
        "cut",
        "restart",
        "revision",
        "log_level",
        "watch",
        "render",
        "export",
        "doctor",
        "cassette",
    ];
    let name = path.strip_prefix("/api/").unwrap_or_default();
    let (is_read, is_write) = (READS.contains(&name), WRITES.contains(&name));
    let value = match *request.method() {
        Method::GET if is_read => return get(inspector, name, &request),
        Method::POST if is_write => post(inspector, name, request).await?,
        _ if is_read && is_write => return Err(wrong_method("GET and POST")),
        _ if is_read => return Err(wrong_method("GET")),
        _ if is_write => return Err(wrong_method("POST")),
        _ => return Err(Refusal::not_found(format!("there is no {path}"))),
    };
    Ok(redacted(inspector, &value))
}

fn redacted(inspector: &Inspector, value: &Value) -> Reply {
    bytes_reply(StatusCode::OK, "application/json", inspector.redact(value.to_string()).into())
}

fn get(inspector: &Arc<Inspector>, name: &str, request: &Request<Incoming>) -> Result<Reply, Refusal> {
    let value = match name {
        "state" => {
            let mut state = inspector.state();
            state["questions"] = json!(inspector.questions.views());
            state
        }
        "events" => return Ok(events(inspector, number(request, "after")?)),
        "frames" => {
            let (server, after) = (queried_server(inspector, request)?, number(request, "after")?);
            let inspector = inspector.clone();
            return Ok(lines_reply(move |to| {
                send_frames(
                    server.recorder().clone(),
                    server.clock_offset_ms(),
                    after,
                    move |line| inspector.redact(line),
                    to,
                )
            }));
        }
        "frame" => {
            let (server, wanted) = (queried_server(inspector, request)?, number(request, "n")?);
            whole_frame(&server, wanted)?
        }
        "call" => inspector.calls.get(number(request, "id")?)?.details(),
        "calls" => {
            let server = queried_server(inspector, request)?;
            json!({"calls": inspector.calls.summaries(server.id())})
        }
        "both" => inspector.comparisons.get(number(request, "id")?)?.describe(),
        "hub" => hub_view(inspector)?,
        _ => {
            let text = inspector.redact(queried_server(inspector, request)?.cassette());
            return Ok(bytes_reply(StatusCode::OK, "application/octet-stream", text.into()));
        }
    };
    Ok(redacted(inspector, &value))
}

fn whole_frame(server: &InspectedServer, wanted: u64) -> Result<Value, Refusal> {
    use toolway::client::record::FrameBody;
    let frames = server.frames(0);
    let mut lines = describe_all(&frames, wanted, wanted);
    let frame = frames.iter().find(|frame| frame.number == wanted);
    let (Some(mut line), Some(frame)) = (lines.pop(), frame) else {
        return Err(Refusal::not_found(format!("the frame {wanted} is not kept any more")));
    };
    match &frame.body {
        FrameBody::Json(text) => line["frame"] = json!(text.as_str()),
        FrameBody::Raw(text) => line["raw"] = json!(text),
        _ => {}
    }
    line["folded"] = json!(false);
    Ok(line)
}

fn events(inspector: &Arc<Inspector>, mut after: u64) -> Reply {
    let inspector = inspector.clone();
    lines_reply(move |to| async move {
        loop {
            let text = match tokio::time::timeout(QUIET, inspector.events.next(after)).await {
                Ok((lines, last)) => {
                    after = last;
                    inspector.redact(lines)
                }
                Err(_) => "\n".to_owned(),
            };
            if to.send(text.into()).await.is_err() {
                return;
            }
        }
    })
}

async fn post(inspector: &Arc<Inspector>, name: &str, request: Request<Incoming>) -> Result<Value, Refusal> {
    match name {
        "check" => {
            let OfTool { server, tool, text, fields } = read(request).await?;
            let tool = inspector.server(server)?.tool(&tool)?;
            let checked = match fields {
                Some(fields) => CheckedArguments::of_fields(&tool, &fields),
                None => CheckedArguments::of_text(&tool, text.as_deref().unwrap_or("{}")),
            };
            return Ok(checked.to_json());
        }
        "call" => {
            let wanted: CallRequest = read(request).await?;
            let server = inspector.server(wanted.server)?;
            let kind = wanted.kind(&server.elements())?;
            let client = server.need_live()?.client()?;
            let call = inspector.calls.begin(server.call_target(), kind, wanted.answers, None)?;
            let id = call.id();
            let timeout = wanted.timeout_ms.map(|ms| Duration::from_millis(ms.clamp(1, MAX_TIMEOUT_MS)));
            tokio::spawn(async move {
                call.run(client, timeout).await;
                server.note_connection();
            });
            return Ok(json!({ "call": id }));
        }
        "both" => {
            let mut wanted: CallRequest = read::<Value>(request).await.and_then(|mut value| {
                // The page names the tool as in the other requests about tools.
                if let Some(tool) = value.get("tool").cloned() {
                    value["name"] = tool;
                    value["kind"] = json!("tool");
                }
                serde_json::from_value(value)
                    .map_err(|error| Refusal::usage(format!("the request is not understood: {error}")))
            })?;
            let server = inspector.server(wanted.server)?;
            let timeout = wanted.timeout_ms.map(|ms| Duration::from_millis(ms.clamp(1, MAX_TIMEOUT_MS)));
            let answers = std::mem::take(&mut wanted.answers);
            let kind = wanted.kind(&server.elements())?;
            let parts = (inspector.calls.clone(), inspector.comparisons.clone());
            let comparison = both_eras::begin(parts, server, kind, answers, timeout)?;
            return Ok(json!({"both": comparison.id()}));
        }
        "cancel" => {
            let OfCall { call, .. } = read(request).await?;
            inspector.calls.get(call)?.cancel();
        }
        "answer" => {
            let content = inspector.questions.answer(read::<AnswerRequest>(request).await?)?;
            return Ok(json!({ "content": content }));
        }
        "cut" => {
            let Cut { server, after_events } = read(request).await?;
            inspector.server(server)?.need_live()?.cut(after_events)?;
        }
        "restart" => {
            let OfServer { server } = read(request).await?;
            inspector.server(server)?.need_live()?.reconnect();
        }
        "revision" => {
            let Revision { server, revision } = read(request).await?;
            let wanted = match revision {
                None => None,
                Some(text) => Some(text.parse::<ProtocolVersion>().map_err(|_| {
                    let known = ProtocolVersion::ALL.map(ProtocolVersion::as_str).join(", ");
                    Refusal::usage(format!("the known revisions are {known}"))
                })?),
            };
            inspector.server(server)?.need_live()?.set_revision(wanted);
        }
        "log_level" => {
            let Level { server, level } = read(request).await?;
            inspector.server(server)?.need_live()?.set_log_level(&level).await?;
        }
        "watch" => {
            let Watch { server, uri, on } = read(request).await?;
            inspector.server(server)?.need_live()?.watch(&uri, on)?;
        }
        "render" => {
            let OfTool { server, tool, .. } = read(request).await?;
            return provider_report(&inspector.server(server)?.tool(&tool)?);
        }
        "export" => {
            let OfCall { call, form } = read(request).await?;
            let call = inspector.calls.get(call)?;
            return export(&call, &*inspector.server(call.server())?, &form);
        }
        "doctor" => {
            let OfServer { server } = read(request).await?;
            let server = inspector.server(server)?;
            return Ok(doctor_report(&inspector.talk, &server.need_live()?.place).await?);
        }
        _ => {
            let body = read_body(request).await?;
            let text = std::str::from_utf8(&body)
                .map_err(|_| Refusal::usage("this is not a cassette: it is not text"))?;
            let recording = Recording::read(text)?;
            let name = recording.name();
            let server = inspector.add_recording(|id| InspectedServer::of_recording(id, name, recording))?;
            return Ok(json!({"server": server.id()}));
        }
    }
    Ok(json!({}))
}
