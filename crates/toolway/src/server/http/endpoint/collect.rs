//! How is the body of a request received? Its memory is charged to the peer that sends it, before it is taken.

use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http_body::Body;
use http_body_util::BodyExt;

use crate::ground::budget::{Account, Charge, Resource};

/// The first capacity for a body of unknown length.
const FIRST_CAPACITY: usize = 8 << 10;

/// The reason why a body was not received.
pub(super) enum BodyError {
    /// The body is longer than the limit.
    TooLarge,
    /// The sender, or all senders together, have too many bodies in memory.
    NoRoom,
    /// The body ended early.
    Broken,
}

/// Receives a body of at most `max` bytes, in one piece of memory. The charge is held until the bytes are dropped.
pub(super) async fn collect_body<B>(
    body: B,
    max: usize,
    account: Option<&Arc<Account>>,
) -> Result<Bytes, BodyError>
where
    B: Body,
{
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if length > max {
        return Err(BodyError::TooLarge);
    }
    let charge = account.map(|account| account.charge(Resource::Bodies, length)).transpose();
    let mut charge = charge.map_err(|_| BodyError::NoRoom)?;
    let mut body = pin!(body);
    let mut collected = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(mut data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        let received = collected.len() + data.remaining();
        if received > max {
            return Err(BodyError::TooLarge);
        }
        if collected.is_empty() && received == length {
            // The whole body is in one piece, which needs no copy.
            return Ok(held(data.copy_to_bytes(received), charge));
        }
        if received > collected.capacity() {
            // A body that names its length gets all its memory at once; one without a length gets twice as much each
            // time, like any vector.
            let capacity = received.max(length).max(collected.capacity() * 2).max(FIRST_CAPACITY).min(max);
            if let Some(charge) = &mut charge {
                charge.resize_item(capacity).map_err(|_| BodyError::NoRoom)?;
            }
            collected.reserve_exact(capacity - collected.len());
        }
        while data.has_remaining() {
            let piece = data.chunk();
            collected.extend_from_slice(piece);
            let taken = piece.len();
            data.advance(taken);
        }
    }
    Ok(held(collected, charge))
}

/// Bytes with the charge for their memory.
struct Held<T> {
    bytes: T,
    _charge: Charge,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

fn held<T: AsRef<[u8]> + Into<Bytes> + Send + 'static>(bytes: T, charge: Option<Charge>) -> Bytes {
    match charge {
        Some(charge) => Bytes::from_owner(Held { bytes, _charge: charge }),
        None => bytes.into(),
    }
}
