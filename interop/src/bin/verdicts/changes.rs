//! Which mistakes and forgeries does a token have?

use serde_json::json;

use crate::ours::{AUDIENCE, ISSUER};
use crate::random::Random;
use crate::signature::{Keys, Spoiled};
use crate::token::{Encoding, Members, Shape, Writing};

/// A token before it is signed.
#[derive(Debug)]
pub(crate) struct Draft {
    header: Members,
    claims: Members,
    /// How the header and the claims are written.
    writing: [Writing; 2],
    /// How they are encoded before they are signed, as by a careless issuer.
    encoding: [Encoding; 2],
    /// The name of the key that signs, and the algorithm with which it signs.
    key: String,
    algorithm: &'static str,
    /// `true` if the public half of the key is taken for a shared secret.
    is_secret: bool,
    /// What is signed instead.
    signed_claims: Option<Members>,
    spoiled: Option<Spoiled>,
    signature_encoding: Encoding,
    shape: Shape,
    changes: Vec<String>,
}

impl Draft {
    /// A valid token, with up to three changes.
    pub(crate) fn random(random: &mut Random, keys: &Keys, now: u64) -> Self {
        let key = keys.any(true, random);
        let algorithm = key.algorithm(random);
        let mut draft = Self {
            header: Members::new(&[
                ("alg", quoted(algorithm)),
                ("typ", quoted("at+jwt")),
                ("kid", quoted(&key.id)),
            ]),
            claims: Members::new(&[
                ("iss", quoted(ISSUER)),
                ("sub", quoted("ann")),
                ("aud", quoted(AUDIENCE)),
                ("exp", (now + 600).to_string()),
                ("iat", (now - 5).to_string()),
                ("client_id", quoted("app")),
                ("scope", quoted("notes:read")),
            ]),
            writing: [Writing::Plain; 2],
            encoding: [Encoding::Plain; 2],
            key: key.id.clone(),
            algorithm,
            is_secret: false,
            signed_claims: None,
            spoiled: None,
            signature_encoding: Encoding::Plain,
            shape: Shape::Plain,
            changes: vec![format!("{algorithm} by {}", key.id)],
        };
        for _ in 0..random.pick(&[0, 1, 1, 1, 1, 1, 1, 2, 2, 3]) {
            draft.change(random, keys, now);
        }
        draft
    }

    /// Says what was changed.
    pub(crate) fn changes(&self) -> String {
        self.changes.join("; ")
    }

    /// Writes and signs the token.
    pub(crate) fn token(&self, random: &mut Random, keys: &Keys) -> Result<String, String> {
        let mut part = |members: &Members, at: usize| {
            let text = self.writing[at].apply(members, random);
            self.encoding[at].apply(&text, random)
        };
        let (header, claims) = (part(&self.header, 0), part(&self.claims, 1));
        let signed = format!("{header}.{claims}");
        let message = match &self.signed_claims {
            Some(claims) => format!("{header}.{}", part(claims, 1)),
            None => signed.clone(),
        };
        let key = keys.named(&self.key)?;
        let signature = if self.is_secret {
            key.sign_as_secret(message.as_bytes())
        } else {
            key.sign(self.algorithm, message.as_bytes())?
        };
        let signature = match self.spoiled {
            Some(spoiled) => spoiled.apply(signature, self.algorithm, random),
            None => signature,
        };
        let signature = self.signature_encoding.apply(&signature, random);
        Ok(self.shape.apply(&signed, &signature))
    }

    fn change(&mut self, random: &mut Random, keys: &Keys, now: u64) {
        match random.below(20) {
            0..=4 => self.change_header(random, keys),
            5..=11 => self.change_claims(random, now),
            12 | 13 => {
                let (at, writing) = (random.below(2), random.pick(&Writing::CHANGED));
                self.writing[at] = writing;
                self.note(format!("{} written {writing:?}", PARTS[at]));
            }
            14 => {
                let (at, encoding) = (random.below(2), random.pick(&Encoding::CHANGED));
                self.encoding[at] = encoding;
                self.note(format!("{} encoded {encoding:?}", PARTS[at]));
            }
            15 => {
                self.signature_encoding = random.pick(&Encoding::CHANGED);
                self.note(format!("signature encoded {:?}", self.signature_encoding));
            }
            16 => {
                self.shape = random.pick(&Shape::CHANGED);
                self.note(format!("shape {:?}", self.shape));
            }
            17 | 18 => {
                let spoiled = random.pick(&Spoiled::ALL);
                self.spoiled = Some(spoiled);
                self.note(format!("signature {spoiled:?}"));
            }
            _ => self.forge(random, keys),
        }
    }

    /// Lets another key sign, or another text be signed.
    fn forge(&mut self, random: &mut Random, keys: &Keys) {
        match random.below(6) {
            0 => self.sign_with(keys.any(false, random).id.clone()),
            1 => self.sign_with(keys.any(true, random).id.clone()),
            2 => {
                // The key comes with the token.
                let key = keys.any(false, random);
                self.sign_with(key.id.clone());
                self.algorithm = key.algorithm(random);
                self.header.set("alg", Some(&quoted(self.algorithm)));
                self.header.set("jwk", Some(&key.public.to_string()));
                self.header.set("jku", Some(&quoted("https://evil.example/keys")));
                self.note("with its own key".to_owned());
            }
            3 => {
                self.is_secret = true;
                self.header.set("alg", Some(&quoted("HS256")));
                self.note("the public key as a secret".to_owned());
            }
            4 => {
                self.algorithm = random.pick(&["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]);
                self.note(format!("signed as {}", self.algorithm));
            }
            _ => {
                self.signed_claims = Some(self.claims.clone());
                self.claims.set("sub", Some(&quoted("admin")));
                self.note("claims changed after signing".to_owned());
            }
        }
    }

    fn sign_with(&mut self, id: String) {
        self.note(format!("signed by {id}"));
        self.key = id;
    }

    fn change_header(&mut self, random: &mut Random, keys: &Keys) {
        let (name, values) = random.pick(HEADER);
        let value = match random.pick(values) {
            "KEY" => Some(quoted(&keys.any(true, random).id)),
            "STRANGER" => Some(keys.any(false, random).public.to_string()),
            "ALGORITHM" => Some(quoted(keys.any(true, random).algorithm(random))),
            // An algorithm that the signature fits as well, if the key may sign with it.
            "RSA" => {
                self.algorithm = random.pick(&["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]);
                Some(quoted(self.algorithm))
            }
            "" => None,
            value => Some(value.to_owned()),
        };
        self.set(0, name, value);
        if name == "b64" && random.below(2) == 0 {
            self.set(0, "crit", Some("[\"b64\"]".to_owned()));
        }
    }

    fn change_claims(&mut self, random: &mut Random, now: u64) {
        if random.below(2) == 0 {
            let name = random.pick(&["exp", "exp", "nbf", "iat"]);
            let value = time(random, now);
            self.set(1, name, value);
            return;
        }
        let (name, values) = random.pick(CLAIMS);
        let value = match random.pick(values) {
            "LONG" => Some(format!("\"{}\"", "x".repeat(12_000 + random.below(1000)))),
            "" => None,
            value => Some(value.to_owned()),
        };
        self.set(1, name, value);
        if name == "sub" && random.below(2) == 0 {
            self.set(1, "client_id", None);
        }
    }

    fn set(&mut self, at: usize, name: &str, value: Option<String>) {
        let members = if at == 0 { &mut self.header } else { &mut self.claims };
        let shown: String = value.as_deref().unwrap_or("absent").chars().take(60).collect();
        if members.get(name) != value.as_deref() {
            members.set(name, value.as_deref());
            self.note(format!("{} {name} {shown}", PARTS[at]));
        }
    }

    fn note(&mut self, change: String) {
        self.changes.push(change);
    }
}

/// Returns a time, which may be none. None is so near that the verdict depends on when it is asked for.
fn time(random: &mut Random, now: u64) -> Option<String> {
    let past = now - random.pick(&[100, 1000, 100_000]);
    let future = now + random.pick(&[1000, 10_000, 100_000]);
    Some(match random.below(20) {
        0 | 1 => past.to_string(),
        2 | 3 => future.to_string(),
        // Clocks may differ.
        4 => (now - 20).to_string(),
        5 => (now + 30).to_string(),
        6 => format!("{past}.5"),
        7 => format!("{future}.25"),
        8 => quoted(&future.to_string()),
        9 => quoted(&past.to_string()),
        10 => format!("-{future}"),
        11 => format!("[{future}]"),
        12 => format!("{{\"time\":{future}}}"),
        13 => format!("{future}000"),
        14 => format!("{}e{}", &past.to_string()[..2], past.to_string().len() - 2),
        15 => random.pick(&["0", "-0", "1", "-1", "0.0", "1e300", "-1e300"]).to_owned(),
        16 => random.pick(&["1e999", "-1e999", "NaN", "Infinity", "0x7fffffff", "01"]).to_owned(),
        17 => random
            .pick(&["9007199254740993", "18446744073709551616", "99999999999999999999999999"])
            .to_owned(),
        18 => random.pick(&["null", "true", "false", "\"\"", "\"soon\"", "\"1e99\"", "[]", "{}"]).to_owned(),
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

const PARTS: [&str; 2] = ["header", "claims"];

/// The members of headers, and their values. One without a value is absent.
const HEADER: &[(&str, &[&str])] = &[
    (
        "alg",
        &[
            "RSA",
            "RSA",
            "ALGORITHM",
            "\"none\"",
            "\"None\"",
            "\"HS256\"",
            "\"es256\"",
            "\"ES256K\"",
            "\"ES512\"",
            "\"Ed448\"",
            "\"RS256 \"",
            "\"\"",
            "null",
            "7",
            "[\"ES256\"]",
            "",
        ],
    ),
    ("alg", &["\"Ed25519\"", "\"EdDSA\"", "\"ES256\"", "\"RS256\"", "\"PS256\""]),
    (
        "typ",
        &[
            "",
            "\"JWT\"",
            "\"jwt\"",
            "\"AT+JWT\"",
            "\"application/at+jwt\"",
            "\"application/JWT\"",
            "\"dpop+jwt\"",
            "\"oauth-id-jag+jwt\"",
            "\"logout+jwt\"",
            "\"secevent+jwt\"",
            "\"text/at+jwt\"",
            "\"at+jwt \"",
            "\"\"",
            "null",
            "7",
            "[\"at+jwt\"]",
        ],
    ),
    (
        "kid",
        &[
            "",
            "KEY",
            "KEY",
            "\"unknown\"",
            "\"\"",
            "\"../../dev/null\"",
            "null",
            "7",
            "true",
            "[\"es\"]",
            "{\"a\":1}",
        ],
    ),
    ("crit", &["[\"exp\"]", "[\"b64\"]", "[\"kid\"]", "[\"more\"]", "[]", "\"exp\"", "null", "{}"]),
    ("b64", &["true", "false", "null", "\"false\""]),
    ("jwk", &["STRANGER", "STRANGER", "{}", "null", "7", "\"text\""]),
    ("jku", &["\"https://evil.example/keys\"", "null", "7"]),
    ("x5u", &["\"https://evil.example/keys\"", "null", "7"]),
    ("x5c", &["[\"AAAA\"]", "null", "\"AAAA\""]),
    ("x5t", &["\"AAAA\"", "null", "7"]),
    ("cty", &["\"JWT\"", "\"text/plain\"", "null", "7"]),
    ("more", &["1", "null", "{\"alg\":\"none\"}"]),
];

/// The claims other than times, and their values. One without a value is absent.
const CLAIMS: &[(&str, &[&str])] = &[
    (
        "iss",
        &[
            "",
            "\"https://id.example/\"",
            "\"https://ID.example\"",
            "\"http://id.example\"",
            "\"https://id.example.evil\"",
            "\"https://id.example#a\"",
            "\"https://id.example:443\"",
            "\" https://id.example\"",
            "[\"https://id.example\"]",
            "{\"https://id.example\":1}",
            "\"\"",
            "null",
            "7",
        ],
    ),
    (
        "aud",
        &[
            "",
            "[\"https://notes.example/mcp\"]",
            "[\"https://other.example\",\"https://notes.example/mcp\"]",
            "\"https://notes.example/mcp/\"",
            "\"https://notes.example\"",
            "\"HTTPS://NOTES.EXAMPLE/MCP\"",
            "[\"https://other.example\"]",
            "\"https://other.example https://notes.example/mcp\"",
            "[]",
            "\"\"",
            "null",
            "7",
            "true",
            "{\"https://notes.example/mcp\":1}",
            "[[\"https://notes.example/mcp\"]]",
            "[\"https://notes.example/mcp\",7]",
            "[null,\"https://notes.example/mcp\"]",
        ],
    ),
    (
        "sub",
        &["", "\"\"", "null", "7", "true", "[\"ann\"]", "{}", "\"\\u00e9\\ud83d\\ude00\"", "\"a\\u0000b\""],
    ),
    ("client_id", &["", "\"\"", "null", "7"]),
    ("azp", &["\"app\"", "null", "7"]),
    ("jti", &["\"1\"", "\"\"", "null", "7", "[]"]),
    ("scope", &["", "null", "7", "[\"notes:read\"]", "\"a  b\""]),
    ("cnf", &["{\"jkt\":\"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I\"}", "{\"jkt\":7}", "{}", "null"]),
    ("nonce", &["\"n\""]),
    ("more", &["LONG", "LONG", "null", "{\"a\":[1,2,{\"b\":null}]}", "1e308", "-0.0"]),
];
