//! Was the caller of a request verified a moment ago?

use std::sync::Arc;

use ::http::HeaderMap;

use crate::server::Server;
use crate::server::call::verified::Verified;

/// Returns the caller whose credentials these headers have, if they were verified a moment ago and nothing else has to be
/// checked.
pub(super) fn recalled_caller(server: &Server, headers: &HeaderMap) -> Option<Arc<Verified>> {
    let protection = server.inner.protection.as_ref().filter(|_| server.inner.admission.is_none())?;
    protection.authenticator.recall(headers)
}
