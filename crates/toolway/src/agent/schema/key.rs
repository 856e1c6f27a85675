//! What is a property called where not every name is allowed?
//!
//! As with tools: a name that is allowed is kept, any other gets the letters that are, and digits that follow from it. A call
//! comes with the same name, and [`super::restore`](fn@super::restore) turns it back.

use std::borrow::Cow;

use super::super::name::{Provider, digest};
use crate::legal_name::with_hash;

/// What a provider calls a property.
pub(super) fn key(provider: Provider, name: &str) -> Cow<'_, str> {
    if is_allowed(provider, name) {
        return name.into();
    }
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' };
    let mut key: String = name.chars().take(LONGEST).map(plain).collect();
    if !key.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        key.insert(0, '_');
    }
    // Every letter that is left is one byte.
    with_hash(key, LONGEST, '_', &format!("{:08x}", digest(name, 0) >> 32)).into()
}

/// Whether a property may have this name.
fn is_allowed(provider: Provider, name: &str) -> bool {
    let length = 1..=LONGEST;
    match provider {
        Provider::OpenAi | Provider::OpenAiStrict => true,
        Provider::Anthropic => {
            let allows = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
            length.contains(&name.len()) && name.bytes().all(allows)
        }
        Provider::Gemini => {
            let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
            let allows = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            begins && length.contains(&name.len()) && name.bytes().all(allows)
        }
    }
}

/// Anthropic and Gemini say the same.
const LONGEST: usize = 64;
