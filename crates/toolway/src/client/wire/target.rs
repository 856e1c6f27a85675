//! Where is a server, and how does one get there?

use std::fmt;
use std::sync::Arc;

use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// Opens the way to one server, as often as it takes: a client that loses its connection asks for another one.
pub trait Connector: Send + Sync + 'static {
    /// Opens the way. Nothing is said to the server yet.
    fn reach(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>>;

    /// Where that is, in words for a person and without secrets: a URL, a command line.
    fn name(&self) -> String;

    /// Whether the way can be opened more than once.
    fn is_lasting(&self) -> bool {
        true
    }

    /// What tells this server from all others, for what is [remembered](crate::client::EraCache) of it; nothing, if nothing is to be. It is
    /// shown to nobody.
    fn key(&self) -> Option<String> {
        self.is_lasting().then(|| self.name())
    }
}

/// Where a server is.
#[derive(Clone)]
pub struct Target(Arc<dyn Connector>);

impl Target {
    /// A server that `connector` finds.
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

/// What can say where a server is.
pub trait IntoTarget {
    /// Where it is.
    ///
    /// # Errors
    ///
    /// When it says nothing that can be understood.
    fn into_target(self) -> Result<Target>;
}

impl IntoTarget for Target {
    fn into_target(self) -> Result<Target> {
        Ok(self)
    }
}

/// A transport is a way that can be gone once: a client that loses it has lost its server.
impl<T: Transport> IntoTarget for T {
    fn into_target(self) -> Result<Target> {
        let transport: Box<dyn Transport> = Box::new(self);
        transport.into_target()
    }
}

/// What a [`Connector`] has reached.
impl IntoTarget for Box<dyn Transport> {
    fn into_target(self) -> Result<Target> {
        Ok(Target::new(Once(Mutex::new(Some(self)))))
    }
}

struct Once(Mutex<Option<Box<dyn Transport>>>);

impl Connector for Once {
    fn reach(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        let transport = self.0.lock().take();
        Box::pin(std::future::ready(transport.ok_or_else(|| {
            Error::new(ErrorKind::Transport, "the transport is closed, and cannot be opened again").unsent()
        })))
    }

    fn name(&self) -> String {
        "a transport of the application".to_owned()
    }

    fn is_lasting(&self) -> bool {
        false
    }
}
