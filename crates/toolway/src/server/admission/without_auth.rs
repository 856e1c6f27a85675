//! Without the feature `auth` no server is protected.

use std::convert::Infallible;
use std::sync::Arc;

use crate::server::admission::admit::Refuse;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::verified::Verified;
use crate::store::Store;

/// The settings of a protection, which do not exist here.
#[derive(Debug)]
pub(crate) struct ProtectionSettings(Infallible);

impl ProtectionSettings {
    pub(crate) fn make(self, _: Arc<dyn Store>, _: &str, _: &mut Vec<String>) -> Protection {
        match self.0 {}
    }
}

/// The protection of a server, which does not exist here.
pub(crate) struct Protection {
    never: Infallible,
    pub(crate) hides_unscoped: bool,
    pub(crate) extension: Option<&'static str>,
}

impl Protection {
    pub(crate) async fn authenticate(&self, _: &ConnectRequest) -> Result<Arc<Verified>, Refuse> {
        match self.never {}
    }

    pub(crate) fn accept(&self, _: &Verified) -> Result<Arc<Verified>, Refuse> {
        match self.never {}
    }

    pub(crate) fn lacks_required(&self, _: &Verified) -> bool {
        match self.never {}
    }

    pub(crate) fn insufficient<'s>(&'s self, _: impl IntoIterator<Item = &'s str>) -> Refuse {
        match self.never {}
    }
}
