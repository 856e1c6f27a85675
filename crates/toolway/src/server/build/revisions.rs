//! Which part of the protocol does a server serve? Every revision, with or without a handshake, and all capabilities,
//! unless its author leaves something out.

use toolway_protocol::Era;

use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::build::pin::ProtocolPin;

impl ServerBuilder {
    /// Answers `initialize` with this revision, whatever revision a client requests; a client that does not support it
    /// disconnects. `None` removes the pin: a client then gets the revision that it requests, or the newest revision
    /// with a handshake if the server does not know the requested one.
    ///
    /// The newest revision has no handshake and is served as well; [`eras`](Self::eras) turns it off. A text that does
    /// not name a revision is a mistake that [`build`](Self::build) reports, and so is a revision without a handshake.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Extensions;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0").protocol("2025-06-18").build()?;
    /// let open = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    ///     "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    /// let answer = server.handle_json(open, Extensions::new()).await.unwrap();
    /// assert!(answer.contains(r#""protocolVersion":"2025-06-18""#));
    ///
    /// assert!(Server::new("app", "1.0.0").protocol("soon").build().is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn protocol(mut self, version: impl Into<ProtocolPin>) -> Self {
        self.pin = version.into();
        self
    }

    /// Serves only these [eras](Era). Revisions up to 2025-11-25 start with a handshake; 2026-07-28 is stateless. A
    /// request of the other era gets the answer of a server that does not support that era.
    ///
    /// Without the stateless era, clients of the newest revision treat this as an older server and use the handshake.
    /// Without the handshake era, sessions and batches are not available, and the answer to `initialize` lists the
    /// supported revisions.
    ///
    /// ```
    /// use toolway::Era;
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").eras([Era::Stateless]).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn eras(mut self, eras: impl IntoIterator<Item = Era>) -> Self {
        self.eras = Some(eras.into_iter().collect());
        self
    }

    /// Leaves out the capability to subscribe to resources, and answers `resources/subscribe` as an unknown method. For
    /// servers whose resources never change, or that would not notice a change.
    ///
    /// Where the server cannot send notifications to a client ([`handle_json`](crate::server::Server::handle_json),
    /// HTTP without sessions), this applies automatically.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// The laws of nature.
    /// #[resource("nature://laws")]
    /// fn laws() -> &'static str {
    ///     "F = ma"
    /// }
    ///
    /// let server = Server::new("nature", "1.0.0").resources(resources![laws]).without_subscriptions().build()?;
    /// assert!(!server.capabilities().resources.unwrap().contains_key("subscribe"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn without_subscriptions(mut self) -> Self {
        self.omitted.subscriptions = true;
        self
    }

    /// Leaves out the capability to send log messages to clients: [`Ctx::log`](crate::server::Ctx::log) sends nothing,
    /// and `logging/setLevel` is an unknown method.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("quiet", "1.0.0").without_logging().build()?;
    /// assert!(server.capabilities().logging.is_none());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn without_logging(mut self) -> Self {
        self.omitted.logging = true;
        self
    }
}

impl Server {
    /// Returns whether an era is served.
    pub(crate) fn serves(&self, era: Era) -> bool {
        self.inner.era.is_none_or(|only| only == era)
    }
}
