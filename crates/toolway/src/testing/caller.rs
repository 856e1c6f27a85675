//! How is a protected tool tested without tokens?

use crate::auth::Verified;
use crate::client::{Client, Connector, Target, Transport};
use crate::ground::extensions::Extensions;
use crate::ground::future::BoxFuture;
use crate::in_process::InProcessTransport;
use crate::server::Server;

/// Connects a client to a server in this process, as a caller whose token is valid and has these claims: JSON, or a
/// [`Verified`]. Scopes are checked as over HTTP.
///
/// ```
/// use serde_json::json;
/// use toolway::auth::{Auth, Claims};
/// use toolway::prelude::*;
/// use toolway::testing::connect_as;
///
/// #[derive(serde::Deserialize)]
/// struct User {
///     sub: String,
/// }
///
/// /// Save a note.
/// #[tool(scopes("notes:write"))]
/// fn put(user: Claims<User>, text: &str) -> String {
///     format!("{} saved {text:?}", user.sub)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let auth = Auth::resource("https://notes.example/mcp").issuer("https://id.example");
/// let server = Server::new("notes", "1.0.0").tools(tools![put]).auth(auth).build()?;
/// let ann = connect_as(&server, json!({"sub": "ann", "scope": "notes:write"})).await;
/// let saved = ann.call("put", json!({"text": "milk"})).await?;
/// assert_eq!(saved.first_text(), Some("ann saved \"milk\""));
/// let bob = connect_as(&server, json!({"sub": "bob"})).await;
/// let error = bob.call("put", json!({"text": "milk"})).await.unwrap_err();
/// assert_eq!(error.rpc().unwrap().message, "the token lacks one of the scopes `notes:write`");
/// # Ok(())
/// # }
/// ```
///
/// # Panics
///
/// Panics if the server refuses the client.
pub async fn connect_as(server: &Server, caller: impl Into<Verified>) -> Client {
    let target = Target::new(AttachedCaller { server: server.clone(), caller: caller.into() });
    match Client::builder().connect(target).await {
        Ok(client) => client,
        Err(error) => panic!("the server refuses the client: {error}"),
    }
}

/// A server in this process, which is called by a verified caller.
struct AttachedCaller {
    server: Server,
    caller: Verified,
}

impl Connector for AttachedCaller {
    fn connect(&self) -> BoxFuture<'_, crate::Result<Box<dyn Transport>>> {
        let extensions = Extensions::new().with(self.caller.clone());
        Box::pin(async {
            Ok(Box::new(InProcessTransport::new(&self.server, extensions).await) as Box<dyn Transport>)
        })
    }

    fn name(&self) -> String {
        format!("{} in this process", self.server.info().name)
    }
}
