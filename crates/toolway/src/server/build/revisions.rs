//! How much of the protocol does a server serve? Both eras, every revision and all that it could do, unless its author leaves
//! something out.

use toolway_protocol::{Era, ProtocolVersion};

use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

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

/// A revision to [pin](ServerBuilder::protocol): a [`ProtocolVersion`], its name, or `None` for none.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ProtocolPin;
///
/// let pins: [ProtocolPin; 3] = [ProtocolVersion::LATEST_HANDSHAKE.into(), "2025-03-26".into(), None.into()];
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProtocolPin(Option<Result<ProtocolVersion, String>>);

impl From<ProtocolVersion> for ProtocolPin {
    fn from(version: ProtocolVersion) -> Self {
        Self(Some(Ok(version)))
    }
}

impl From<Option<ProtocolVersion>> for ProtocolPin {
    fn from(version: Option<ProtocolVersion>) -> Self {
        Self(version.map(Ok))
    }
}

impl From<&str> for ProtocolPin {
    fn from(name: &str) -> Self {
        Self(Some(name.parse::<ProtocolVersion>().map_err(|error| error.to_string())))
    }
}

impl From<String> for ProtocolPin {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

/// What an author wants, as the doors need it: the only era, if there is only one, and the pinned revision.
pub(crate) fn settled(
    eras: Option<&[Era]>,
    pin: ProtocolPin,
    mistakes: &mut Vec<String>,
) -> (Option<Era>, Option<ProtocolVersion>) {
    let serves = |era| eras.is_none_or(|eras| eras.contains(&era));
    let only = match (serves(Era::Handshake), serves(Era::Stateless)) {
        (true, true) => None,
        (true, false) => Some(Era::Handshake),
        (false, true) => Some(Era::Stateless),
        (false, false) => {
            mistakes.push("`eras` is given none: a server serves at least one".to_owned());
            None
        }
    };
    let version = match pin.0 {
        None => None,
        Some(Ok(version)) if version.era() == Era::Stateless => {
            mistakes.push(format!(
                "`protocol` pins the revision of the handshake, and {version} has none: to serve only that one \
                 call `.eras([Era::Stateless])`"
            ));
            None
        }
        Some(Ok(version)) => {
            if only == Some(Era::Stateless) {
                mistakes.push(format!("`protocol` pins {version}, but `eras` leaves the handshake out"));
            }
            Some(version)
        }
        Some(Err(error)) => {
            mistakes.push(format!("`protocol`: {error}"));
            None
        }
    };
    (only, version)
}

impl Server {
    /// Whether an era is served.
    pub(crate) fn serves(&self, era: Era) -> bool {
        self.inner.era.is_none_or(|only| only == era)
    }
}
