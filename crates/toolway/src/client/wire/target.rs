//! Where is a server, and how is it reached?

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::record::Recorder;
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// Opens transports to one server. A client that loses its connection asks for another transport.
pub trait Connector: Any + Send + Sync {
    /// Opens a transport. Sends nothing to the server yet.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>>;

    /// The name of the server, for display, such as a URL or a command line. It must not contain secrets.
    fn name(&self) -> String;

    /// Returns whether `connect` can be called again after a transport was lost.
    fn can_reconnect(&self) -> bool {
        true
    }

    /// Returns for how long connections to this server have waited for a user so far, such as one who signs in. This time
    /// does not count as time for connecting.
    fn user_time(&self) -> Duration {
        Duration::ZERO
    }

    /// Names the extensions of the protocol that the client uses with this server, such as a way to sign in. The client
    /// declares them.
    fn extensions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the same server, with a recorder that gets all frames of its connections. `None` if they cannot be
    /// recorded: then a client with a recorder does not connect.
    fn recorded(&self, recorder: &Recorder) -> Option<Target> {
        let _ = recorder;
        None
    }

    /// The key of this server in an [`EraCache`](crate::client::EraCache); `None` if the era of the server is not to be
    /// remembered. The key is never shown, so it may contain secrets.
    fn cache_key(&self) -> Option<String> {
        self.can_reconnect().then(|| self.name())
    }
}

/// The location of a server.
#[derive(Clone)]
pub struct Target(Arc<dyn Connector>);

impl Target {
    /// Creates the location of the server that `connector` connects to.
    pub fn new(connector: impl Connector) -> Self {
        Self(Arc::new(connector))
    }

    pub(crate) fn connector(&self) -> &dyn Connector {
        &*self.0
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.0.name()).finish()
    }
}

/// Types that can be converted into the location of a server.
pub trait IntoTarget {
    /// Converts the value into a location.
    ///
    /// # Errors
    ///
    /// When the value cannot be understood as a location.
    fn into_target(self) -> Result<Target>;
}

impl IntoTarget for Target {
    fn into_target(self) -> Result<Target> {
        Ok(self)
    }
}

/// A transport can be used only once: a client that loses it cannot reconnect.
impl<T: Transport> IntoTarget for T {
    fn into_target(self) -> Result<Target> {
        let transport: Box<dyn Transport> = Box::new(self);
        transport.into_target()
    }
}

/// A transport that a [`Connector`] has opened.
impl IntoTarget for Box<dyn Transport> {
    fn into_target(self) -> Result<Target> {
        Ok(Target::new(OneTimeConnector(Mutex::new(Some(self)))))
    }
}

struct OneTimeConnector(Mutex<Option<Box<dyn Transport>>>);

impl Connector for OneTimeConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        let transport = self.0.lock().take();
        Box::pin(std::future::ready(transport.ok_or_else(|| {
            Error::new(ErrorKind::Transport, "the transport is closed, and cannot be opened again").unsent()
        })))
    }

    fn name(&self) -> String {
        "a transport of the application".to_owned()
    }

    fn can_reconnect(&self) -> bool {
        false
    }
}
