//! Does every input, text or bytes, give a configuration or a list of mistakes, and never a panic?
//!
//! `SEED=7 cargo test -p toolway config::tests` draws other inputs; a failure prints its seed.

use std::io::Write;

use super::file::MAX_SERVERS;
use super::host::Origin;
use super::*;

const SAMPLES: [&str; 6] = [
    r#"{"mcpServers":{"a":{"command":"${A:-x}","args":["$${b}",5,null],"env":{"K":"${env:B}","N":1},"cwd":"c"}}}"#,
    r#"{"servers":{"a":{"type":"http","url":"https://u:p@h/${input:t}?q","headers":{"A":"${B}"},"timeout":1e3}},
        "inputs":[{"id":"t","type":"promptString","description":"é","password":true,"options":["a",{"value":1}]}],}"#,
    r#"[{"command":"npx","args":["-y","@a/b@1"]},{"name":"x","serverUrl":"http://h:1"},{"httpUrl":"${U}"}]"#,
    "\u{feff}// comment\n{\"mcp\": {\"servers\": {\"é\": {/* x */ \"command\": \"a\\u00e9\\ud800\", \"envFile\": \".e\"},},},}",
    r#"{"a":{"command":"x","transport":"stdio","enabled":false},"b":{"url":"https://x","type":"sse","z":[[{}]]}}"#,
    r#"{"mcpServers":{"a":{"command":"a"},"a":{"command":"b","command":"c"},"":{},"b":[],"c":{"comand":"x"}}}"#,
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % limit as u64).unwrap()
    }
}

/// Uses every result: formats it, resolves it, and prints its mistakes.
fn use_all(bytes: &[u8]) -> bool {
    let variables = Variables::from_fn(|name| (name.len() % 2 == 0).then(|| "${A}\u{7f}".to_owned()));
    match Config::read(bytes, Origin::default()) {
        Ok(config) => {
            for server in &config.servers {
                assert!(!server.name.is_empty());
                let outcome = server.resolve(&variables);
                if let Err(error) = &outcome {
                    assert!(!error.mistakes().is_empty());
                }
                let _ = format!("{server:?} {outcome:?}");
            }
            true
        }
        Err(error) => {
            assert!(!error.mistakes().is_empty());
            for mistake in error.mistakes() {
                assert!(!mistake.message.contains('\n'), "{mistake}");
            }
            let _ = error.to_string();
            false
        }
    }
}

/// Prints which case failed.
struct Case {
    seed: u64,
    number: u64,
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "that was case {} with SEED={}", self.number, self.seed);
        }
    }
}

#[test]
fn any_bytes_are_a_configuration_or_mistakes() {
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse::<u64>().unwrap());
    let pieces: [&[u8]; 18] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"//",
        b"/*",
        b"*/",
        b"\n",
        b"${",
        b"null",
        b"\xff",
        b"1e999",
        b"\"\\ud800\"",
        b"\"command\":",
    ];
    let (mut right, mut wrong) = (0, 0);
    for number in 0..20_000_u64 {
        let state = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut random = Random(state.max(1));
        let mut bytes = match random.below(8) {
            0 => (0..random.below(60)).map(|_| u8::try_from(random.below(256)).unwrap()).collect(),
            1 => (0..random.below(30)).flat_map(|_| pieces[random.below(pieces.len())].to_vec()).collect(),
            _ => SAMPLES[random.below(SAMPLES.len())].as_bytes().to_vec(),
        };
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() + 1);
            match random.below(4) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                _ => drop(bytes.splice(at..at, pieces[random.below(pieces.len())].iter().copied())),
            }
        }
        let _told = Case { seed, number };
        *(if use_all(&bytes) { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 1_000 && wrong > 1_000, "{right} right, {wrong} wrong with SEED={seed}");
}

#[test]
fn what_is_nested_deeply_or_long_is_no_danger() {
    let deep = "[".repeat(1 << 20);
    assert!(!use_all(deep.as_bytes()));
    let deep =
        format!("{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"z\":{deep}{}}}}}}}", "]".repeat(1 << 20));
    assert!(use_all(deep.as_bytes()), "members that mean nothing are kept as they are");
    let wrong =
        format!("{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"args\":[{}]}}}}}}", "1,".repeat(100_000));
    let error = Config::parse(&wrong).unwrap_err();
    assert_eq!(error.mistakes().len(), 100);
    assert!(error.to_string().ends_with("and 99900 more"), "{error}");
    let many: Vec<_> =
        (0..=MAX_SERVERS).map(|number| format!("\"s{number}\":{{\"command\":\"x\"}}")).collect();
    assert!(Config::parse(&format!("{{{}}}", many[1..].join(","))).is_ok());
    let error = Config::parse(&format!("{{{}}}", many.join(","))).unwrap_err();
    assert!(error.to_string().contains("a file may have at most 1000"), "{error}");
    let long = " ".repeat(16 << 20);
    assert!(Config::parse(&long).unwrap_err().to_string().contains("nothing in it"));
    assert!(Config::parse(&(long + " ")).unwrap_err().to_string().contains("longer than 16777216 bytes"));
}
