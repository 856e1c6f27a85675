//! A web application that contains an MCP server: users and models see the same notes. `cargo run -p toolway-examples
//! --example axum_app -- 127.0.0.1:8000`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, Response};
use axum::routing::get;
use serde::Serialize;
use tokio::net::TcpListener;
use toolway::prelude::*;
use toolway::server::http::{RemoteAddr, shutdown_signal};
use toolway::server::{Admit, ConnectRequest, Extension, Principal, Refuse};

/// The data of the application. Clones share the same notes.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

#[derive(Clone, Serialize)]
struct Note {
    author: String,
    text: String,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Vec<Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// The pages for users.

async fn front_page(Shared(notes): Shared<Notes>) -> Html<String> {
    Html(format!("<h1>{} notes</h1>", notes.lock().len()))
}

async fn list_notes(Shared(notes): Shared<Notes>) -> axum::Json<Vec<Note>> {
    axum::Json(notes.lock().clone())
}

// The tools and resources for models.

#[service]
impl Notes {
    /// Save a note.
    #[tool]
    fn save(&self, #[arg(min_length = 1)] text: String, caller: Principal, ctx: &Ctx) -> String {
        self.lock().push(Note { author: caller.as_str().to_owned(), text });
        ctx.server().resource_updated("notes://all");
        format!("saved for {caller}")
    }

    /// All notes, a line each.
    #[resource(uri = "notes://all", mime = "text/plain")]
    fn all(&self) -> String {
        let lines: Vec<_> =
            self.lock().iter().map(|note| format!("{}: {}", note.author, note.text)).collect();
        lines.join("\n")
    }
}

/// Say who calls, and from where.
#[tool(read_only)]
fn whoami(caller: Principal, address: Extension<SocketAddr>) -> String {
    format!("{caller} at {}", address.ip())
}

/// Authenticates every request to `/mcp`.
async fn authenticate(connecting: ConnectRequest) -> Result<Admit, Refuse> {
    // A real application would query its database here.
    let name = match connecting.bearer() {
        Some("token-of-ann") => "ann",
        Some("token-of-bob") => "bob",
        // Clients learn at this address where to get a token.
        _ => {
            return Err(Refuse::unauthorized(
                "https://notes.example/.well-known/oauth-protected-resource/mcp",
            ));
        }
    };
    let address = connecting.remote().ok_or_else(|| Refuse::forbidden("where do you come from?"))?;
    Ok(Admit::as_principal(name).with(address))
}

/// Passes the client's address from axum to the MCP server, which counts sessions by address.
async fn pass_on_address(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(RemoteAddr(address));
    next.run(request).await
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let notes = Notes::default();
    let mcp = Server::new("notes", "1.0.0")
        .service(notes.clone())
        .tools(tools![whoami])
        .on_connect(authenticate)
        .http()?
        // The host name of the application, and the origins of web pages that may call it.
        .hosts(["notes.example"])
        .origins(["https://notes.example"]);
    let app = Router::new()
        .route("/", get(front_page))
        .route("/api/notes", get(list_notes))
        .route_service("/mcp", mcp.clone())
        .route_service("/health", mcp.health())
        .route_service("/ready", mcp.health())
        .layer(from_fn(pass_on_address))
        .with_state(notes);

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async move {
            shutdown_signal().await;
            mcp.announce_stop().await;
            // axum waits for every connection, and a stream of notifications would never end by itself.
            mcp.stop().await;
        })
        .await?;
    Ok(())
}
