//! Which requests are there?

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;
use toolway::ProtocolVersion;
use toolway::types::Tool;

use super::both_eras;
use super::call_request::CallRequest;
use super::doctor_report::doctor_report;
use super::export::export;
use super::fields::CheckedArguments;
use super::frame_lines::{describe_all, send_frames};
use super::hub_view::hub_view;
use super::inspector::Inspector;
use super::object::{SetMember, object};
use super::page::{self, PageFile};
use super::provider_tools::provider_report;
use super::questions::AnswerRequest;
use super::recording::Recording;
use super::request_members::RequestMembers;
use super::server::InspectedServer;
use super::spawn::spawn;
use super::web::{Refusal, Reply, accepts_gzip, bytes_reply, json_reply, lines_reply, read_body};

/// How often an empty line is sent to a reader of events if there is nothing else.
const QUIET: Duration = Duration::from_secs(15);

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
    need_post(&request)?;
    let code = RequestMembers::parse(&read_body(request).await?)?.text("code")?;
    match inspector.gate.enter(&code) {
        Ok(token) => Ok(json_reply(StatusCode::OK, &object! {"token": token})),
        Err(forbidden) => {
            inspector.console.write_lines(&format!("A browser was refused: {}.", forbidden.0));
            Err(Refusal::forbidden(forbidden.0))
        }
    }
}

fn need_post(request: &Request<Incoming>) -> Result<(), Refusal> {
    if request.method() == Method::POST { Ok(()) } else { Err(wrong_method("POST")) }
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
            state.set("questions", &inspector.questions.views());
            state
        }
        "events" => return Ok(events(inspector, number(request, "after")?)),
        "frames" => {
            let (server, after) = (queried_server(inspector, request)?, number(request, "after")?);
            let inspector = inspector.clone();
            return Ok(lines_reply(|to| {
                Box::pin(send_frames(
                    server.recorder().clone(),
                    server.clock_offset_ms(),
                    after,
                    move |line| inspector.redact(line),
                    to,
                ))
            }));
        }
        "frame" => {
            let (server, wanted) = (queried_server(inspector, request)?, number(request, "n")?);
            whole_frame(&server, wanted)?
        }
        "call" => inspector.calls.get(number(request, "id")?)?.details(),
        "calls" => {
            let server = queried_server(inspector, request)?;
            object! {"calls": inspector.calls.summaries(server.id())}
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
        FrameBody::Json(text) => line.set("frame", &text.as_str()),
        FrameBody::Raw(text) => line.set("raw", text),
        _ => {}
    }
    line.set("folded", &false);
    Ok(line)
}

fn events(inspector: &Arc<Inspector>, mut after: u64) -> Reply {
    let inspector = inspector.clone();
    lines_reply(|to| {
        Box::pin(async move {
            loop {
                let text = match tokio::time::timeout(QUIET, inspector.events.next(after)).await {
                    Ok((lines, last)) => {
                        after = last;
                        inspector.redact(lines)
                    }
                    Err(_) => "\n".to_owned(),
                };
                to.write(text).await;
            }
        })
    })
}

async fn post(inspector: &Arc<Inspector>, name: &str, request: Request<Incoming>) -> Result<Value, Refusal> {
    let body = read_body(request).await?;
    if name == "cassette" {
        return open_recording(inspector, &body);
    }
    let mut members = RequestMembers::parse(&body)?;
    match name {
        "log_level" => {
            let (server, level) = (members.server()?, members.text("level")?);
            inspector.server(server)?.need_live()?.set_log_level(&level).await?;
            Ok(object! {})
        }
        "doctor" => {
            let server = inspector.server(members.server()?)?;
            Ok(doctor_report(&inspector.talk, &server.need_live()?.place).await?)
        }
        _ => act(inspector, name, members),
    }
}

/// Does what needs no waiting, or begins what goes on after the reply.
fn act(inspector: &Arc<Inspector>, name: &str, mut members: RequestMembers) -> Result<Value, Refusal> {
    match name {
        "check" => {
            let tool = tool(inspector, &mut members)?;
            let (text, fields) = (members.optional_text("text")?, members.pairs("fields")?);
            let checked = match fields {
                Some(fields) => CheckedArguments::of_fields(&tool, &fields),
                None => CheckedArguments::of_text(&tool, text.as_deref().unwrap_or("{}")),
            };
            return Ok(checked.to_json());
        }
        "call" => {
            let wanted = CallRequest::read(members)?;
            let server = inspector.server(wanted.server)?;
            let kind = wanted.kind(&server.elements())?;
            let client = server.need_live()?.client()?;
            let call = inspector.calls.begin(server.call_target(), kind, wanted.answers, None)?;
            let (id, timeout) = (call.id(), wanted.timeout);
            spawn(Box::pin(async move {
                call.run(client, timeout).await;
                server.note_connection();
            }));
            return Ok(object! {"call": id});
        }
        "both" => {
            let wanted = CallRequest::read(members)?;
            let server = inspector.server(wanted.server)?;
            let kind = wanted.kind(&server.elements())?;
            let parts = (inspector.calls.clone(), inspector.comparisons.clone());
            let comparison = both_eras::begin(parts, server, kind, wanted.answers, wanted.timeout)?;
            return Ok(object! {"both": comparison.id()});
        }
        "cancel" => inspector.calls.get(members.number("call")?)?.cancel(),
        "answer" => {
            let content = inspector.questions.answer(AnswerRequest::read(members)?)?;
            return Ok(object! {"content": content});
        }
        "cut" => {
            let (server, after) = (members.server()?, members.optional_number("after_events")?);
            let after = after.map(|events| u32::try_from(events).unwrap_or(u32::MAX));
            inspector.server(server)?.need_live()?.cut(after)?;
        }
        "restart" => inspector.server(members.server()?)?.need_live()?.reconnect(),
        "revision" => {
            let (server, revision) = (members.server()?, members.optional_text("revision")?);
            let wanted = match revision {
                None => None,
                Some(text) => Some(text.parse::<ProtocolVersion>().map_err(|_| {
                    let known = ProtocolVersion::ALL.map(ProtocolVersion::as_str).join(", ");
                    Refusal::usage(format!("the known revisions are {known}"))
                })?),
            };
            inspector.server(server)?.need_live()?.set_revision(wanted);
        }
        "watch" => {
            let (server, uri, on) = (members.server()?, members.text("uri")?, members.flag("on")?);
            inspector.server(server)?.need_live()?.watch(&uri, on)?;
        }
        "render" => return provider_report(&tool(inspector, &mut members)?),
        _ => {
            let (call, form) = (members.number("call")?, members.text_or_empty("as")?);
            let call = inspector.calls.get(call)?;
            return export(&call, &*inspector.server(call.server())?, &form);
        }
    }
    Ok(object! {})
}

/// Returns the tool that a request is about.
fn tool(inspector: &Inspector, members: &mut RequestMembers) -> Result<Tool, Refusal> {
    let (server, name) = (members.server()?, members.text("tool")?);
    inspector.server(server)?.tool(&name)
}

fn open_recording(inspector: &Inspector, body: &[u8]) -> Result<Value, Refusal> {
    let text =
        std::str::from_utf8(body).map_err(|_| Refusal::usage("this is not a cassette: it is not text"))?;
    let recording = Recording::read(text)?;
    let name = recording.name();
    let server = inspector.add_recording(|id| InspectedServer::of_recording(id, name, recording))?;
    Ok(object! {"server": server.id()})
}
