//! How do several servers share their sessions? Without the feature `redis`, they do not.

use toolway::server::ServerBuilder;

use crate::failure::{Failure, Result};

/// Refuses the store.
pub(crate) async fn add(_server: ServerBuilder, _url: String) -> Result<ServerBuilder> {
    Err(Failure::usage("--store: this program was built without the feature `redis` of toolway-cli"))
}
