//! Which settings are used? Secrets are only reported as set.

use std::env;

use crate::args::ConnectionArgs;
use crate::location::{BEARER_VARIABLE, Endpoint, ServerLocation};

/// Environment variables that name proxies. Plain HTTP uses none, which is reported, because a user may rely on it.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Returns the names and values of the settings.
pub(crate) fn collect(talk: &ConnectionArgs, place: &ServerLocation) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut add = |name: &str, value: String| settings.push((name.to_owned(), value));
    if let Some(file) = &place.file {
        add("described in", file.display().to_string());
    }
    match &place.endpoint {
        Endpoint::Url(address) => {
            let names: Vec<_> = address.headers.iter().map(|(name, _)| &**name).collect();
            if !names.is_empty() {
                add("headers", names.join(", "));
            }
            if address.bearer.is_some() {
                let from = if address.is_from_environment {
                    format!("set, from {BEARER_VARIABLE}")
                } else {
                    "set".to_owned()
                };
                add("token", from);
            }
            for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
                if let Some(value) = env::var_os(name).filter(|_| address.is_encrypted()) {
                    add(name, value.to_string_lossy().into_owned());
                }
            }
            for name in PROXY_VARIABLES.into_iter().filter(|name| env::var_os(name).is_some()) {
                let is_used = address.is_encrypted() && !name.eq_ignore_ascii_case("HTTP_PROXY");
                add(
                    name,
                    if is_used { "set" } else { "set, but not used: the client connects directly" }
                        .to_owned(),
                );
            }
            if let Ok(exceptions) = env::var("NO_PROXY").or_else(|_| env::var("no_proxy")) {
                add("NO_PROXY", exceptions);
            }
        }
        Endpoint::Command(start) => {
            let names: Vec<_> =
                start.env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
            if !names.is_empty() {
                add("variables", names.join(", "));
            }
            if let Some(cwd) = &start.cwd {
                add("directory", cwd.display().to_string());
            }
        }
        Endpoint::Own(_) => {}
    }
    if let Some(limit) = talk.timeout.or(place.timeout) {
        add("timeout", format!("{limit:?}"));
    }
    if let Some(bytes) = talk.max_message.or(place.max_message) {
        add("longest message", format!("{bytes} bytes"));
    }
    if let Some(version) = talk.protocol {
        add("revision", version.to_string());
    }
    settings
}
