//! How does a gateway give a server what others have?

use std::sync::Arc;

use crate::server::build::builder::ServerBuilder;
use crate::server::catalog::source::{Added, Source};

impl ServerBuilder {
    /// Adds what a source has, now and later.
    pub(crate) fn source(mut self, source: Arc<dyn Source>) -> Self {
        self.sources.push(Added::new(source));
        self
    }
}
