//! What does a signed token say, and is it for this server? Its signature is verified elsewhere.

use std::fmt;

use base64_simd::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::document::Document;

/// A signed token in its compact form (RFC 7515, RFC 7519) that was read, but not verified: anyone can write one.
///
/// ```
/// use toolway_protocol::oauth::{Jwt, JwtError};
///
/// // {"alg":"none"}
/// assert_eq!(Jwt::read("eyJhbGciOiJub25lIn0.e30.").unwrap_err(), JwtError::Algorithm);
/// ```
pub struct Jwt<'t> {
    /// The algorithm that the header names.
    pub algorithm: Algorithm,
    header: Document,
    claims: Document,
    signed: &'t str,
    signature: Vec<u8>,
}

/// The algorithms of signatures (RFC 7518, RFC 8037). Those with a shared secret are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// The algorithms that are accepted if nothing else is configured.
    pub const DEFAULT: [Self; 7] =
        [Self::Rs256, Self::Rs384, Self::Ps256, Self::Ps384, Self::Es256, Self::Es384, Self::EdDsa];

    /// Returns the algorithm with this name.
    ///
    /// ```
    /// use toolway_protocol::oauth::Algorithm;
    ///
    /// assert_eq!(Algorithm::of_name("ES256"), Some(Algorithm::Es256));
    /// assert_eq!(Algorithm::of_name("HS256"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    /// Returns the name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// The rule that a token breaks. The text of each can be shown to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JwtError {
    /// It is longer than [`MAX_JWT`].
    TooLong,
    /// It does not have three parts in Base64 for URLs.
    Encoding,
    /// A part is not a JSON object, or has a key twice.
    Json,
    /// A member of it has another type than the standard says.
    Type,
    /// Its algorithm is not one of those that are accepted, or does not fit the key.
    Algorithm,
    /// Its header has `crit` or `b64`, which change what the other parts mean.
    Critical,
    /// It is a token of another kind, such as a proof or an ID token.
    Kind,
    /// Its issuer is not the expected one.
    Issuer,
    /// It is for another server.
    Audience,
    /// It has no time at which it expires, or one that is not a number.
    Expiry,
    /// It has expired.
    Expired,
    /// It is not valid yet, or was issued in the future.
    TooEarly,
    /// A time in it is not a number.
    Time,
    /// It names neither a user nor a client.
    Subject,
    /// None of the keys has signed it.
    Signature,
}

impl fmt::Display for JwtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the token is too long",
            Self::Encoding => "the token is not three parts in Base64",
            Self::Json => "a part of the token is not a JSON object with unique keys",
            Self::Type => "a member of the token has the wrong type",
            Self::Algorithm => "the algorithm of the token is not accepted",
            Self::Critical => "the token has extensions that are not supported",
            Self::Kind => "the token is not an access token",
            Self::Issuer => "the issuer of the token is not trusted",
            Self::Audience => "the token is for another server",
            Self::Expiry => "the token does not say when it expires",
            Self::Expired => "the token has expired",
            Self::TooEarly => "the token is not valid yet",
            Self::Time => "a time in the token is not a number",
            Self::Subject => "the token names neither a user nor a client",
            Self::Signature => "the signature of the token is not valid",
        })
    }
}

impl std::error::Error for JwtError {}

/// The length of the longest token that is read.
pub const MAX_JWT: usize = 16 << 10;

impl<'t> Jwt<'t> {
    /// Reads a token. Checks everything about its form, and nothing about its claims.
    ///
    /// # Errors
    ///
    /// If the token is malformed, or if its algorithm is not known.
    pub fn read(token: &'t str) -> Result<Self, JwtError> {
        if token.len() > MAX_JWT {
            return Err(JwtError::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(JwtError::Encoding)?;
        let (header, claims) = signed.split_once('.').ok_or(JwtError::Encoding)?;
        let header = Document::read(&decode(header)?).ok_or(JwtError::Json)?;
        let claims = Document::read(&decode(claims)?).ok_or(JwtError::Json)?;
        if ["crit", "b64"].iter().any(|name| header.get(name).is_some()) {
            return Err(JwtError::Critical);
        }
        if !has_standard_types(&header) {
            return Err(JwtError::Type);
        }
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(Algorithm::of_name);
        let algorithm = algorithm.ok_or(JwtError::Algorithm)?;
        Ok(Self { algorithm, header, claims, signed, signature: decode(signature)? })
    }

    /// Returns the name of the key that has signed the token.
    pub fn key_id(&self) -> Option<&str> {
        self.header.get("kid").and_then(Value::as_str)
    }

    /// Returns the kind of the token, `typ`, in lower case and without `application/`.
    pub fn kind(&self) -> Option<String> {
        let kind = self.header.get("typ")?.as_str().unwrap_or("?").to_ascii_lowercase();
        Some(kind.strip_prefix("application/").map_or_else(|| kind.clone(), str::to_owned))
    }

    /// Returns a member of the header.
    pub fn header(&self, name: &str) -> Option<&Value> {
        self.header.get(name)
    }

    /// Returns a claim.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }

    /// Returns a claim that is a text.
    pub fn text_claim(&self, name: &str) -> Option<&str> {
        self.claim(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns a time, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// If the claim is there, but is not a number.
    pub fn time_claim(&self, name: &str) -> Result<Option<f64>, JwtError> {
        self.claim(name).map(|time| time.as_f64().ok_or(JwtError::Time)).transpose()
    }

    /// Returns the bytes that are signed.
    pub fn signed_part(&self) -> &'t [u8] {
        self.signed.as_bytes()
    }

    /// Returns the signature.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Returns all claims.
    pub fn into_claims(self) -> Map<String, Value> {
        self.claims.into_members()
    }
}

/// Shows no claims: they may be personal.
impl fmt::Debug for Jwt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Checks the types of the members that RFC 7515 defines, also of those that are not used. Only `typ` has an error of its own.
fn has_standard_types(header: &Document) -> bool {
    let is_text = |name: &str| header.get(name).is_none_or(Value::is_string);
    let is_list = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    ["kid", "cty", "jku", "x5u", "x5t", "x5t#S256"].iter().all(|name| is_text(name))
        && header.get("x5c").is_none_or(is_list)
        && header.get("jwk").is_none_or(Value::is_object)
}

fn decode(part: &str) -> Result<Vec<u8>, JwtError> {
    URL_SAFE_NO_PAD.decode_to_vec(part).map_err(|_| JwtError::Encoding)
}

/// The rules for the claims of an access token.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRules<'r> {
    /// The issuer, which is compared as it is written.
    pub issuer: &'r str,
    /// The names of this server. One of them must be in `aud`.
    pub audiences: &'r [String],
    /// The clients whose tokens are accepted without `aud`.
    pub client_ids: &'r [String],
    /// `true` if a token for another server is accepted.
    pub accepts_any_audience: bool,
    /// Now, in seconds since 1970.
    pub now: f64,
    /// By how many seconds the clocks may differ.
    pub leeway: f64,
}

impl ClaimRules<'_> {
    /// Checks an access token, except for its signature.
    ///
    /// ```
    /// use toolway_protocol::oauth::{ClaimRules, Jwt, JwtError};
    ///
    /// // {"alg":"ES256"} and {"iss":"https://id.example","sub":"ann","aud":"https://notes.example/mcp","exp":1000}
    /// let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJzdWIiOiJhbm4iLCJhdWQiOiJodHRwczovL25vdGVzLmV4YW1wbGUvbWNwIiwiZXhwIjoxMDAwfQ.AA";
    /// let token = Jwt::read(token).unwrap();
    /// let audiences = ["https://notes.example/mcp".to_owned()];
    /// let mut rules = ClaimRules {
    ///     issuer: "https://id.example",
    ///     audiences: &audiences,
    ///     client_ids: &[],
    ///     accepts_any_audience: false,
    ///     now: 900.0,
    ///     leeway: 60.0,
    /// };
    /// assert_eq!(rules.check(&token), Ok(()));
    /// rules.now = 1060.0;
    /// assert_eq!(rules.check(&token), Err(JwtError::Expired));
    /// ```
    ///
    /// # Errors
    ///
    /// The first rule that the token breaks.
    pub fn check(&self, token: &Jwt<'_>) -> Result<(), JwtError> {
        match token.kind().as_deref() {
            Some("at+jwt") => {}
            // Only an ID token has the hash of an access token or of a code (OpenID Connect Core, 3.1.3.6 and 3.3.2.11).
            // Some issuers give it the audience of access tokens.
            None | Some("jwt") if ["at_hash", "c_hash"].iter().all(|name| token.claim(name).is_none()) => {}
            _ => return Err(JwtError::Kind),
        }
        self.check_use(|name| token.claim(name))?;
        if token.text_claim("iss") != Some(self.issuer) {
            return Err(JwtError::Issuer);
        }
        let expiry = token.time_claim("exp").map_err(|_| JwtError::Expiry)?.ok_or(JwtError::Expiry)?;
        if self.now >= expiry + self.leeway {
            return Err(JwtError::Expired);
        }
        for name in ["nbf", "iat"] {
            if token.time_claim(name)?.is_some_and(|time| time > self.now + self.leeway) {
                return Err(JwtError::TooEarly);
            }
        }
        self.check_audience(token.claim("aud"), token.text_claim("client_id"))?;
        if ["sub", "jti"].iter().any(|name| token.claim(name).is_some_and(|claim| !claim.is_string())) {
            return Err(JwtError::Type);
        }
        let names = ["sub", "client_id", "azp"];
        if names.iter().all(|name| token.text_claim(name).is_none()) {
            return Err(JwtError::Subject);
        }
        Ok(())
    }

    /// Checks the claims with which some issuers say what a token is for. One that renews or describes a login does not
    /// give access, although its other claims may be the same.
    ///
    /// # Errors
    ///
    /// If it is not for access.
    pub fn check_use<'v>(&self, claim: impl Fn(&str) -> Option<&'v Value>) -> Result<(), JwtError> {
        let is_access = claim("token_use").is_none_or(|value| *value == "access_token" || *value == "access");
        let is_other =
            claim("typ").is_some_and(|kind| ["ID", "Refresh", "Offline"].iter().any(|name| kind == name));
        if is_access && !is_other { Ok(()) } else { Err(JwtError::Kind) }
    }

    /// Checks if a token with this `aud` is for this server.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn check_audience(&self, audience: Option<&Value>, client: Option<&str>) -> Result<(), JwtError> {
        let is_ours =
            |name: &Value| name.as_str().is_some_and(|name| self.audiences.iter().any(|known| known == name));
        let is_accepted = match audience {
            Some(Value::Array(names)) => names.iter().all(Value::is_string) && names.iter().any(is_ours),
            Some(name) => is_ours(name),
            None => client.is_some_and(|client| self.client_ids.iter().any(|known| known == client)),
        };
        if is_accepted || self.accepts_any_audience { Ok(()) } else { Err(JwtError::Audience) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode_to_string(value.to_string());
        format!("{}.{}.AAAA", encode(header), encode(claims))
    }

    fn raw(header: &str, claims: &str) -> String {
        format!(
            "{}.{}.AAAA",
            URL_SAFE_NO_PAD.encode_to_string(header),
            URL_SAFE_NO_PAD.encode_to_string(claims)
        )
    }

    fn claims() -> Value {
        json!({"iss": "https://id.example", "sub": "ann", "aud": "https://notes.example/mcp", "exp": 1000})
    }

    fn verdict(header: &Value, claims: &Value) -> Result<(), JwtError> {
        let audiences = ["https://notes.example/mcp".to_owned(), "api://notes".to_owned()];
        let client_ids = ["app".to_owned()];
        let rules = ClaimRules {
            issuer: "https://id.example",
            audiences: &audiences,
            client_ids: &client_ids,
            accepts_any_audience: false,
            now: 500.0,
            leeway: 60.0,
        };
        rules.check(&Jwt::read(&token(header, claims))?)
    }

    #[test]
    fn what_is_malformed_is_not_read() {
        let fine = r#"{"alg":"ES256"}"#;
        for (text, error) in [
            (String::new(), JwtError::Encoding),
            ("a.b".to_owned(), JwtError::Encoding),
            (format!("{}.AAAA", raw(fine, "{}")), JwtError::Encoding),
            (raw(fine, "{}").replace('.', "=."), JwtError::Encoding),
            (raw(fine, "{}").replace('.', " ."), JwtError::Encoding),
            (raw(fine, "[]"), JwtError::Json),
            (raw(fine, r#"{"a":1,"a":1}"#), JwtError::Json),
            (raw(r#"{"alg":"ES256","alg":"ES256"}"#, "{}"), JwtError::Json),
            (raw(fine, "{} {}"), JwtError::Json),
            (raw("{}", "{}"), JwtError::Algorithm),
            (raw(r#"{"alg":"none"}"#, "{}"), JwtError::Algorithm),
            (raw(r#"{"alg":"HS256"}"#, "{}"), JwtError::Algorithm),
            (raw(r#"{"alg":"es256"}"#, "{}"), JwtError::Algorithm),
            (raw(r#"{"alg":["ES256"]}"#, "{}"), JwtError::Algorithm),
            (raw(r#"{"alg":"ES256","kid":7}"#, "{}"), JwtError::Type),
            (raw(r#"{"alg":"ES256","x5c":"x"}"#, "{}"), JwtError::Type),
            (raw(r#"{"alg":"ES256","crit":[]}"#, "{}"), JwtError::Critical),
            (raw(r#"{"alg":"ES256","b64":true}"#, "{}"), JwtError::Critical),
            (format!("{}{}", raw(fine, "{}"), "A".repeat(MAX_JWT)), JwtError::TooLong),
        ] {
            assert_eq!(Jwt::read(&text).err(), Some(error), "{text:.80}");
        }
        // The last character of Base64 has bits that must be zero: a second spelling of the same bytes is refused.
        let (head, _) =
            raw(fine, "{}").rsplit_once('.').map(|(head, tail)| (head.to_owned(), tail.to_owned())).unwrap();
        assert!(Jwt::read(&format!("{head}.AA")).is_ok());
        assert_eq!(Jwt::read(&format!("{head}.AB")).err(), Some(JwtError::Encoding));
    }

    #[test]
    fn the_claims_must_be_those_of_an_access_token_for_this_server() {
        let header = json!({"alg": "ES256"});
        assert_eq!(verdict(&header, &claims()), Ok(()));
        let token = token(&header, &claims());
        let shown = format!("{:?}", Jwt::read(&token).unwrap());
        assert!(shown.contains("Es256") && !shown.contains("ann") && !shown.contains("eyJ"), "{shown}");
        for (name, value, outcome) in [
            ("iss", json!("https://id.example/"), Err(JwtError::Issuer)),
            ("iss", Value::Null, Err(JwtError::Issuer)),
            ("aud", json!("https://notes.example/mcp/"), Err(JwtError::Audience)),
            ("aud", json!(["other", "api://notes"]), Ok(())),
            ("aud", json!(["other", 1]), Err(JwtError::Audience)),
            ("aud", json!(["api://notes", null]), Err(JwtError::Audience)),
            ("aud", json!([]), Err(JwtError::Audience)),
            ("aud", json!({"https://notes.example/mcp": 1}), Err(JwtError::Audience)),
            ("aud", Value::Null, Err(JwtError::Audience)),
            ("exp", Value::Null, Err(JwtError::Expiry)),
            ("exp", json!("1000"), Err(JwtError::Expiry)),
            ("exp", json!(true), Err(JwtError::Expiry)),
            ("exp", json!(440), Err(JwtError::Expired)),
            ("exp", json!(440.5), Ok(())),
            ("exp", json!(-1), Err(JwtError::Expired)),
            ("nbf", json!(560), Ok(())),
            ("nbf", json!(561), Err(JwtError::TooEarly)),
            ("nbf", json!("1"), Err(JwtError::Time)),
            ("iat", json!(1e300), Err(JwtError::TooEarly)),
            ("iat", json!([]), Err(JwtError::Time)),
            ("sub", json!(""), Err(JwtError::Subject)),
            ("sub", json!(7), Err(JwtError::Type)),
            ("jti", json!([]), Err(JwtError::Type)),
            // Kinds of tokens, as Cognito, Hydra and Keycloak name them.
            ("token_use", json!("access"), Ok(())),
            ("token_use", json!("access_token"), Ok(())),
            ("token_use", json!("id"), Err(JwtError::Kind)),
            ("token_use", json!("refresh_token"), Err(JwtError::Kind)),
            ("token_use", json!(1), Err(JwtError::Kind)),
            ("typ", json!("Bearer"), Ok(())),
            ("typ", json!("ID"), Err(JwtError::Kind)),
            ("typ", json!("Refresh"), Err(JwtError::Kind)),
            ("typ", json!("Offline"), Err(JwtError::Kind)),
        ] {
            let mut changed = claims();
            changed[name] = value.clone();
            assert_eq!(verdict(&header, &changed), outcome, "{name}: {value}");
        }
        let mut of_client = claims();
        of_client.as_object_mut().unwrap().remove("sub");
        of_client["client_id"] = json!("app");
        assert_eq!(verdict(&header, &of_client), Ok(()));
        // Without `aud`, the client decides; with one, it does not.
        of_client["aud"] = json!("other");
        assert_eq!(verdict(&header, &of_client), Err(JwtError::Audience));
        of_client.as_object_mut().unwrap().remove("aud");
        assert_eq!(verdict(&header, &of_client), Ok(()));
        of_client["client_id"] = json!("another app");
        assert_eq!(verdict(&header, &of_client), Err(JwtError::Audience));
    }

    #[test]
    fn a_token_of_another_kind_is_no_access_token() {
        for (kind, outcome) in [
            (json!("at+jwt"), Ok(())),
            (json!("application/AT+JWT"), Ok(())),
            (json!("JWT"), Ok(())),
            (json!("dpop+jwt"), Err(JwtError::Kind)),
            (json!("oauth-id-jag+jwt"), Err(JwtError::Kind)),
            (json!(1), Err(JwtError::Kind)),
        ] {
            assert_eq!(verdict(&json!({"alg": "ES256", "typ": kind}), &claims()), outcome, "{kind}");
        }
    }

    #[test]
    fn an_id_token_is_not_an_access_token_even_if_it_is_for_this_server() {
        for name in ["at_hash", "c_hash"] {
            let mut id_token = claims();
            id_token[name] = json!("2J9rerv9VvowjWB9wWzi0Q");
            let verdict_as = |header| verdict(&header, &id_token);
            assert_eq!(verdict_as(json!({"alg": "ES256"})), Err(JwtError::Kind), "{name}");
            assert_eq!(verdict_as(json!({"alg": "ES256", "typ": "JWT"})), Err(JwtError::Kind), "{name}");
            assert_eq!(verdict_as(json!({"alg": "ES256", "typ": "at+jwt"})), Ok(()), "{name}");
        }
    }
}
