//! How is a call written for a terminal, a test or a report? Secrets stay out: each has a mark such as `«1»`, which the
//! reader replaces.

use std::fmt::Write;

use serde_json::Value;
use toolway::client::record::{Direction, FrameBody, HttpPart, RecordedFrame};

use super::call_request::CallKind;
use super::calls::Call;
use super::frame_lines::{describe_all, find_request};
use super::object::object;
use super::server::InspectedServer;
use super::web::Refusal;
use crate::location::find::quote_word as quote;
use crate::location::{CommandSpec, Endpoint};

/// Returns a call in one of the forms.
pub(super) fn export(call: &Call, server: &InspectedServer, form: &str) -> Result<Value, Refusal> {
    let (text, note) = match form {
        "toolway" => toolway_command(call, server)?,
        "curl" => curl_command(call, server)?,
        "rust" => rust_test(call, server)?,
        "cassette" => (cassette(call, server), None),
        _ => return Err(Refusal::usage("`as` is one of curl, toolway, rust, cassette")),
    };
    Ok(object! {"text": text, "note": note})
}

type Exported = (String, Option<String>);

/// The arguments of `toolway` that name the server: options, the target, and a command at the end.
struct TargetWords {
    options: Vec<String>,
    target: Option<String>,
    command: Vec<String>,
    note: Option<String>,
}

fn target_words(server: &InspectedServer) -> Result<TargetWords, Refusal> {
    let live = server.need_live()?;
    let mut words = TargetWords { options: Vec::new(), target: None, command: Vec::new(), note: None };
    match &live.place.endpoint {
        Endpoint::Url(address) => {
            for (name, _) in &address.headers {
                words.options.push(format!("--header {}", quote(&format!("{name}: …"))));
            }
            if address.bearer.is_some() && !address.is_from_environment {
                words.options.push("--bearer \"$TOKEN\"".to_owned());
            }
            if !words.options.is_empty() {
                words.note = Some("put your secrets in the places of … and $TOKEN".to_owned());
            }
            words.target = Some(address.url.clone());
        }
        Endpoint::Command(start) => {
            for (name, _) in &start.env {
                words.options.push(format!("--env {}", quote(&name.to_string_lossy())));
            }
            if let Some(cwd) = &start.cwd {
                words.options.push(format!("--cwd {}", quote(&cwd.to_string_lossy())));
            }
            if !start.env.is_empty() {
                words.note = Some("set the variables of --env before you run this".to_owned());
            }
            words.command = command_words(start);
        }
        Endpoint::Own(_) => {}
    }
    Ok(words)
}

fn command_words(start: &CommandSpec) -> Vec<String> {
    let words = std::iter::once(&start.program).chain(&start.args);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn toolway_command(call: &Call, server: &InspectedServer) -> Result<Exported, Refusal> {
    let TargetWords { options, target, command, note } = target_words(server)?;
    let mut own = Vec::new();
    let verb = match call.kind() {
        CallKind::Tool { name, arguments, .. } => {
            own.push(quote(name));
            own.push(format!("--input-json {}", quote(arguments.as_str())));
            "call"
        }
        CallKind::Resource { uri } => {
            own.push(quote(uri));
            "read"
        }
        CallKind::Prompt { name, arguments } => {
            own.push(quote(name));
            own.extend(arguments.iter().map(|(name, text)| quote(&format!("{name}={}", escape_at(text)))));
            "prompt"
        }
        CallKind::Complete { name, is_template, argument, typed, known } => {
            own.push(if *is_template { "template" } else { "prompt" }.to_owned());
            own.extend([quote(name), quote(argument), quote(typed)]);
            own.extend(known.iter().map(|(name, text)| quote(&format!("{name}={}", escape_at(text)))));
            "complete"
        }
    };
    let is_own = target.is_none() && command.is_empty();
    let mut line = if is_own { server.name().to_owned() } else { "toolway".to_owned() };
    let _ = write!(line, " {verb}");
    if let Some(revision) = call.revision() {
        let _ = write!(line, " --protocol {revision}");
    }
    for word in options.into_iter().chain(target.map(|target| quote(&target))).chain(own) {
        let _ = write!(line, " {word}");
    }
    if !command.is_empty() {
        line.push_str(" --");
        for word in command {
            let _ = write!(line, " {}", quote(&word));
        }
    }
    Ok((line, note))
}

/// A text that begins with `@` would name a file.
fn escape_at(text: &str) -> String {
    if text.starts_with('@') { format!("@{text}") } else { text.to_owned() }
}

fn curl_command(call: &Call, server: &InspectedServer) -> Result<Exported, Refusal> {
    let Endpoint::Url(address) = &server.need_live()?.place.endpoint else {
        return Err(Refusal::usage(
            "curl needs a URL, and this server is a command; `toolway proxy --http -- COMMAND` gives it one",
        ));
    };
    let (first, last) = call.frames();
    let (method, about) = call.kind().request();
    let frames = server.frames(0);
    let numbered = |number: u64| frames.iter().find(|frame| frame.number == number);
    let sent = find_request(&frames, first, method, about).filter(|number| *number <= last);
    let Some(sent) = sent.and_then(numbered) else {
        return Err(Refusal::not_found("the frames of this call are not kept any more; make the call again"));
    };
    let Some(http) = &sent.http else { return Err(Refusal::not_found("the call was not sent over HTTP")) };
    let mut text = String::new();
    let has_session = http.headers.contains_key("mcp-session-id");
    if has_session {
        // The session of the inspector is its own: the commands open another one.
        let lines = describe_all(&frames, 0, sent.number);
        let sends = |line: &Value, method: &str| line["dir"] == "out" && line["method"] == method;
        let opening = lines.iter().rposition(|line| sends(line, "initialize"));
        let begun = lines[opening.unwrap_or(0)..]
            .iter()
            .find(|line| sends(line, "notifications/initialized"))
            .and_then(|line| numbered(line["n"].as_u64()?));
        let opening = opening.and_then(|at| numbered(lines[at]["n"].as_u64()?));
        let Some(opening) = opening else {
            return Err(Refusal::not_found(
                "the frames that opened the session are not kept any more; restart the server",
            ));
        };
        let _ = writeln!(text, "session=$({} |", curl(&address.url, opening, Some("-D - -o /dev/null")));
        let _ = writeln!(text, "  sed -n 's/\\r$//; s/^[Mm]cp-[Ss]ession-[Ii]d: //p')");
        if let Some(begun) = begun {
            let _ = writeln!(text, "{}", curl(&address.url, begun, None));
        }
    }
    let _ = writeln!(text, "{}", curl(&address.url, sent, None));
    let has_secrets = text.contains('«');
    let note = has_secrets.then(|| "put your secrets in the places of the marks such as «1»".to_owned());
    Ok((text, note))
}

fn sent_message(frame: &RecordedFrame) -> Option<&str> {
    match (&frame.direction, &frame.body) {
        (Direction::Out, FrameBody::Json(text)) => Some(text.as_str()),
        _ => None,
    }
}

/// Returns the command that sends a frame again.
fn curl(url: &str, frame: &RecordedFrame, options: Option<&str>) -> String {
    const MADE_BY_CURL: [&str; 5] =
        ["host", "content-length", "connection", "user-agent", "transfer-encoding"];
    let mut line = format!("curl -sN {}", quote(url));
    if let Some(options) = options {
        let _ = write!(line, " {options}");
    }
    let headers = frame.http.iter().flat_map(|HttpPart { headers, .. }| headers);
    for (name, value) in headers.filter(|(name, _)| !MADE_BY_CURL.contains(&name.as_str())) {
        if name == "mcp-session-id" {
            line.push_str(" \\\n  -H \"mcp-session-id: $session\"");
        } else {
            let _ = write!(line, " \\\n  -H {}", quote(&format!("{name}: {value}")));
        }
    }
    if let Some(body) = sent_message(frame) {
        let _ = write!(line, " \\\n  --data-raw {}", quote(body));
    }
    line
}

fn rust_test(call: &Call, server: &InspectedServer) -> Result<Exported, Refusal> {
    let CallKind::Tool { name, arguments, .. } = call.kind() else {
        return Err(Refusal::usage("only calls of tools are written as tests"));
    };
    let result = call
        .result()
        .ok_or_else(|| Refusal::usage("the call has no result; a test needs one to compare with"))?;
    let live = server.need_live()?;
    let mut note = None;
    let mut features = vec!["client"];
    let (imports, target) = match &live.place.endpoint {
        Endpoint::Url(address) => {
            features.push("http");
            if address.url.starts_with("https:") {
                features.push("tls");
            }
            if address.has_credentials() {
                note = Some("add `.bearer(…)` or `.header(…)` with your secrets".to_owned());
            }
            ("", format!("{:?}", address.url))
        }
        Endpoint::Command(start) => {
            let words = command_words(start);
            let (program, args) =
                words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
            let mut command = format!("Command::new({program:?})");
            for arg in args {
                let _ = write!(command, ".arg({arg:?})");
            }
            if !start.env.is_empty() {
                note = Some("add `.env(NAME, VALUE)` for the variables of the server".to_owned());
            }
            ("use toolway::client::Command;\n", command)
        }
        Endpoint::Own(_) => {
            note = Some("replace `server()` by the function that makes your server".to_owned());
            ("", "&server()?".to_owned())
        }
    };
    let expected =
        serde_json::to_string_pretty(&result.decode::<Value>().unwrap_or_default()).unwrap_or_default();
    let (arguments, expected) = (raw_literal(arguments.as_str()), raw_literal(&expected));
    // Results differ between revisions, at least in `_meta`.
    let revision = call.revision().map_or_else(String::new, |revision| {
        format!(".protocol(ProtocolVersion::V{})", revision.replace('-', "_"))
    });
    let function = test_name(name);
    let text = format!(
        "// [dev-dependencies]\n// serde_json = \"1\"\n\
         // tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n\
         // toolway = {{ git = {REPOSITORY:?}, features = {features:?} }}\n\n\
         {imports}use toolway::prelude::*;\nuse toolway::{{ProtocolVersion, RawJson}};\n\n\
         #[tokio::test]\nasync fn {function}() -> toolway::Result<()> {{\n    \
         let client = Client::builder(){revision}.connect({target}).await?;\n    \
         let arguments = RawJson::parse({arguments}).expect(\"the arguments are JSON\");\n    \
         let result = client.call({name:?}, arguments).await?;\n    \
         let result: serde_json::Value = RawJson::encoded(&*result, ProtocolVersion::LATEST).decode().expect(\"a result is JSON\");\n    \
         let expected: serde_json::Value = serde_json::from_str({expected}).expect(\"the expected result is JSON\");\n    \
         assert_eq!(result, expected);\n    \
         client.close().await\n}}\n"
    );
    Ok((text, note))
}

/// The guides name it too.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Returns JSON as a raw string of Rust.
fn raw_literal(json: &str) -> String {
    // The compiler refuses carriage returns there, which are white space of JSON, and characters that change the direction
    // of the text, which can only be in its strings.
    let mut text = String::new();
    for letter in json.chars().filter(|letter| *letter != '\r') {
        match letter {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(letter));
            }
            _ => text.push(letter),
        }
    }
    let mut hashes = "#".to_owned();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}

fn test_name(tool: &str) -> String {
    let mut name: String = tool
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
        .collect();
    if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        name.insert_str(0, "tool_");
    }
    format!("{name}_answers_as_recorded")
}

/// Returns the frames of the call as a cassette.
fn cassette(call: &Call, server: &InspectedServer) -> String {
    let (first, last) = call.frames();
    let whole = server.cassette();
    let mut text = whole.lines().next().unwrap_or_default().to_owned();
    text.push('\n');
    for frame in server.frames(first.saturating_sub(1)) {
        if frame.number > last {
            break;
        }
        text.push_str(&frame.to_line());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_rust_hold_any_json() {
        assert_eq!(raw_literal("a"), "r#\"a\"#");
        assert_eq!(raw_literal("{\r\n\"a\u{2067}\": 1}"), "r#\"{\n\"a\\u2067\": 1}\"#");
        assert_eq!(raw_literal("a\"#b"), "r##\"a\"#b\"##");
    }

    #[test]
    fn tests_have_legal_names() {
        assert_eq!(test_name("save-note.2"), "save_note_2_answers_as_recorded");
        assert_eq!(test_name("2x"), "tool_2x_answers_as_recorded");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("https://example.com/mcp"), "https://example.com/mcp");
    }
}
