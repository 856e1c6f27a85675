//! Who may use the page? A browser that got the link from the terminal, and no page of another origin.
//!
//! Programs of other users can read the command line of a browser, so the link holds a code that works once, and only for a
//! short time. The page trades it for a token, which no command line and no URL contains.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::{AUTHORIZATION, AsHeaderName, HOST, ORIGIN};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// How long a link can be used.
const LINK_LIFE: Duration = Duration::from_secs(60);

/// How many tokens are valid at a time: one for each link that was used.
const MAX_TOKENS: usize = 16;

/// The codes and tokens of one inspector.
pub(super) struct Gate {
    port: u16,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    /// The digest of the newest code, and when it was made. It is removed when it is used.
    code: Option<([u8; 32], Instant)>,
    /// The digest of the last code that was used.
    used: Option<[u8; 32]>,
    /// The digests of the tokens, the oldest first. Equal digests say nothing about equal beginnings of tokens, so comparing
    /// them takes the same time for all wrong tokens.
    tokens: Vec<[u8; 32]>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Forbidden(pub(super) String);

impl Gate {
    pub(super) fn new(port: u16) -> Self {
        Self { port, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a code for a new link. Earlier links no longer work.
    pub(super) fn new_code(&self) -> String {
        let code = random_text();
        self.state().code = Some((digest_of(&code), Instant::now()));
        code
    }

    /// Trades a code for a token.
    pub(super) fn enter(&self, code: &str) -> Result<String, Forbidden> {
        let wanted = digest_of(code);
        let mut state = self.state();
        let refusal = |text: &str| {
            Err(Forbidden(format!("{text}; press Enter in the terminal of the inspector for a new link")))
        };
        if state.used == Some(wanted) {
            return refusal("this link has been used before");
        }
        match state.code {
            Some((known, made)) if known == wanted => {
                state.code = None;
                if made.elapsed() > LINK_LIFE {
                    return refusal("this link is too old: it works for 60 seconds");
                }
                state.used = Some(wanted);
                let token = random_text();
                if state.tokens.len() == MAX_TOKENS {
                    state.tokens.remove(0);
                }
                state.tokens.push(digest_of(&token));
                Ok(token)
            }
            _ => refusal("this link is not one of this inspector, or a newer one has taken its place"),
        }
    }

    /// Returns whether a request has a token of this inspector.
    pub(super) fn has_token(&self, headers: &HeaderMap) -> bool {
        let Ok(Some(value)) = single(headers, AUTHORIZATION) else { return false };
        let Some(token) = value.strip_prefix("Bearer ") else { return false };
        let wanted = digest_of(token);
        self.state().tokens.contains(&wanted)
    }

    /// Checks that a request comes from this machine's own page: the names of the address, and what the browser says about
    /// the page that sends it.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Forbidden> {
        let port = self.port;
        let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        let host = single(headers, HOST)?.unwrap_or_default().to_ascii_lowercase();
        if !names.contains(&host) {
            return Err(Forbidden(format!(
                "the Host header names {host:?}; use http://127.0.0.1:{port}, the address that the terminal shows"
            )));
        }
        if let Some(origin) = single(headers, ORIGIN)?
            && !names.iter().any(|name| origin.eq_ignore_ascii_case(&format!("http://{name}")))
        {
            return Err(Forbidden(format!("pages of {origin:?} may not use the inspector")));
        }
        match single(headers, "sec-fetch-site")? {
            None | Some("same-origin" | "none") => Ok(()),
            Some(site) => Err(Forbidden(format!(
                "a page of another origin sent this request (Sec-Fetch-Site: {site:?})"
            ))),
        }
    }
}

/// Returns the value of a header that may occur at most once.
fn single(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&str>, Forbidden> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Forbidden("a header has characters that are not allowed".to_owned())),
        (Some(_), Some(_)) => Err(Forbidden("a header that may occur once occurs twice".to_owned())),
    }
}

fn digest_of(text: &str) -> [u8; 32] {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Returns 256 random bits as a text.
fn random_text() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_code_works_once_and_only_if_it_is_the_newest() {
        let gate = Gate::new(6270);
        let first = gate.new_code();
        let second = gate.new_code();
        assert!(gate.enter(&first).unwrap_err().0.contains("a newer one"));
        let token = gate.enter(&second).unwrap();
        assert!(gate.enter(&second).unwrap_err().0.contains("used before"));
        assert!(gate.has_token(&headers(&[("authorization", &format!("Bearer {token}"))])));
        assert!(!gate.has_token(&headers(&[("authorization", "Bearer x")])));
        assert!(!gate.has_token(&headers(&[])));
    }

    #[test]
    fn a_code_that_was_not_used_in_time_is_refused() {
        let gate = Gate::new(6270);
        let code = gate.new_code();
        {
            let mut state = gate.state();
            let (_, made) = state.code.as_mut().unwrap();
            *made = made.checked_sub(LINK_LIFE + Duration::from_secs(1)).unwrap();
        }
        assert!(gate.enter(&code).unwrap_err().0.contains("too old"));
    }

    #[test]
    fn only_the_own_page_may_send_requests() {
        let gate = Gate::new(6270);
        for (pairs, is_allowed) in [
            (&[("host", "127.0.0.1:6270")][..], true),
            (&[("host", "localhost:6270"), ("origin", "http://localhost:6270")], true),
            (&[("host", "127.0.0.1:6270"), ("sec-fetch-site", "same-origin")], true),
            (&[("host", "127.0.0.1:6270"), ("sec-fetch-site", "none")], true),
            (&[], false),
            (&[("host", "127.0.0.1")], false),
            (&[("host", "evil.example:6270")], false),
            (&[("host", "127.0.0.1:6270"), ("host", "127.0.0.1:6270")], false),
            (&[("host", "127.0.0.1:6270"), ("origin", "http://evil.example")], false),
            (&[("host", "127.0.0.1:6270"), ("origin", "http://127.0.0.1:8000")], false),
            (&[("host", "127.0.0.1:6270"), ("origin", "null")], false),
            (&[("host", "127.0.0.1:6270"), ("sec-fetch-site", "cross-site")], false),
            (&[("host", "127.0.0.1:6270"), ("sec-fetch-site", "same-site")], false),
        ] {
            assert_eq!(gate.check_origin(&headers(pairs)).is_ok(), is_allowed, "{pairs:?}");
        }
    }
}
