//! How does a server keep the state of a call that asks, until the client calls again with the answers?
//!
//! A server without HTTP gets all calls in one process, so the state of a call need not leave it. The client gets a random
//! id of 192 bits, and the id is valid for the same call of the same caller only, until it expires. The server keeps a
//! limited number of states; when there are more, it forgets the oldest one, whose call has to begin again.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hasher;
use std::ops::Range;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::binding::{Binding, MAX_STATE, OpenError, OpenedState, associated_data};
use crate::ground::mutex::Mutex;
use crate::server::catalog::cursor::random_key;

/// How many states a server keeps.
const MAX_KEPT_STATES: usize = 1024;
/// How many bytes the kept states have together.
const MAX_KEPT_BYTES: usize = 8 << 20;

/// The states that wait for the next round of their calls.
pub(crate) struct KeptStates {
    /// The key of the digests that tell calls apart.
    key: [u8; 16],
    states: Mutex<States>,
}

#[derive(Default)]
struct States {
    by_id: HashMap<Id, KeptState>,
    /// The ids, the oldest first.
    order: VecDeque<Id>,
    bytes: usize,
}

type Id = [u8; 24];

struct KeptState {
    /// The digest of the call that the state belongs to.
    call: [u8; 16],
    plain: Vec<u8>,
    expires: u64,
}

impl KeptStates {
    /// Returns a keeper without states.
    pub(crate) fn random() -> Self {
        Self { key: random_key(), states: Mutex::default() }
    }

    /// Returns whether a state of this length can be kept. The limit is the same as for sealed states.
    pub(crate) fn fits(plain_len: usize) -> bool {
        plain_len <= MAX_STATE / 4 * 3 - 57
    }

    /// Keeps a state that expires at `expires`, in seconds since the Unix epoch, and returns its id.
    pub(crate) fn seal(&self, bound: &Binding<'_>, plain: &[u8], expires: u64) -> String {
        let mut id = Id::default();
        getrandom::fill(&mut id).expect("the system has a source of randomness");
        let mut states = self.states.lock();
        states.bytes += plain.len();
        states.order.push_back(id);
        states.by_id.insert(id, KeptState { call: self.digest(bound), plain: plain.to_vec(), expires });
        while states.order.len() > MAX_KEPT_STATES || states.bytes > MAX_KEPT_BYTES {
            states.forget_oldest();
        }
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(id)
    }

    /// Returns the state with this id, at the beginning of `valid`; it must expire before the end. The state stays, because
    /// the client may have to send its call again.
    pub(crate) fn open(
        &self,
        bound: &Binding<'_>,
        text: &str,
        valid: Range<u64>,
    ) -> Result<OpenedState, OpenError> {
        let id = decode(text).ok_or(OpenError::Foreign)?;
        let mut states = self.states.lock();
        let found = states.by_id.get(&id).filter(|state| state.call == self.digest(bound));
        let state = found.ok_or(OpenError::Foreign)?;
        let outcome = if state.expires <= valid.start {
            Err(OpenError::Expired)
        } else if state.expires > valid.end {
            Err(OpenError::TooLong)
        } else {
            Ok(OpenedState { plain: state.plain.clone(), id: text.to_owned(), expires: state.expires })
        };
        // States expire in the order in which they were kept. The newest expired one stays, so that its client is told.
        while states.order.len() > 1
            && states.order.get(1).is_some_and(|next| states.by_id[next].expires <= valid.start)
        {
            states.forget_oldest();
        }
        outcome
    }

    fn digest(&self, bound: &Binding<'_>) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&associated_data(&[], bound));
        hasher.finish128().as_bytes()
    }
}

/// The other questions that a server asks of keys.
#[cfg(not(feature = "http"))]
impl KeptStates {
    /// Returns a keeper without states. Servers that share a store still keep their own: each has its own clients.
    pub(crate) fn from_secret(_: &crate::store::Secret) -> Self {
        Self::random()
    }

    /// There are no keys.
    pub(crate) fn from_env() -> Option<Result<Self, String>> {
        None
    }

    /// Returns whether the states are lost in a way that an operator should hear of. They are not: without HTTP the
    /// clients of a process end with it.
    pub(crate) fn is_random(&self) -> bool {
        false
    }
}

impl States {
    fn forget_oldest(&mut self) {
        let oldest = self.order.pop_front().and_then(|id| self.by_id.remove(&id));
        self.bytes -= oldest.map_or(0, |state| state.plain.len());
    }
}

/// Reads an id. Only one spelling of an id is accepted.
fn decode(text: &str) -> Option<Id> {
    let id = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(text.as_bytes()).ok()?.try_into().ok()?;
    (base64_simd::URL_SAFE_NO_PAD.encode_to_string(id) == text).then_some(id)
}

impl fmt::Debug for KeptStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptStates")
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::RawJson;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const LATER: u64 = NOW + 60;
    const BOUND: Binding<'static> = Binding {
        principal: Some("ada"),
        server: "shop",
        method: "tools/call",
        target: "order",
        arguments: None,
    };

    fn open(kept: &KeptStates, bound: &Binding<'_>, text: &str) -> Result<Vec<u8>, OpenError> {
        kept.open(bound, text, NOW..LATER).map(|opened| opened.plain)
    }

    #[test]
    fn a_kept_state_is_found_as_often_as_its_call_is_sent() {
        let kept = KeptStates::random();
        let text = kept.seal(&BOUND, b"state", LATER);
        let other = kept.seal(&BOUND, b"other", LATER);
        assert_ne!(text, other);
        for _ in 0..2 {
            assert_eq!(open(&kept, &BOUND, &text), Ok(b"state".to_vec()));
        }
        assert_eq!(open(&kept, &BOUND, &other), Ok(b"other".to_vec()));
        let id = |text: &str| kept.open(&BOUND, text, NOW..LATER).unwrap().id;
        assert_ne!(id(&text), id(&other));
    }

    #[test]
    fn a_kept_state_belongs_to_one_call_of_one_caller() {
        let kept = KeptStates::random();
        let text = kept.seal(&BOUND, b"state", LATER);
        let arguments = RawJson::from_value(&serde_json::json!({"n": 1})).unwrap();
        for other in [
            Binding { principal: None, ..BOUND },
            Binding { principal: Some("bob"), ..BOUND },
            Binding { server: "other", ..BOUND },
            Binding { method: "prompts/get", ..BOUND },
            Binding { target: "cancel", ..BOUND },
            Binding { arguments: Some(&arguments), ..BOUND },
        ] {
            assert_eq!(open(&kept, &other, &text), Err(OpenError::Foreign), "{other:?}");
        }
        assert_eq!(open(&KeptStates::random(), &BOUND, &text), Err(OpenError::Foreign));
    }

    #[test]
    fn a_text_that_is_not_an_id_is_foreign() {
        let kept = KeptStates::random();
        let text = kept.seal(&BOUND, b"state", LATER);
        for place in 0..text.len() {
            for bit in 0..8 {
                let mut forged = text.clone().into_bytes();
                forged[place] ^= 1 << bit;
                let Ok(forged) = String::from_utf8(forged) else { continue };
                assert_eq!(open(&kept, &BOUND, &forged), Err(OpenError::Foreign), "{forged}");
            }
        }
        for forged in ["", "A", &text[1..], &format!("{text}A"), &format!("{text}="), &"A".repeat(1 << 20)] {
            assert_eq!(open(&kept, &BOUND, forged), Err(OpenError::Foreign));
        }
    }

    #[test]
    fn a_kept_state_expires_and_is_forgotten_after_the_next_one() {
        let kept = KeptStates::random();
        let text = kept.seal(&BOUND, b"state", NOW);
        assert_eq!(open(&kept, &BOUND, &text), Err(OpenError::Expired));
        let long = kept.seal(&BOUND, b"state", LATER + 1);
        assert_eq!(open(&kept, &BOUND, &long), Err(OpenError::TooLong));
        let kept = KeptStates::random();
        let texts = [(); 3].map(|()| kept.seal(&BOUND, b"state", NOW));
        assert_eq!(open(&kept, &BOUND, &texts[2]), Err(OpenError::Expired));
        assert_eq!(open(&kept, &BOUND, &texts[0]), Err(OpenError::Foreign), "it was forgotten");
        assert_eq!(kept.states.lock().bytes, 5);
    }

    #[test]
    fn the_oldest_states_are_forgotten_when_there_are_too_many() {
        let kept = KeptStates::random();
        let first = kept.seal(&BOUND, b"first", LATER);
        let second = kept.seal(&BOUND, b"second", LATER);
        for _ in 2..=MAX_KEPT_STATES {
            kept.seal(&BOUND, b"further", LATER);
        }
        assert_eq!(open(&kept, &BOUND, &first), Err(OpenError::Foreign));
        assert_eq!(open(&kept, &BOUND, &second), Ok(b"second".to_vec()));
        let large = vec![0; 48 << 10];
        for _ in 0..MAX_KEPT_STATES {
            kept.seal(&BOUND, &large, LATER);
        }
        let states = kept.states.lock();
        assert!(states.bytes <= MAX_KEPT_BYTES, "{}", states.bytes);
        assert_eq!(states.bytes, states.order.len() * large.len());
        assert_eq!(states.by_id.len(), states.order.len());
    }

    #[test]
    fn a_state_has_the_same_room_whether_it_is_kept_or_sealed() {
        #[cfg(feature = "http")]
        for length in [0, 1000, 49_000, MAX_STATE / 4 * 3 - 57, MAX_STATE / 4 * 3 - 56, MAX_STATE] {
            assert_eq!(KeptStates::fits(length), super::super::SealKeys::fits(length), "{length}");
        }
        assert!(!KeptStates::fits(MAX_STATE));
    }
}
