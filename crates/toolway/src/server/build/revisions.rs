//! How much of the protocol does a server serve? Both eras, every revision and all that it could do, unless its author leaves
//! something out.

use toolway_protocol::Era;

use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::build::pin::ProtocolPin;

impl ServerBuilder {
    /// Answers `initialize` with this revision, whatever a client asks for; a client that does not speak it goes. `None` takes
    /// that back: then a client gets the revision it asks for, or else the newest one with a handshake.
    ///
    /// The newest revision opens with no handshake and is served beside it; [`eras`](Self::eras) switches it off. A text that
    /// names no revision is a mistake that [`build`](Self::build) tells, and so is a revision without handshake.
    ///
    /// ```
    /// use toolway::prelude::*;
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

    /// Serves these eras only. What belongs to the other one is answered as by a server that has never heard of it.
    ///
    /// Without the stateless era clients of the newest revision take this for an older server, and shake hands. Without
    /// the handshake there are no sessions and no batches, and whoever says `initialize` reads which revisions there are.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::Era;
    ///
    /// let server = Server::new("app", "1.0.0").eras([Era::Stateless]).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn eras(mut self, eras: impl IntoIterator<Item = Era>) -> Self {
        self.eras = Some(eras.into_iter().collect());
        self
    }

    /// Does not say that resources can be subscribed to, and answers `resources/subscribe` as a method that is not there. For
    /// servers whose resources never change, or that would not notice.
    ///
    /// Where there is no way to tell a client anything ([`handle_json`](crate::server::Server::handle_json), HTTP without sessions)
    /// that is so by itself.
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
        self.without.subscriptions = true;
        self
    }

    /// Does not say that it sends log messages to clients, and sends none: [`Ctx::log`](crate::server::Ctx::log) says nothing, and
    /// `logging/setLevel` is a method that is not there.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("quiet", "1.0.0").without_logging().build()?;
    /// assert!(server.capabilities().logging.is_none());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn without_logging(mut self) -> Self {
        self.without.logging = true;
        self
    }
}

impl Server {
    /// Whether an era is served.
    pub(crate) fn serves(&self, era: Era) -> bool {
        self.inner.era.is_none_or(|only| only == era)
    }
}
