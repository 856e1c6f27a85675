//! How is a request judged again while its stream is open?

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use toolway_protocol::{Request, RpcError};

use crate::ground::extensions::Extensions;
use crate::ground::future::BoxFuture;
use crate::server::Server;
use crate::server::admission::admit::Refuse;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::{Recheck, StreamView, Verdict};

/// Admits a request that may open a stream.
pub(super) async fn admit_for_stream(
    server: &Server,
    request: ConnectRequest,
    extensions: Extensions,
) -> Result<Box<Arrival>, Refuse> {
    // Subscribed before the decision, so that no change of rights is missed.
    let announcements = server.inner.rights.subscribe();
    let mut arrival = server.admit(request.clone(), extensions.clone()).await?;
    // A proof is valid once, so it is not checked again.
    let request = ConnectRequest { http_method: None, ..request };
    let (server, principal) = (server.clone(), arrival.principal.clone());
    arrival.recheck = Some(Arc::new(AdmittedHead { server, request, extensions, principal, announcements }));
    Ok(arrival)
}

/// A request that was admitted, as the `on_connect` hook got it.
struct AdmittedHead {
    server: Server,
    request: ConnectRequest,
    extensions: Extensions,
    /// The principal that the hook named.
    principal: Option<Principal>,
    announcements: watch::Receiver<()>,
}

impl fmt::Debug for AdmittedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmittedHead").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Recheck for AdmittedHead {
    fn check(self: Arc<Self>) -> BoxFuture<'static, Verdict> {
        Box::pin(async move {
            let admission = self.server.admit(self.request.clone(), self.extensions.clone());
            let arrival = admission.await.map_err(|refuse| refuse.error())?;
            if let Some(refuse) = self.server.refuse_unscoped(&arrival, None::<Request>) {
                return Err(refuse.error());
            }
            if arrival.principal == self.principal {
                Ok(StreamView { is_over_http: true, ..arrival.stream_view() })
            } else {
                Err(RpcError::invalid_request("the stream belongs to another principal"))
            }
        })
    }

    fn announcements(&self) -> watch::Receiver<()> {
        self.announcements.clone()
    }
}
