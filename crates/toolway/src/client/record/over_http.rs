//! Which parts of a request and a reply are secret?

use std::sync::atomic::Ordering;

use crate::client::record::Recorder;
use crate::client::record::secrets::Secrets;
use crate::client::record::text_secrets::{
    Edits, header_secrets, is_secret_header, redact_query, redact_text,
};

impl Recorder {
    /// Returns the number for the next HTTP request.
    pub(crate) fn next_stream(&self) -> u64 {
        self.0.next_stream.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the path of a request without secrets.
    pub(crate) fn redacted_path(&self, path: &str) -> String {
        redact_path(path, &mut self.0.state.lock().secrets)
    }

    /// Returns the value of a header without secrets. All of a value that is marked as sensitive is secret.
    pub(crate) fn redacted_header(&self, name: &str, value: &str, is_sensitive: bool) -> String {
        let mut state = self.0.state.lock();
        let secrets = &mut state.secrets;
        if is_secret_header(name) {
            let mut shown = value.to_owned();
            for secret in header_secrets(name, value).iter().filter(|secret| !secret.is_empty()) {
                secrets.learn_own(secret);
                shown = shown.replace(secret, &secrets.mark(secret));
            }
            return shown;
        }
        if is_sensitive && !value.is_empty() {
            return secrets.mark(value);
        }
        redact_text(value, secrets).into_owned()
    }
}

/// Returns the path of a request without the values of its query.
fn redact_path(path: &str, secrets: &mut Secrets) -> String {
    let path = secrets.replace(path).into_owned();
    let Some(query) = path.find('?') else { return path };
    let mut edits = Edits::default();
    redact_query(&path, query + 1, path.len(), &mut edits, secrets);
    edits.finish(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_the_names_of_its_query() {
        let mut secrets = Secrets::default();
        assert_eq!(redact_path("/mcp?a=1&key=abcdefgh&x", &mut secrets), "/mcp?a=«1»&key=«2»&«3»");
        assert_eq!(redact_path("/mcp/abcdefgh", &mut secrets), "/mcp/«2»");
    }
}
