//! Without the feature `auth` no caller is verified.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use crate::ground::budget::{Account, Ledger};
use crate::server::call::principal::Principal;
use crate::server::call::required_scopes::RequiredScopes;

/// A verified caller, which does not exist here.
#[derive(Debug, Clone)]
pub(crate) struct Verified(Infallible);

impl Verified {
    pub(crate) fn principal(&self) -> &Principal {
        match self.0 {}
    }

    pub(crate) fn account(&self, _: &Arc<Ledger>) -> Arc<Account> {
        match self.0 {}
    }

    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        match self.0 {}
    }

    pub(crate) fn has_all(&self, _: &RequiredScopes) -> bool {
        match self.0 {}
    }
}
