//! How does a server answer single messages inside any host?

use std::sync::Arc;

use bytes::Bytes;
use toolway_protocol::jsonrpc::write_error;

use crate::ground::extensions::Extensions;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::pipe::conversation::Conversation;

impl Server {
    /// Answers one JSON-RPC message, for hosts with their own transport: a web framework, a queue, a cloud function.
    /// The server remembers nothing between calls, and cannot send notifications. A batch is refused, because without a
    /// session no revision with batches can be negotiated.
    ///
    /// [`max_message`](crate::server::ServerBuilder::max_message) limits the length of the message, and of the answer.
    ///
    /// `extensions` are values for the handlers of this request. Returns `None` if the message needs no response.
    ///
    /// [`on_connect`](crate::server::ServerBuilder::on_connect) does not run, because a single message has no
    /// connection. The host has to check the caller itself. A [`Principal`] among the extensions identifies the caller.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Extensions;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0").build()?;
    /// let answer = server.handle_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Extensions::new()).await;
    /// assert_eq!(answer.as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Extensions, Principal};
    ///
    /// /// Say who calls.
    /// #[tool]
    /// fn whoami(caller: Principal) -> String {
    ///     caller.to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0").tools(tools![whoami]).build()?;
    /// let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}"#;
    /// let answer = server.handle_json(call, Extensions::new().with(Principal::new("ann"))).await;
    /// assert!(answer.unwrap().contains("ann"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn handle_json(&self, text: impl Into<String>, extensions: Extensions) -> Option<String> {
        let conversation = Conversation::single_message(self.clone());
        let text = Bytes::from(text.into());
        let frame = match conversation.refuse_long(&text).and_then(|()| conversation.read_one(&text)) {
            Ok(message) => {
                let arrival = match self.attached_caller(&extensions) {
                    Ok(caller) => {
                        let principal = extensions.get::<Principal>().as_deref().cloned();
                        let verified = caller.as_ref().map(|caller| caller.principal().clone());
                        Box::new(Arrival {
                            extensions,
                            principal: principal.or(verified),
                            visibility: self.scoped_visibility(caller.as_ref()),
                            caller,
                            account: Some(self.common_account()),
                            ..Arrival::default()
                        })
                    }
                    Err(refuse) => {
                        let mut frame = Vec::new();
                        write_error(&mut frame, message.id(), &refuse.error());
                        return String::from_utf8(frame).ok();
                    }
                };
                Arc::new(conversation).serve(message, arrival).await?
            }
            Err(rejected) if !rejected.needs_reply() => return None,
            Err(rejected) => {
                let mut frame = Vec::new();
                write_error(&mut frame, rejected.id.as_ref(), &rejected.error);
                frame
            }
        };
        String::from_utf8(frame).ok()
    }
}
