//! Is the word after `--http` an address, or what is served there?

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

/// The default address of the HTTP server.
pub(crate) const HTTP_ADDRESS: &str = "127.0.0.1:8000";

/// Handles `serve --http docs` and `proxy --http notes`: a directory or a target after `--http` is what to serve, not the
/// address.
pub(crate) fn insert_default_http_address(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<_> = words.into_iter().collect();
    let is_address = |word: &OsString| word.to_str().is_some_and(|word| word.parse::<SocketAddr>().is_ok());
    let is_served = |next: &OsString| match words.get(1).and_then(|word| word.to_str()) {
        Some("serve") => Path::new(next).is_dir(),
        Some("proxy") => next.to_str().is_some_and(|next| !next.starts_with('-') && !names_a_port(next)),
        _ => false,
    };
    let is_served: Vec<_> = words.iter().map(is_served).collect();
    if is_served.contains(&true) {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        for at in 2..end {
            let is_alone = words.get(at + 1).is_some_and(|next| !is_address(next))
                && is_served.get(at + 1) == Some(&true);
            if words[at] == "--http" && is_alone {
                words[at].push(format!("={HTTP_ADDRESS}"));
            }
        }
    }
    words
}

/// Returns whether a word is a host with a port, and not a URL: it is meant as an address.
fn names_a_port(word: &str) -> bool {
    let port = word.rsplit_once(':').map(|(_, port)| port);
    !word.contains('/')
        && port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::args::{AnyServer, AnyServerCommands, Command, CommandLine, Program, ServeAny};

    fn served(words: &[&str]) -> Result<(Option<PathBuf>, Option<SocketAddr>), clap::Error> {
        let [name, version, about, after_help] = ["toolway", "1", "", ""].map(str::to_owned);
        let program = Program { name, version, about, after_help };
        let words = ["toolway", "serve"].iter().chain(words).map(OsString::from);
        match CommandLine::<AnyServer>::read(&program, words)?.command {
            Command::Serve(ServeAny { directory, door, .. }) => Ok((directory, door.http)),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn a_target_after_http_is_what_is_passed_on_to() {
        let read = |words: &[&str]| {
            let [name, version, about, after_help] = ["toolway", "1", "", ""].map(str::to_owned);
            let program = Program { name, version, about, after_help };
            let words = ["toolway", "proxy"].iter().chain(words).map(OsString::from);
            match CommandLine::<AnyServer>::read(&program, words).ok()?.command {
                Command::Own(AnyServerCommands::Proxy(proxy)) => Some((proxy.words, proxy.http?.to_string())),
                _ => None,
            }
        };
        let default = "127.0.0.1:8000".to_owned();
        for (words, expected) in [
            (&["--http", "notes"][..], Some((vec!["notes".to_owned()], default.clone()))),
            (&["--http", "http://a/b"], Some((vec!["http://a/b".to_owned()], default.clone()))),
            (&["notes", "--http"], Some((vec!["notes".to_owned()], default.clone()))),
            (&["--http", "--", "server", "--http", "x"], Some((Vec::new(), default))),
            (&["--http", "127.0.0.1:1", "--", "server"], Some((Vec::new(), "127.0.0.1:1".to_owned()))),
            (&["--http", "localhost:1", "--", "server"], None),
        ] {
            assert_eq!(read(words), expected, "{words:?}");
        }
    }

    #[test]
    fn a_directory_after_http_is_what_is_served() {
        let here = || Some(PathBuf::from("."));
        let at = |address: &str| Some(address.parse().unwrap());
        for (words, expected) in [
            (&["--http", "."][..], (here(), at("127.0.0.1:8000"))),
            (&[".", "--http"], (here(), at("127.0.0.1:8000"))),
            (&["--http", "--write", "."], (here(), at("127.0.0.1:8000"))),
            (&["--demo", "--http"], (None, at("127.0.0.1:8000"))),
            (&["--http", "127.0.0.1:1", "."], (here(), at("127.0.0.1:1"))),
            (&["--http=127.0.0.1:1", "."], (here(), at("127.0.0.1:1"))),
            (&[".", "--http", "[::1]:1"], (here(), at("[::1]:1"))),
            (&["."], (here(), None)),
            (&["--", "."], (here(), None)),
        ] {
            assert_eq!(served(words).unwrap(), expected, "{words:?}");
        }
        for words in [&["--http", "nowhere"][..], &["--http=.", "."], &["--demo", "--http", "."]] {
            assert!(served(words).is_err(), "{words:?}");
        }
    }
}
