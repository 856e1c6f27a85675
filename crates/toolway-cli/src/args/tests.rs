//! Is a command line read as it is meant?

use super::*;

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
fn sizes_are_bytes_or_have_a_unit() {
    for (text, bytes) in
        [("1", 1), ("1000", 1000), ("2K", 2 << 10), ("64M", 64 << 20), ("3 MiB", 3 << 20), ("1gb", 1 << 30)]
    {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["", "0", "M", "-1", "1.5M", "12x", "4G", "99999999999", "1M2"] {
        assert!(size(text).is_err(), "{text}");
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
