//! Does our client work with servers on other SDKs?
//!
//! `interop SUITE TRANSPORT COLUMNS COMMAND…` starts a server, runs the checks of its suite for each of the columns and
//! prints one line per check on standard output, in the format that `xtask/src/interop/table.rs` reads. It exits with 1
//! when a check failed. If the variable `INTEROP_LOG` is set, the client logs to standard error.
//!
//! | file | question |
//! |---|---|
//! | `check.rs` | How does a check end, and how is the result printed? |
//! | `era.rs` | Which era is used with a server, and by which program? |
//! | `server.rs` | How is a server started, killed and restarted? |
//! | `talk.rs` | How does the client answer questions, and which messages has it received? |
//! | `everything.rs` | Does our client work with `server-everything`? |
//! | `filesystem.rs` | Does our client work with `server-filesystem`? |
//! | `sdk/` | Does our client work with servers on other SDKs? |
//! | `schemas.rs` | Can the tools of a server be given to a model of each provider? |
//! | `ending.rs` | Does the client recover when the server is killed, and does no process remain at the end? |
//! | `toolway.rs` | Does the command `toolway` work with real servers? |
//! | `auth.rs` | Does our client sign in to servers on other SDKs, with a real identity provider? |
//! | `notes.rs` | What is the protected server that clients on other SDKs sign in to? |
//! | `signs_in.rs` | Does our client sign in to our protected server? |
//! | `provider.rs` | Does a second identity provider work, with our client and our protected server? |
//! | `browser.rs` | How does a user sign in where there is no screen? |
//! | `hub.rs` | Do four real servers work as one, also while one of them is killed? |

#![expect(clippy::print_stdout, reason = "standard output is where xtask reads the checks")]

mod auth;
mod browser;
mod check;
mod ending;
mod era;
mod everything;
mod filesystem;
mod hub;
mod notes;
mod provider;
mod schemas;
mod sdk;
mod server;
mod signs_in;
mod talk;
mod toolway;

use std::process::ExitCode;
use std::time::Duration;

use check::{Checked, Report, Unmet};
use era::{By, Era};
use notes::Trust;
use sdk::{Replies, Sdk};
use server::{Server, Transport};
use talk::Talk;
use tokio::task::JoinSet;
use tracing_subscriber::filter::LevelFilter;

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::var_os("INTEROP_LOG").is_some() {
        tracing_subscriber::fmt().with_max_level(LevelFilter::DEBUG).with_writer(std::io::stderr).init();
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let played = match words.as_slice() {
        [suite, column, servers @ ..] if suite == "hub" => play_hub(column, servers).await,
        [suite, eras, url, life, issuer @ ..] if suite == "auth" => {
            play_auth(Direction::Out, eras, url, life, issuer.first()).await
        }
        [suite, eras, url, life, issuer] if suite == "notes" => {
            play_auth(Direction::In, eras, url, life, Some(issuer)).await
        }
        [suite, eras, url, life] if suite == "bound" => {
            play_auth(Direction::Bound, eras, url, life, None).await
        }
        [suite, eras, trust, url, issuer] if suite == "provider" => {
            play_provider(eras, trust, url, issuer).await
        }
        [word, port, issuer] if word == "serve-notes" => serve_notes(port, issuer, "resource").await,
        [word, port, issuer, trust] if word == "serve-notes" => serve_notes(port, issuer, trust).await,
        [word, page] if word == "open" => print(browser::open(page).await.map(|()| String::new())),
        [word, page] if word == "sign-in" => print(browser::sign_in(page).await),
        [word, issuer, resource] if word == "token" => print(browser::token(issuer, resource).await),
        [suite, transport, eras, command @ ..] => play(suite, transport, eras, command).await,
        _ => Err(USAGE.to_owned()),
    };
    match played {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("interop: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the checks of one server. Returns whether all passed.
async fn play(suite: &str, transport: &str, eras: &str, command: &[String]) -> Result<bool, String> {
    let suite = Suite::named(suite)?;
    let eras = eras.split(',').map(Era::read).collect::<Result<Vec<_>, _>>()?;
    let mut server = Server::start(Transport::named(transport)?, command).await?;
    let mut passed = true;
    for era in eras {
        let mut report = Report::new(era);
        match era.by() {
            By::Client => suite.play(era, &mut server, &mut report).await,
            By::Toolway => toolway::play(suite, era, &server, &mut report).await,
        }
        passed &= report.passed();
    }
    Ok(passed)
}

/// Runs the checks of a hub of four servers. Returns whether all passed.
async fn play_hub(column: &str, words: &[String]) -> Result<bool, String> {
    let mut servers = Vec::new();
    for words in words.split(|word| word == "--").filter(|words| !words.is_empty()) {
        servers.push(Server::start(Transport::named(&words[0])?, &words[1..]).await?);
    }
    let servers = servers.try_into().map_err(|_| format!("a hub has four servers\n{USAGE}"))?;
    let mut report = Report::new(column);
    hub::play(servers, &mut report).await;
    Ok(report.passed())
}

/// The protected servers to which our client signs in.
#[derive(Clone, Copy, Debug)]
enum Direction {
    /// Those on other SDKs.
    Out,
    /// Our own.
    In,
    /// Our own, for a client that is known by its document and has tokens that are bound to a key.
    Bound,
}

/// Runs the checks of a protected server, in all eras at once, because most of the time they wait until a token expires.
/// Returns whether all passed.
async fn play_auth(
    direction: Direction,
    eras: &str,
    url: &str,
    life: &str,
    issuer: Option<&String>,
) -> Result<bool, String> {
    let life = life.parse().map_err(|_| format!("`{life}` is not a number of seconds\n{USAGE}"))?;
    let (url, life, issuer) = (url.to_owned(), Duration::from_secs(life), issuer.cloned());
    let server = auth::Protected { url, life, issuer };
    let mut tasks = JoinSet::new();
    for era in eras.split(',').map(Era::read) {
        let (era, server) = (era?, server.clone());
        let mut report = Report::new(era);
        // One after the other: the table has the eras in the order of their first lines.
        match direction {
            Direction::Out => auth::play_refusal(&server, era, &mut report).await,
            Direction::In => signs_in::play_refusal(&server, era, &mut report).await,
            Direction::Bound => {}
        }
        tasks.spawn(async move {
            match direction {
                Direction::Out => auth::play(&server, era, &mut report).await,
                Direction::In => signs_in::play(&server, era, &mut report).await,
                Direction::Bound => signs_in::play_bound(&server, era, &mut report).await,
            }
            report.passed()
        });
    }
    Ok(tasks.join_all().await.into_iter().all(|passed| passed))
}

/// Runs the checks of our protected server with the second identity provider, in all eras at once. Returns whether all
/// passed.
async fn play_provider(eras: &str, trust: &str, url: &str, issuer: &str) -> Result<bool, String> {
    let trust = Trust::named(trust)?;
    let server = provider::Provided { url: url.to_owned(), issuer: issuer.to_owned(), trust };
    let mut tasks = JoinSet::new();
    for era in eras.split(',').map(Era::read) {
        let (era, server) = (era?, server.clone());
        let mut report = Report::new(era);
        // One after the other: the table has the eras in the order of their first lines.
        provider::play_refusal(&server, era, &mut report).await;
        tasks.spawn(async move {
            provider::play(&server, era, &mut report).await;
            report.passed()
        });
    }
    Ok(tasks.join_all().await.into_iter().all(|passed| passed))
}

/// Serves our protected server. Ends only with an error or a signal.
async fn serve_notes(port: &str, issuer: &str, trust: &str) -> Result<bool, String> {
    let port = port.parse().map_err(|_| format!("`{port}` is not a port\n{USAGE}"))?;
    notes::serve(port, issuer, Trust::named(trust)?).await.map_err(|error| Unmet::from(error).to_string())?;
    Ok(true)
}

/// Prints what the scripts of clients ask the browser for.
fn print(said: Checked<String>) -> Result<bool, String> {
    println!("{}", said.map_err(|why| why.to_string())?);
    Ok(true)
}

/// The checks of one server.
#[derive(Clone, Copy, Debug)]
enum Suite {
    Everything,
    Filesystem,
    Sdk(Sdk),
}

impl Suite {
    fn named(name: &str) -> Result<Self, String> {
        match name {
            "everything" => Ok(Self::Everything),
            "filesystem" => Ok(Self::Filesystem),
            "typescript" => Ok(Self::Sdk(Sdk::TypeScript)),
            "typescript-v1" => Ok(Self::Sdk(Sdk::TypeScriptV1)),
            "python" => Ok(Self::Sdk(Sdk::Python)),
            "python-v1" => Ok(Self::Sdk(Sdk::PythonV1(Replies::Events))),
            "python-v1-json" => Ok(Self::Sdk(Sdk::PythonV1(Replies::Json))),
            "python-v1-stateless" => Ok(Self::Sdk(Sdk::PythonV1(Replies::Stateless))),
            "fastmcp" => Ok(Self::Sdk(Sdk::FastMcp)),
            "fastmcp-v2" | "fastmcp-v3" => Ok(Self::Sdk(Sdk::FastMcpV2)),
            other => Err(format!("there is no suite `{other}`\n{USAGE}")),
        }
    }

    async fn play(self, era: Era, server: &mut Server, report: &mut Report) {
        let mut talk = None;
        let connect = async {
            let connected = Talk::open(server, era).await?;
            let version = connected.client.protocol_version();
            talk = Some(connected);
            check::same(&version, &era.version())
        };
        let outcome = check::in_time(connect).await;
        report.tell("info", "connects, and speaks the revision", outcome);
        // Without a connection there is nothing to check.
        let Some(talk) = talk else { return };
        match self {
            Self::Everything => everything::play(&talk, report).await,
            Self::Filesystem => filesystem::play(&talk, server, report).await,
            Self::Sdk(sdk) => sdk::play(sdk, &talk, report).await,
        }
        schemas::play(talk.client.as_tools().await.map_err(Into::into), report);
        match self {
            Self::Everything | Self::Filesystem => ending::idle(&talk, server, report).await,
            Self::Sdk(_) => ending::busy(&talk, server, report).await,
        }
        ending::close(talk, server, report).await;
    }
}

const USAGE: &str = "usage: interop SUITE TRANSPORT COLUMN[,COLUMN…] COMMAND…
       interop hub COLUMN -- TRANSPORT COMMAND… -- TRANSPORT COMMAND… -- …
       interop auth COLUMN[,COLUMN…] URL LIFE [ISSUER]
       interop notes COLUMN[,COLUMN…] URL AGE ISSUER
       interop bound COLUMN[,COLUMN…] URL AGE
       interop provider COLUMN[,COLUMN…] TRUST URL ISSUER
       interop serve-notes PORT ISSUER [TRUST]
       interop open PAGE
       interop sign-in PAGE
       interop token ISSUER RESOURCE
  SUITE      everything, filesystem, typescript[-v1], python, python-v1[-json|-stateless], fastmcp[-v2|-v3]
  TRANSPORT  stdio, http or sse; over HTTP the server listens on 127.0.0.1, on the port that the variable PORT names. Where a proxy
             stands before it, INTEROP_PORT is that port and INTEROP_PROXY the proxy's; otherwise it is a free one
  COLUMN     `auto REVISION`, `handshake REVISION` or `stateless REVISION`; the command toolway instead of the client:
             `toolway REVISION`, or `toolway-pinned REVISION`
  COMMAND    {folder} stands for an empty folder
  URL        a protected server that is running; its tokens live LIFE seconds. ISSUER makes tokens for programs
  notes      our client with our protected server, which `serve-notes` is; AGE seconds after a token was made it has been renewed
  bound      the same for a client that is known by its document, with tokens that are bound to a key
  provider   the same with `idp_canaille.py` as ISSUER; TRUST is `groups` or `introspection`
  TRUST      how the server finds out that a token is for it: `resource`, `groups` or `introspection`; `notes.rs` says more
  open       signs in at PAGE, as a user with a browser does. `sign-in` only prints the URL at which the client waits
  token      prints a token of `idp.mjs` for a program";
