//! Callers with tokens and plans: how they are authenticated, what they see, and when they are refused. `cargo run -p
//! toolway-examples --example users -- 127.0.0.1:8000`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::net::TcpListener;
use toolway::prelude::*;
use toolway::server::{Admit, ConnectRequest, Principal, Refuse};

/// The data of the application about a user.
#[derive(Clone, Copy)]
struct User {
    name: &'static str,
    plan: Plan,
}

#[derive(Clone, Copy)]
enum Plan {
    Free,
    Team,
    Blocked,
}

/// Users by their tokens. A real application keeps hashes of the tokens in a database.
struct Users(HashMap<&'static str, User>);

impl Users {
    fn example() -> Self {
        Self(HashMap::from([
            ("token-of-ann", User { name: "ann", plan: Plan::Team }),
            ("token-of-bob", User { name: "bob", plan: Plan::Free }),
            ("token-of-eve", User { name: "eve", plan: Plan::Blocked }),
        ]))
    }
}

/// The address at which clients learn how to get a token.
const METADATA: &str = "https://app.example/.well-known/oauth-protected-resource/mcp";

/// Authenticates every request over HTTP, and a pipe once.
async fn authenticate(connecting: ConnectRequest, users: State<Users>) -> Result<Admit, Refuse> {
    if connecting.is_pipe() {
        return Ok(Admit::as_principal("the owner of this machine"));
    }
    let token = connecting.bearer().ok_or_else(|| Refuse::unauthorized(METADATA))?;
    let unknown = || Refuse::unauthorized(METADATA).with_error("invalid_token", "this token is unknown");
    let user = users.0.get(token).ok_or_else(unknown)?;
    let admit = Admit::as_principal(user.name).with(*user);
    match user.plan {
        Plan::Team => Ok(admit),
        Plan::Free => Ok(admit.only_tools(["whoami", "save"]).only_templates(["note"]).only_prompts([""; 0])),
        Plan::Blocked => Err(Refuse::forbidden("please upgrade your plan")),
    }
}

/// Notes by their authors.
#[derive(Default)]
struct Notes(Mutex<Vec<(String, String)>>);

#[service]
impl Notes {
    /// Save a note of your own.
    #[tool]
    fn save(&self, #[arg(min_length = 1)] text: String, caller: Principal) -> String {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((caller.to_string(), text));
        format!("notes://{}", notes.len())
    }

    /// Delete the notes of all users.
    #[tool(destructive)]
    fn wipe(&self) -> usize {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).len()
    }

    /// A note. Notes of other users are not found: only the handler knows the owner of a note.
    #[resource("notes://{number}")]
    fn note(&self, number: usize, caller: Principal) -> Option<String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (author, text) = notes.get(number.checked_sub(1)?)?;
        (author == caller.as_str()).then(|| text.clone())
    }

    /// How many notes all users have.
    #[resource("statistics://{kind}")]
    fn statistics(&self, kind: String) -> Option<String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kind == "notes").then(|| notes.len().to_string())
    }

    /// Sum up what the team has written.
    #[prompt]
    fn summary(&self) -> String {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<_> = notes.iter().map(|(author, text)| format!("{author}: {text}")).collect();
        lines.join("\n")
    }
}

/// Say who calls, and from where.
#[tool(read_only)]
fn whoami(caller: Principal, ctx: &Ctx) -> String {
    match ctx.remote() {
        Some(remote) => format!("{caller} from {}", remote.ip()),
        None => caller.to_string(),
    }
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let server = Server::new("users", "1.0.0")
        .state(Users::example())
        .service(Notes::default())
        .tools(tools![whoami])
        .on_connect(authenticate)
        .build()?;
    match std::env::args().nth(1) {
        Some(address) => {
            let listener = TcpListener::bind(address).await?;
            eprintln!("listening on http://{}/mcp", listener.local_addr()?);
            server.http().serve(listener).await
        }
        None => server.serve_stdio().await,
    }
}
