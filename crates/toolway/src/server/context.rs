//! What belongs to one call besides its arguments?

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::Server;
use super::parameter::{Missing, Parameter};
use super::state::States;
use crate::peer::Peer;

/// Everything that belongs to one call. It lives as long as the call: dropping it is what cancels.
pub struct Scope {
    server: Server,
    peer: Arc<Peer>,
    /// Made when a tool asks for it, so that the others do not pay.
    cancel: OnceLock<CancellationToken>,
}

impl Scope {
    pub(crate) fn new(server: Server, peer: Arc<Peer>) -> Self {
        Self { server, peer, cancel: OnceLock::new() }
    }

    /// The values that the server was given.
    pub fn states(&self) -> &States {
        &self.server.inner.states
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let Some(token) = self.cancel.get() {
            token.cancel();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// The call that a tool is in, as a parameter of the tool. It is not part of the schema.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Say which protocol revision the caller speaks.
/// #[tool]
/// fn revision(ctx: Ctx) -> String {
///     ctx.peer().version.to_string()
/// }
/// ```
#[derive(Clone)]
pub struct Ctx {
    peer: Arc<Peer>,
    cancel: CancellationToken,
}

impl Ctx {
    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Ends when the call has ended or its caller does not want it any more. The tool itself is simply
    /// dropped then; this is for work that it has handed to other tasks.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }
}

impl Parameter for Ctx {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        Ok(Self {
            peer: scope.peer.clone(),
            cancel: scope.cancel.get_or_init(CancellationToken::new).clone(),
        })
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("peer", &self.peer).finish_non_exhaustive()
    }
}
