//! Does `docs/troubleshooting.md` contain every error, and only errors that exist?
//!
//! The rule: every sentence of the sources (defined in `sources.rs`) is part of an error on the page, unless it is
//! listed here as not an error; and every word of an error on the page is in the sources. So neither can change without
//! the other. `provoked.rs` causes errors and looks them up, as a user would.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod page;
mod places;
mod provoked;
mod sources;

use places::places;
use sources::is_sentence;

#[test]
fn every_error_of_the_sources_is_on_the_page() {
    let page = page::messages();
    let mut missing = Vec::new();
    for (literal, files) in sources::literals() {
        let is_silent = files.iter().all(|file| NO_ERRORS_IN.iter().any(|(path, _)| file.starts_with(path)))
            || NO_ERRORS.iter().any(|(text, _)| is(text, &literal));
        if is_sentence(&literal)
            && !is_silent
            && !page.iter().any(|message| places(&literal, message).is_some())
        {
            missing.push(format!("{literal}\n    in {}", files.join(", ")));
        }
    }
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md lacks errors ({}). Say what happened, why, and what to do; or list them in NO_ERRORS if \
         they are none:\n{}",
        missing.len(),
        missing.join("\n")
    );
}

#[test]
fn every_error_of_the_page_is_said_by_the_sources() {
    let (literals, messages) = (sources::literals(), page::messages());
    let page = messages.join("\n");
    let said_here =
        literals.keys().filter(|literal| literal.split('…').all(|part| page.contains(part.trim())));
    let literals: Vec<_> = said_here.collect();
    let mut untrue = Vec::new();
    for message in messages {
        let mut said = vec![false; message.len()];
        for place in literals.iter().filter_map(|literal| places(literal, &message)).flatten() {
            said[place].fill(true);
        }
        let unsaid: String = message
            .char_indices()
            .map(|(at, letter)| if said[at] || !letter.is_alphanumeric() { ' ' } else { letter })
            .collect();
        if !unsaid.trim().is_empty() {
            untrue.push(format!(
                "{message}\n    nobody says: {}",
                unsaid.split_whitespace().collect::<Vec<_>>().join(" ")
            ));
        }
    }
    assert!(
        untrue.is_empty(),
        "docs/troubleshooting.md has errors that do not exist:\n{}",
        untrue.join("\n")
    );
}

#[test]
fn no_error_stands_on_the_page_twice() {
    let mut messages = page::messages();
    messages.sort();
    let twice: Vec<_> = messages.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn what_is_listed_as_no_error_is_said() {
    let literals = sources::literals();
    let stale: Vec<_> =
        NO_ERRORS.iter().filter(|(text, _)| !literals.keys().any(|literal| is(text, literal))).collect();
    assert!(stale.is_empty(), "nobody says this any more: {stale:#?}");
    let files: Vec<_> = literals.values().flatten().collect();
    let stale: Vec<_> =
        NO_ERRORS_IN.iter().filter(|(path, _)| !files.iter().any(|file| file.starts_with(path))).collect();
    assert!(stale.is_empty(), "there are no such files any more: {stale:#?}");
}

/// Returns whether a literal equals the listed text, or begins with it.
fn is(listed: &str, literal: &str) -> bool {
    listed == literal || listed.strip_suffix('…').is_some_and(|begin| literal.starts_with(begin))
}

/// Files without errors, and what their sentences are instead.
const NO_ERRORS_IN: [(&str, &str); 19] = [
    ("toolway/src/ground/budget.rs", "parts of warnings, which name the setting; limits.md explains them"),
    ("toolway-schema/src/dialects/", "what a provider's schema cannot say: reports of losses, no errors"),
    ("toolway/src/agent/render.rs", "reports of losses"),
    ("toolway/src/agent/answer.rs", "what stands for content that a model cannot be shown"),
    ("toolway/src/testing", "what tests panic with, and what the issuer of tests replies"),
    ("toolway/src/transport/sse.rs", "the wire"),
    ("toolway/src/server/observe/otel.rs", "names of measurements"),
    ("toolway/src/server/catalog/named.rs", "what the compiler says"),
    ("toolway/src/server/handler/diagnose.rs", "what the compiler says"),
    ("toolway-cli/src/demo.rs", "the demo's own words"),
    ("toolway-cli/src/doctor/settings.rs", "how things are set"),
    ("toolway-cli/src/inspect/page.rs", "the page's media types and policy"),
    ("toolway-cli/src/inspect/request_members.rs", "what is wrong with a request that the page did not send"),
    ("toolway-cli/src/inspect/changes.rs", "the words about a change"),
    ("toolway-cli/src/inspect/recording.rs", "how a recording is described"),
    ("toolway-cli/src/show.rs", "what results look like"),
    ("toolway-cli/src/sign_in/user.rs", "what a person is shown and asked"),
    ("toolway-cli/src/sign_in/status.rs", "how a login is described"),
    ("toolway-cli/src/doctor/sign_in.rs", "steps of a report"),
];

/// Sentences that are not errors, and what they are; `…` at the end stands for any end.
const NO_ERRORS: [(&str, &str); 178] = [
    ("1 event", "what the inspector will do"),
    (
        "the program was ended; calls that ran have failed, and what the program kept in memory is lost",
        "what a cut of the inspector means",
    ),
    (
        "the session goes on, and streams are resumed after their last event if the server keeps events",
        "what a cut of the inspector means",
    ),
    ("this era cannot resume a reply, so calls that ran have failed", "what a cut of the inspector means"),
    ("POST, GET, DELETE", "a header"),
    ("Passing messages on to … at http://…/mcp; end with Ctrl-C.", "what the proxy says when it starts"),
    ("id: …-… data:", "the wire"),
    ("id: …-… retry: … data:", "the wire"),
    ("--bearer \"$TOKEN\"", "a part of an exported command"),
    ("-D - -o /dev/null", "a part of an exported command"),
    ("\\ --data-raw …", "a part of an exported command"),
    ("\\ -H \"mcp-session-id: $session\"", "a part of an exported command"),
    ("session=$(…", "a part of an exported command"),
    ("sed -n 's/…", "a part of an exported command"),
    ("use toolway::client::Command;", "a part of an exported test"),
    ("// [dev-dependencies]…", "an exported test"),
    ("GET and POST", "the methods of a path"),
    ("The inspector opens in your browser:", "says where the inspector is"),
    ("Open the inspector in a browser of this machine:", "says where the inspector is"),
    (
        "No browser could be opened. Open the inspector in a browser of this machine:",
        "says where the inspector is",
    ),
    (
        "… … The link works once, within 60 seconds; Enter shows a new one. End with Ctrl-C.",
        "says how the link of the inspector is used",
    ),
    ("add `.bearer(…", "a note of an exported test"),
    ("add `.env(…", "a note of an exported test"),
    ("replace `server()` by the function that makes your server", "a note of an exported test"),
    ("put your secrets in the places of …", "a note of an exported command"),
    ("set the variables of --env before you run this", "a note of an exported command"),
    ("the connection was cut…", "what the inspector has done"),
    ("the connection will be cut after …", "what the inspector will do"),
    ("the kept answer does not fit the question, so the question is shown", "a note of the inspector"),
    ("…: U+… at character …", "where a character is that is not visible"),
    ("toolway proxy: …", "how a line about a server that ended begins"),
    ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"…", "a message of the proxy"),
    (
        "… bytes are left out: a recording holds at most … of one message",
        "what a recording says in place of content",
    ),
    ("an event of more than … bytes is left out", "what a recording says in place of content"),
    (
        "the rest of the stream is left out: it has an event of more than … bytes",
        "what a recording says in place of content",
    ),
    ("a reply of … bytes is left out", "what a recording says in place of content"),
    ("a line of more than … bytes is left out", "what a recording says in place of content"),
    ("GET, HEAD, OPTIONS", "a header"),
    ("public, max-age=300", "a header"),
    ("the proxy … connects to it", "a step of a report"),
    ("the proxy … finds the host", "a step of a report"),
    ("authorization required", "a part of an error of hyper"),
    ("To sign in, open … and enter the code …", "what a person is shown and asked"),
    ("You are signed out of ….…", "the outcome of a command"),
    ("You were not signed in to …: nothing was done.", "the outcome of a command"),
    ("… did not ask to sign in: it can be used as it is.", "the outcome of a command"),
    ("name it with --issuer URL", "an option of the command, in place of a method"),
    ("with `toolway login TARGET --client-id ID`", "a command, in place of a method"),
    ("toolway login …", "a command to type"),
    ("HTTP/1.1 … content-type: text/html…", "the page that the browser shows after a login"),
    ("<!doctype html>…", "the page that the browser shows after a login"),
    ("200 OK", "the status of that page"),
    ("400 Bad Request", "the status of that page"),
    ("404 Not Found", "the status of that page"),
    ("-----BEGIN PRIVATE KEY-----", "how a key begins"),
    ("-----END PRIVATE KEY-----", "how a key ends"),
    ("Basic …", "a header"),
    ("client credentials", "a part of `Debug`"),
    ("a step on it was given up", "why a connection to Redis was closed, in the log"),
    ("HTTP/1.1 503 Service Unavailable…", "the reply to a connection beyond the limit"),
    (", expected", "a part of an error of `serde`"),
    ("…, expected …", "an error of `serde`"),
    ("invalid value: integer `", "a part of an error of `serde`"),
    ("size limit", "a part of an error of the regex engine"),
    ("$schema $id …", "keywords"),
    ("a list of names", "what a keyword must be"),
    ("a list of schemas", "what a keyword must be"),
    ("lists of names", "what a keyword must be"),
    ("a JSON type", "what a keyword must be"),
    ("a name in it is not a regular expression", "why a provider's schema loses something"),
    ("it is neither an object nor a boolean", "why a provider's schema loses something"),
    ("it is not a JSON Schema keyword that models know", "why a provider's schema loses something"),
    ("it is not a regular expression", "why a provider's schema loses something"),
    (
        "the reference has no target in the schema, and other documents are not fetched",
        "why a provider's schema loses something",
    ),
    ("its value has the wrong type", "why a provider's schema loses something"),
    ("[OPTIONS]…", "how commands are written"),
    ("described wrongly", "where a server is that is switched off"),
    ("Another server `…` is in …; --config … selects it.", "what a person is shown and asked"),
    ("Arguments of the …", "how commands are written"),
    ("Exit codes…", "how commands are written"),
    ("NAME and ARGUMENT name…", "how commands are written"),
    ("TARGET is one of…", "how commands are written"),
    ("Where the server is", "how commands are written"),
    ("Run and inspect…", "how commands are written"),
    ("(Enter accepts the…", "what a person is shown and asked"),
    ("Do you agree?…", "what a person is shown and asked"),
    ("If you trust it…", "what a person is shown and asked"),
    ("It is at …", "what a person is shown and asked"),
    ("Send it?…", "what a person is shown and asked"),
    ("It wants you to open this page: …", "what a person is shown and asked"),
    ("…Use it? (y: until it changes, o: only this once, N: no)", "what a person is shown and asked"),
    ("…. Using it would:", "what a person is shown and asked"),
    ("… (not found)", "what a person is shown and asked"),
    ("…, which sets: …", "what a person is shown and asked"),
    ("env file", "what a person is shown and asked"),
    ("It would get the variable … of your environment.", "what a person is shown and asked"),
    ("It would get the variables … of your environment.", "what a person is shown and asked"),
    (
        "CAREFUL: … can load other code into the program, or change what it runs.",
        "what a person is shown and asked",
    ),
    ("You have not agreed to use any server of a project.", "the list of agreements"),
    ("revoked … in …", "the list of agreements"),
    ("toolway trust 1", "a part of a digest"),
    ("URI, such as…", "what a person is shown and asked"),
    ("date and time, such…", "what a person is shown and asked"),
    ("date, such as…", "what a person is shown and asked"),
    ("one of these", "what a person is shown and asked"),
    ("separated by commas", "what a person is shown and asked"),
    ("some of these…", "what a person is shown and asked"),
    ("up to …", "what a person is shown and asked"),
    ("Call a tool from…", "what a command says that worked"),
    ("Serving … …", "what a command says that worked"),
    ("The server offers…", "what a command says that worked"),
    ("Showing …", "what a command says that worked"),
    ("To use it from…", "what a command says that worked"),
    ("curl -s…", "what a command says that worked"),
    ("Resource templates", "what a command says that worked"),
    ("resource templates", "what a command says that worked"),
    ("the demo", "what a command says that worked"),
    ("the files of…", "what a command says that worked"),
    ("the tools", "what a command says that worked"),
    ("bytes of unknown kind", "what a command says that worked"),
    ("wrote … bytes to…", "what a command says that worked"),
    ("All is well.", "what `doctor` says of what is well"),
    ("It works; the lines…", "what `doctor` says of what is well"),
    ("connected to…", "what `doctor` says of what is well"),
    ("instructions for models…", "what `doctor` says of what is well"),
    ("the server answers", "what `doctor` says of what is well"),
    ("no instructions for…", "what `doctor` says of what is well"),
    ("none declared", "what `doctor` says of what is well"),
    ("the URL begins with…", "what `doctor` says of what is well"),
    ("the certificate is trusted", "what `doctor` says of what is well"),
    ("the host is an IP address", "what `doctor` says of what is well"),
    ("the server supports no revision with sessions", "what `doctor` says of what is well"),
    ("… requests over … connections belong to one session", "what `doctor` says of what is well"),
    ("…, host …", "what `doctor` says of what is well"),
    ("Files of one directory…", "the instructions of a server"),
    ("GET, POST…", "headers and other texts of the wire"),
    ("GET, HEAD", "a header"),
    ("retry: …", "a field of an event stream"),
    ("PRI * HTTP/2.0…", "headers and other texts of the wire"),
    ("application/json, text…", "headers and other texts of the wire"),
    ("event: endpoint…", "headers and other texts of the wire"),
    ("no-cache, no-transform", "headers and other texts of the wire"),
    ("text/plain; charset…", "headers and other texts of the wire"),
    ("non local key", "a part of an error of Redis"),
    ("running script", "a part of an error of Redis"),
    ("cluster support disabled", "a part of an error of Redis"),
    ("caused by: …", "what stands before a cause"),
    ("at line", "where in a text serde found something"),
    ("Library/Application Support", "names of things"),
    ("a transport of the…", "names of things"),
    ("layer around", "names of things"),
    ("loopback and…", "names of things"),
    ("… in this process", "names of things"),
    ("the array", "names of things"),
    ("the boolean", "names of things"),
    ("the number", "names of things"),
    ("the object", "names of things"),
    ("the string", "names of things"),
    ("--header or --bearer", "what is said to programmers, in words of the command"),
    ("add it to the file", "what is said to programmers, in words of the command"),
    (", default …", "what a person is shown and asked"),
    (", optional", "what a person is shown and asked"),
    (", required", "what a person is shown and asked"),
    (": alive", "headers and other texts of the wire"),
    ("Bearer …", "headers and other texts of the wire"),
    ("[audio, …]", "what stands for content that cannot be shown"),
    ("a service", "names of things"),
    ("a source", "names of things"),
    ("a claim", "names of things"),
    ("member `", "names of things"),
    ("capabilities: …", "what `doctor` says of what is well"),
    ("… (…), and … (…)", "what `doctor` says of what is well"),
    ("… ms", "what `doctor` says of what is well"),
    ("progress: …", "what a command says that worked"),
    ("serving … at …", "what a server says that is served"),
    ("1 tool", "what a server says that is served"),
    ("… tools", "what a server says that is served"),
    ("and those of mounted servers", "what a server says that is served"),
];
