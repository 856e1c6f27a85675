//! Which code does a user enter on another device?

use std::fmt;

use super::document::Document;
use super::url::HttpUrl;

/// The reply of an authorization server to a device that asks for a code (RFC 8628).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceReply {
    /// The secret with which the device asks whether the user has agreed.
    pub device_code: String,
    /// The code that the user enters.
    pub user_code: String,
    /// The page on which the user enters the code.
    pub verification_uri: String,
    /// The same page with the code in it, if the server has one.
    pub verification_uri_complete: Option<String>,
    /// The life of the code in seconds.
    pub expires_in: u64,
    /// The seconds between two questions of the device.
    pub interval: u64,
}

impl DeviceReply {
    /// Reads a reply. Returns `None` if a code or a page is missing, or if the code or the page could not be shown to a
    /// user as they are.
    ///
    /// ```
    /// use toolway_protocol::oauth::DeviceReply;
    ///
    /// let reply = br#"{"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/device"}"#;
    /// let reply = DeviceReply::read(reply).unwrap();
    /// assert_eq!((reply.user_code.as_str(), reply.interval), ("WDJB-MJHT", 5));
    /// ```
    pub fn read(reply: &[u8]) -> Option<Self> {
        let reply = Document::read(reply)?;
        let page = |name: &str| reply.text(name).filter(|url| HttpUrl::parse(url).is_some());
        let is_shown = |code: &String| {
            code.len() <= MAX_USER_CODE && code.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        };
        Some(Self {
            device_code: reply.text("device_code")?,
            user_code: reply.text("user_code").filter(is_shown)?,
            // Some servers still use the name of a draft.
            verification_uri: page("verification_uri").or_else(|| page("verification_url"))?,
            verification_uri_complete: page("verification_uri_complete"),
            expires_in: reply.seconds("expires_in").unwrap_or(DEFAULT_LIFE).clamp(1, MAX_LIFE),
            interval: reply.seconds("interval").unwrap_or(DEFAULT_INTERVAL).clamp(1, MAX_INTERVAL),
        })
    }
}

/// Does not show the secret.
impl fmt::Debug for DeviceReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceReply")
            .field("verification_uri", &self.verification_uri)
            .finish_non_exhaustive()
    }
}

/// The length of the longest code that is shown.
const MAX_USER_CODE: usize = 64;
const DEFAULT_LIFE: u64 = 600;
const MAX_LIFE: u64 = 3600;
/// The interval of RFC 8628 for servers that name none.
const DEFAULT_INTERVAL: u64 = 5;
const MAX_INTERVAL: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let read = |code: &str, page: &str| {
            let reply = serde_json::json!({"device_code": "hidden", "user_code": code, "verification_uri": page,
                "expires_in": 1e12, "interval": 0});
            DeviceReply::read(reply.to_string().as_bytes())
        };
        let reply = read("AB CD", "https://id.example/device").unwrap();
        assert_eq!((reply.expires_in, reply.interval), (MAX_LIFE, 1));
        assert!(!format!("{reply:?}").contains("hidden"));
        for code in ["", "\u{1b}[2J", "a\nb", &"x".repeat(65)] {
            assert_eq!(read(code, "https://id.example/device"), None, "{code:?}");
        }
        for page in ["javascript:alert(1)", "file:///x", ""] {
            assert_eq!(read("AB", page), None, "{page}");
        }
    }
}
