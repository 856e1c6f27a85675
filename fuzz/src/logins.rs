//! What do the texts of OAuth mean, and can one of them reach a header or a log?

use http::{HeaderValue, Uri};
use serde_json::{Map, Value, json};
use toolway_protocol::oauth::{
    Answer, Callback, CallbackError, Challenge, Discovery, Found, HttpUrl, Next, Refusal, RegistrationReply,
    ResourceMetadata, Scopes, ServerMetadata, TokenError, TokenReply, form, is_resource_of,
};

use crate::{Outcome, split_lines};

/// What is read in a challenge is bounded, can be sent in a header, and is read again. Each line is a header line.
pub(crate) fn challenge(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let challenges = Challenge::read(text.split('\n'));
    assert!(challenges.len() <= 16, "{challenges:?}");
    for challenge in &challenges {
        let written = challenge.to_string();
        assert!(written.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{written:?}");
        assert!(written.matches("=\"").count() <= text.len(), "{written:?}");
        let again = Challenge::read([written.as_str()]);
        let [again] = &again[..] else { panic!("{written:?} is read as {again:?}") };
        assert_eq!(again.to_string(), written);
        assert!(again.is(&challenge.scheme.to_ascii_uppercase()));
        challenge.scopes().iter().for_each(check_scopes);
        // A challenge leads to a place on the Web, or to a path of the server.
        let discovery = Discovery::new(SERVER, challenge.get("resource_metadata")).unwrap();
        let Next::Fetch(url) = discovery.next() else { panic!("{discovery:?}") };
        assert!(HttpUrl::parse(url).is_some() || url.starts_with("https://notes.example/"), "{url:?}");
    }
    Outcome::of(!challenges.is_empty())
}

/// The document of an MCP server counts only for this server, and the search for its authorization server ends. The first
/// line is the URL of the server, the rest the document.
pub(crate) fn resource_metadata(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [server, document] = split_lines(text);
    let metadata = ResourceMetadata::read(document.as_bytes());
    if let Some(metadata) = &metadata {
        let value: Value = serde_json::from_str(document).unwrap();
        assert_eq!(value["resource"], metadata.resource.as_str());
        let mut written = json!({
            "resource": metadata.resource,
            "authorization_servers": metadata.authorization_servers,
            "dpop_bound_access_tokens_required": metadata.needs_dpop,
            "dpop_signing_alg_values_supported": metadata.dpop_algorithms,
        });
        if let Some(scopes) = &metadata.scopes {
            check_scopes(scopes);
            written["scopes_supported"] = as_list(scopes);
        }
        let again = ResourceMetadata::read(written.to_string().as_bytes());
        assert_eq!(again.as_ref(), Some(metadata), "what is written is read again");
    }
    let Ok(discovery) = Discovery::new(server, None) else { return Outcome::Refused };
    let (fetched, outcome) = search(discovery, |number| match number {
        0 => Answer::of(200, document.as_bytes()),
        _ => Answer::Absent,
    });
    let Some(metadata) = metadata else {
        // The server may be one of 2025-03-26. What the document named is not used.
        let origin = HttpUrl::parse(server).unwrap().origin;
        assert!(fetched.iter().all(|url| url.starts_with(origin)), "{fetched:?}");
        return Outcome::Refused;
    };
    if is_resource_of(&metadata.resource, server) {
        check_resource(&metadata.resource, server);
        let is_refused = matches!(outcome, Err(Refusal::NoIssuer | Refusal::NoServerMetadata { .. }));
        assert!(is_refused, "{outcome:?}");
        assert!(fetched.len() <= 1 + 4 * 3, "{fetched:?}");
    } else {
        assert!(matches!(outcome, Err(Refusal::OtherResource { .. })), "{outcome:?}");
        assert_eq!(fetched.len(), 1, "nothing is fetched after it");
    }
    Outcome::Accepted
}

/// An authorization server is found only under its own name. The first line is the name that the MCP server uses, the
/// rest the document.
pub(crate) fn server_metadata(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [issuer, document] = split_lines(text);
    let resource = json!({"resource": SERVER, "authorization_servers": [issuer]}).to_string();
    let (fetched, outcome) = search(Discovery::new(SERVER, None).unwrap(), |number| match number {
        0 => Answer::of(200, resource.as_bytes()),
        1 => Answer::of(200, document.as_bytes()),
        _ => Answer::Absent,
    });
    let Some(metadata) = ServerMetadata::read(document.as_bytes()) else {
        assert!(outcome.is_err(), "{outcome:?}");
        return Outcome::Refused;
    };
    let value: Value = serde_json::from_str(document).unwrap();
    assert_eq!(value["issuer"], metadata.issuer.as_str());
    let methods = value["code_challenge_methods_supported"].as_array();
    assert_eq!(metadata.has_pkce(), methods.is_some_and(|methods| methods.contains(&json!("S256"))));
    metadata.scopes.iter().for_each(check_scopes);
    match outcome {
        Ok(found) => {
            assert_eq!(found.server, metadata);
            let without_slash = |name: &str| name.strip_suffix('/').unwrap_or(name).to_owned();
            assert_eq!(without_slash(issuer), without_slash(&metadata.issuer));
            // Only a name without a path may differ, by a final slash.
            let has_path = HttpUrl::parse(issuer).unwrap().path.len() > 1;
            assert!(!has_path || issuer == metadata.issuer, "{issuer} calls itself {}", metadata.issuer);
        }
        Err(Refusal::IssuerDiffers { .. }) => {
            assert_ne!(issuer, metadata.issuer);
            assert_eq!(fetched.len(), 2, "nothing is fetched after it");
        }
        Err(refusal) => assert_eq!(refusal, Refusal::NoIssuer, "{issuer:?}"),
    }
    Outcome::Accepted
}

/// A callback has each parameter once, and only its own issuer lets it pass. The first line is the issuer, the rest the
/// query.
pub(crate) fn callback(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [issuer, query] = split_lines(text);
    let Some(pairs) = form::decode(query) else {
        assert_eq!(Callback::read(query), Err(CallbackError::Malformed));
        return Outcome::Refused;
    };
    let written = form::encode(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    assert!(written.bytes().all(|byte| byte.is_ascii_graphic()), "{written:?}");
    assert_eq!(form::decode(&written).as_ref(), Some(&pairs), "what is written is read again");
    let values = |name: &str| -> Vec<&str> {
        pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    };
    let expected = match (&values("code")[..], &values("error")[..], &values("state")[..]) {
        ([code], [], [state]) if !code.is_empty() => Some((Ok((*code).to_owned()), *state)),
        ([], [error], [state]) if !error.is_empty() => Some((Err((*error).to_owned()), *state)),
        _ => None,
    };
    let (expected, named) = (expected.filter(|_| values("iss").len() < 2), values("iss").first().copied());
    let Ok(callback) = Callback::read(query) else {
        assert_eq!(expected, None, "{query:?}");
        return Outcome::Refused;
    };
    let (outcome, state) = expected.unwrap();
    assert_eq!(callback.state(), state);
    assert_eq!(format!("{callback:?}"), "Callback { .. }");
    assert_eq!(Callback::read(&written).as_ref(), Ok(&callback));
    for names_itself in [false, true] {
        let expected = match named {
            Some(named) if named != issuer => Err(CallbackError::WrongIssuer),
            None if names_itself => Err(CallbackError::NoIssuer),
            _ => Ok(outcome.clone()),
        };
        assert_eq!(callback.clone().outcome(issuer, names_itself), expected);
    }
    Outcome::Accepted
}

/// A token can be sent in a header and is not shown, and an error has only the letters of a code.
pub(crate) fn token_reply(input: &[u8]) -> Outcome {
    if let Some(registration) = RegistrationReply::read(input) {
        assert!(!registration.client_id.is_empty());
        assert_ne!(registration.secret_expires_at, Some(0));
    }
    let reply = match TokenReply::read(input) {
        Ok(reply) => reply,
        Err(error) => {
            let text = error.to_string();
            assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}");
            if let TokenError::Refused { code } = &error {
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
                assert!(code.len() <= 64 && code.bytes().all(is_letter), "{code:?}");
            }
            return Outcome::of(matches!(error, TokenError::Refused { .. }));
        }
    };
    assert!(!reply.access_token.is_empty());
    let header = HeaderValue::from_str(&format!("Bearer {}", reply.access_token)).unwrap();
    assert!(header.as_bytes().iter().all(|byte| matches!(byte, b' '..=b'~')), "{header:?}");
    reply.scopes.iter().for_each(check_scopes);
    let (kind, life, scopes) = (reply.token_type, reply.expires_in, &reply.scopes);
    assert_eq!(
        format!("{reply:?}"),
        format!("TokenReply {{ token_type: {kind:?}, expires_in: {life:?}, scopes: {scopes:?}, .. }}")
    );
    // What is written, as JSON or as a form, is read again.
    let kind = format!("{kind:?}").replace("NotApplicable", "N_A");
    let texts = [
        ("access_token", Some(reply.access_token.clone())),
        ("token_type", Some(kind)),
        ("refresh_token", reply.refresh_token.clone()),
        ("expires_in", life.map(|life| life.to_string())),
        ("scope", scopes.as_ref().map(ToString::to_string)),
        ("issued_token_type", reply.issued_token_type.clone()),
    ];
    let pairs: Vec<_> = texts.iter().filter_map(|(name, text)| Some((*name, text.as_deref()?))).collect();
    let mut object: Map<_, _> = pairs.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    object.extend(scopes.as_ref().map(|scopes| ("scope".to_owned(), as_list(scopes))));
    assert_eq!(TokenReply::read(Value::Object(object).to_string().as_bytes()).as_ref(), Ok(&reply));
    if !scopes.as_ref().is_some_and(|scopes| scopes.to_string().contains(',')) {
        assert_eq!(TokenReply::read(form::encode(pairs).as_bytes()).as_ref(), Ok(&reply));
    }
    Outcome::Accepted
}

/// Answers a search until it ends. Returns what was fetched, and the outcome.
fn search<'a>(
    mut discovery: Discovery,
    answer: impl Fn(usize) -> Answer<'a>,
) -> (Vec<String>, Result<Found, Refusal>) {
    let mut fetched = Vec::new();
    loop {
        let url = match discovery.next() {
            Next::Fetch(url) => url.to_owned(),
            Next::Found(found) => return (fetched, Ok(found.clone())),
            Next::Refused(refusal) => {
                let text = refusal.to_string();
                assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}");
                return (fetched, Err(refusal.clone()));
            }
        };
        let parts = HttpUrl::parse(&url);
        assert!(parts.is_some_and(|parts| parts.fragment.is_none()), "{url:?} is not a URL");
        assert!(fetched.len() < 30, "it ends: {fetched:?}");
        discovery.take(answer(fetched.len()));
        fetched.push(url);
    }
}

/// Checks with another parser that a document speaks of this server.
fn check_resource(resource: &str, server: &str) {
    let authority = resource.split_once("://").unwrap().1.split(['/', '?']).next().unwrap();
    assert!(!authority.contains('@') && !resource.contains('#'), "{resource}");
    let path = |url: &str| {
        let rest = url.split_once("://").unwrap().1;
        let rest = rest.split(['?', '#']).next().unwrap();
        rest.find('/').map_or("", |start| &rest[start..]).trim_end_matches('/').to_owned()
    };
    let (folder, path) = (path(resource), path(server));
    assert!(path.starts_with(&folder), "{resource} is not a folder of {server}");
    assert!(
        matches!(path.as_bytes().get(folder.len()), None | Some(b'/')),
        "{resource} cuts a segment of {server}"
    );
    // `http` refuses a few names that the library takes as they are.
    if let (Ok(resource), Ok(server)) = (resource.parse::<Uri>(), server.parse::<Uri>()) {
        assert_eq!(resource.scheme(), server.scheme());
        let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
        assert_eq!(host(&resource), host(&server));
        let port =
            |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        assert_eq!(port(&resource), port(&server));
    }
}

/// Checks that scopes can be sent, and that they are bounded.
fn check_scopes(scopes: &Scopes) {
    let written = scopes.to_string();
    assert!(written.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{written:?}");
    assert!(!written.contains(['"', '\\']), "{written:?}");
    assert!(scopes.iter().count() <= 1000);
    // Some servers separate scopes by commas, so a comma in a scope survives only in a list.
    assert!(written.contains(',') || Scopes::parse(&written) == *scopes, "{written:?}");
    assert_eq!(Scopes::from_json(&as_list(scopes)).as_ref(), Some(scopes));
}

fn as_list(scopes: &Scopes) -> Value {
    scopes.iter().collect::<Vec<_>>().into()
}

const SERVER: &str = "https://notes.example/mcp";
