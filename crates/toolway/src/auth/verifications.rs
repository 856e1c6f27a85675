//! Which tokens are being verified at the moment, and for whom?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::auth::verdict_cache::Verdict;
use crate::auth::verifier::Rejected;
use crate::ground::peer_map::PeerName;
use crate::ground::weak_map::WeakMap;

/// The tokens that are being verified. Strangers can cause verifications, which may be slow and cost requests.
#[derive(Default)]
pub(crate) struct Verifications {
    /// By the name of the token in the cache.
    running: WeakMap<u128, OnceCell<Verdict>>,
    /// The places of each address.
    places: WeakMap<PeerName, Semaphore>,
}

impl Verifications {
    /// Verifies a token, or waits for the verdict if another request has the same token. If that request ends early, this
    /// one goes on in its place. An error is for this request alone.
    pub(crate) async fn verdict_of(
        &self,
        key: u128,
        verify: impl Future<Output = Result<Verdict, Rejected>>,
    ) -> Verdict {
        let verdict = self.running.get_or_insert(key, |_| Arc::default());
        verdict.get_or_try_init(|| verify).await?.clone()
    }

    /// Waits for a place, of which each address has a few.
    pub(crate) async fn place_for(&self, address: IpAddr) -> Result<OwnedSemaphorePermit, Rejected> {
        let create = |_: &PeerName| Arc::new(Semaphore::new(MAX_OF_ADDRESS));
        let places = self.places.get_or_insert(PeerName::at(address), create);
        match tokio::time::timeout(MAX_WAIT, places.acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(Rejected::unavailable(format!(
                "too many tokens from {address} are verified at the same time: if it is a proxy, name it in \
                 `trusted_proxies`"
            ))),
        }
    }
}

/// The largest number of tokens from one address that are verified at the same time, if no issuer has signed them.
const MAX_OF_ADDRESS: usize = 16;
/// How long a token waits until it is verified.
const MAX_WAIT: Duration = Duration::from_secs(2);
