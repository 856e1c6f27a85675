//! Which documents are fetched, in which order, and which are refused?
//!
//! [`Discovery`] does no I/O. It says which document it needs next, and is told what came. A document that is refused ends
//! the search: its author must not be able to lead a client to the next place. Only a document that does not exist
//! lets the search go on, and only if the server has none at all, it is taken for one of 2025-03-26.

use std::collections::VecDeque;

use super::metadata::{ResourceMetadata, ServerMetadata};
use super::refusal::{Refusal, origin_of};
use super::resource::{is_resource_of, is_same_issuer, without_slash};
use super::url::HttpUrl;

/// The search for the authorization server of an MCP server.
///
/// ```
/// use toolway_protocol::oauth::{Answer, Discovery, Next};
///
/// let mut discovery = Discovery::new("https://notes.example/mcp", None).unwrap();
/// let mut fetched = Vec::new();
/// let found = loop {
///     let url = match discovery.next() {
///         Next::Fetch(url) => url.to_owned(),
///         Next::Found(found) => break found,
///         Next::Refused(refusal) => panic!("{refusal}"),
///     };
///     // Here the application would fetch the document.
///     discovery.take(match url.as_str() {
///         "https://notes.example/.well-known/oauth-protected-resource/mcp" => Answer::of(
///             200,
///             br#"{"resource": "https://notes.example/mcp", "authorization_servers": ["https://id.example"]}"#,
///         ),
///         "https://id.example/.well-known/openid-configuration" => Answer::of(
///             200,
///             br#"{"issuer": "https://id.example", "token_endpoint": "https://id.example/token"}"#,
///         ),
///         _ => Answer::of(404, b""),
///     });
///     fetched.push(url);
/// };
/// assert_eq!(found.server.token_endpoint.as_deref(), Some("https://id.example/token"));
/// assert_eq!(fetched.len(), 3);
/// ```
#[derive(Debug)]
pub struct Discovery {
    server: String,
    /// Scheme, host and port of the MCP server.
    origin: String,
    chosen: Vec<String>,
    accepted: Vec<(String, String)>,
    /// The URL of the document of the MCP server.
    document: Option<String>,
    stage: Stage,
    /// `true` if the current document was asked for, and no answer came.
    is_repeat: bool,
}

#[derive(Debug)]
enum Stage {
    /// Looks for the document of the MCP server.
    Resource(VecDeque<String>),
    /// Looks for the document of an authorization server.
    Server {
        resource: Option<Box<ResourceMetadata>>,
        issuer: String,
        urls: VecDeque<String>,
        others: VecDeque<String>,
    },
    /// The MCP server may be its own authorization server, as in 2025-03-26.
    Origin(VecDeque<String>),
    Found(Box<Found>),
    Refused(Refusal),
}

/// The next step of a search.
#[derive(Debug)]
pub enum Next<'a> {
    /// The document with this URL.
    Fetch(&'a str),
    /// Nothing: this was found.
    Found(&'a Found),
    /// Nothing: the search has failed.
    Refused(&'a Refusal),
}

/// The authorization server of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The document of the MCP server; `None` for one of 2025-03-26.
    pub resource: Option<ResourceMetadata>,
    /// The document of its authorization server.
    pub server: ServerMetadata,
    /// The URL from which the document of the MCP server came; `None` for one of 2025-03-26.
    pub document: Option<String>,
}

/// The outcome of fetching a document.
#[derive(Debug)]
pub enum Answer<'a> {
    /// The document.
    Document(&'a [u8]),
    /// There is no such document.
    Absent,
    /// The server did not answer, or could not.
    NoAnswer,
}

impl<'a> Answer<'a> {
    /// The answer that an HTTP status and a body stand for.
    pub fn of(status: u16, body: &'a [u8]) -> Self {
        match status {
            200..=299 => Self::Document(body),
            429 | 500.. => Self::NoAnswer,
            _ => Self::Absent,
        }
    }
}

impl Discovery {
    /// A search for the MCP server with this URL. `document` is the `resource_metadata` of its challenge.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotAUrl`].
    pub fn new(server: &str, document: Option<&str>) -> Result<Self, Refusal> {
        let url = HttpUrl::parse(server).ok_or(Refusal::NotAUrl)?;
        let named = document.and_then(|document| match document.strip_prefix('/') {
            Some(rest) if !rest.starts_with('/') => Some(format!("{}{document}", url.origin)),
            _ => HttpUrl::parse(document).map(|_| document.to_owned()),
        });
        let path = without_slash(url.path);
        let root = format!("{}{RESOURCE}", url.origin);
        let inserted = (!path.is_empty()).then(|| format!("{root}{path}"));
        let mut urls = VecDeque::new();
        for url in [named, inserted, Some(root)].into_iter().flatten() {
            if !urls.contains(&url) {
                urls.push_back(url);
            }
        }
        let (server, origin) = (server.to_owned(), url.origin.to_owned());
        Ok(Self::at(server, origin, Stage::Resource(urls)))
    }

    /// A search for the document of an authorization server that the application has named.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotAUrl`].
    pub fn of_issuer(issuer: &str) -> Result<Self, Refusal> {
        let url = HttpUrl::parse(issuer).ok_or(Refusal::NotAUrl)?;
        let (server, origin) = (issuer.to_owned(), url.origin.to_owned());
        let stage = look_at_issuer(None, [server.clone()].into(), None);
        Ok(Self::at(server, origin, stage))
    }

    fn at(server: String, origin: String, stage: Stage) -> Self {
        let (chosen, accepted) = (Vec::new(), Vec::new());
        Self { server, origin, chosen, accepted, document: None, stage, is_repeat: false }
    }

    /// Prefers these authorization servers, if the MCP server names them.
    #[must_use]
    pub fn prefer(mut self, issuers: impl IntoIterator<Item = String>) -> Self {
        self.chosen.extend(issuers);
        self
    }

    /// Accepts that an authorization server with the first name, which MCP servers use, has the second name in its
    /// document.
    #[must_use]
    pub fn accept(mut self, names: impl IntoIterator<Item = (String, String)>) -> Self {
        self.accepted.extend(names);
        self
    }

    /// Returns what is needed next.
    pub fn next(&self) -> Next<'_> {
        match &self.stage {
            Stage::Resource(urls) | Stage::Origin(urls) | Stage::Server { urls, .. } => {
                Next::Fetch(urls.front().map_or("", String::as_str))
            }
            Stage::Found(found) => Next::Found(found),
            Stage::Refused(refusal) => Next::Refused(refusal),
        }
    }

    /// Returns whether the next document belongs to an MCP server of 2025-03-26, which wants to know the revision.
    pub fn is_legacy(&self) -> bool {
        matches!(self.stage, Stage::Origin(_))
    }

    /// Takes what came for the document that was needed.
    pub fn take(&mut self, answer: Answer<'_>) {
        let stage = std::mem::replace(&mut self.stage, Stage::Refused(Refusal::NotAUrl));
        let was_repeat = std::mem::take(&mut self.is_repeat);
        self.stage = match (stage, answer) {
            (done @ (Stage::Found(_) | Stage::Refused(_)), _) => done,
            (Stage::Resource(urls) | Stage::Origin(urls) | Stage::Server { urls, .. }, Answer::NoAnswer)
                if was_repeat =>
            {
                let at = urls.front().map(|url| origin_of(url)).unwrap_or_default();
                Stage::Refused(Refusal::NoAnswer { at })
            }
            (stage, Answer::NoAnswer) => {
                self.is_repeat = true;
                stage
            }
            (Stage::Resource(mut urls), answer) => {
                let at = urls.pop_front().unwrap_or_default();
                match as_document(&answer).and_then(ResourceMetadata::read) {
                    Some(resource) => self.take_resource(&at, resource),
                    None if urls.is_empty() => self.look_at_origin(),
                    None => Stage::Resource(urls),
                }
            }
            (Stage::Server { resource, issuer, mut urls, others }, answer) => {
                urls.pop_front();
                match as_document(&answer).and_then(ServerMetadata::read) {
                    Some(server) => self.take_server(resource.map(|resource| *resource), &issuer, server),
                    None if urls.is_empty() => look_at_issuer(resource, others, Some(issuer)),
                    None => Stage::Server { resource, issuer, urls, others },
                }
            }
            (Stage::Origin(mut urls), answer) => {
                urls.pop_front();
                match as_document(&answer).and_then(ServerMetadata::read) {
                    Some(server) => self.take_server(None, &self.origin, server),
                    None if urls.is_empty() => {
                        let server = ServerMetadata::of_origin(&self.origin);
                        Stage::Found(Box::new(Found { resource: None, server, document: None }))
                    }
                    None => Stage::Origin(urls),
                }
            }
        };
    }

    fn take_resource(&mut self, at: &str, resource: ResourceMetadata) -> Stage {
        if !is_resource_of(&resource.resource, &self.server) {
            let (at, resource) = (origin_of(at), resource.resource);
            return Stage::Refused(Refusal::OtherResource { at, resource });
        }
        self.document = Some(at.to_owned());
        let is_chosen = |issuer: &&String| self.chosen.iter().any(|chosen| is_same_issuer(issuer, chosen));
        let issuers = &resource.authorization_servers;
        let (chosen, others): (Vec<_>, Vec<_>) = issuers.iter().partition(is_chosen);
        let issuers = chosen.into_iter().chain(others).take(MAX_ISSUERS).cloned().collect();
        look_at_issuer(Some(Box::new(resource)), issuers, None)
    }

    /// The MCP server has no document about itself.
    fn look_at_origin(&self) -> Stage {
        let origin = &self.origin;
        Stage::Origin([format!("{origin}{SERVER}"), format!("{origin}{OPENID}")].into())
    }

    fn take_server(&self, resource: Option<ResourceMetadata>, issuer: &str, server: ServerMetadata) -> Stage {
        let is_accepted =
            |(named, own): &(String, String)| is_same_issuer(issuer, named) && *own == server.issuer;
        if !is_same_issuer(issuer, &server.issuer) && !self.accepted.iter().any(is_accepted) {
            let (named, found) = (issuer.to_owned(), server.issuer);
            return Stage::Refused(Refusal::IssuerDiffers { named, found });
        }
        Stage::Found(Box::new(Found { resource, server, document: self.document.clone() }))
    }
}

/// Goes on with the next authorization server.
fn look_at_issuer(
    resource: Option<Box<ResourceMetadata>>,
    mut others: VecDeque<String>,
    failed: Option<String>,
) -> Stage {
    let Some(issuer) = others.pop_front() else {
        return Stage::Refused(
            failed
                .map_or(Refusal::NoIssuer, |issuer| Refusal::NoServerMetadata { issuer: origin_of(&issuer) }),
        );
    };
    let Some(url) = HttpUrl::parse(&issuer).filter(|url| url.query.is_none() && url.fragment.is_none())
    else {
        return Stage::Refused(Refusal::NoIssuer);
    };
    let (origin, path) = (url.origin, without_slash(url.path));
    let mut urls = VecDeque::from([format!("{origin}{SERVER}{path}"), format!("{origin}{OPENID}{path}")]);
    if !path.is_empty() {
        urls.push_back(format!("{origin}{path}{OPENID}"));
    }
    Stage::Server { resource, issuer, urls, others }
}

fn as_document<'a>(answer: &Answer<'a>) -> Option<&'a [u8]> {
    match answer {
        Answer::Document(document) => Some(document),
        _ => None,
    }
}

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// The largest number of authorization servers that are looked at.
const MAX_ISSUERS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers a search from a list of URLs and documents; everything else is absent. Returns what was fetched.
    fn search(
        mut discovery: Discovery,
        documents: &[(&str, u16, &str)],
    ) -> (Vec<String>, Result<Found, Refusal>) {
        let mut fetched = Vec::new();
        loop {
            let url = match discovery.next() {
                Next::Fetch(url) => url.to_owned(),
                Next::Found(found) => return (fetched, Ok(found.clone())),
                Next::Refused(refusal) => return (fetched, Err(refusal.clone())),
            };
            assert!(fetched.len() < 50, "it ends: {fetched:?}");
            let (_, status, body) =
                documents.iter().find(|(known, ..)| *known == url).unwrap_or(&("", 404, ""));
            discovery.take(Answer::of(*status, body.as_bytes()));
            fetched.push(url.strip_prefix("https://").unwrap().to_owned());
        }
    }

    fn resource(resource: &str, issuers: &[&str]) -> String {
        serde_json::json!({"resource": resource, "authorization_servers": issuers}).to_string()
    }

    fn server(issuer: &str) -> String {
        serde_json::json!({"issuer": issuer}).to_string()
    }

    const MCP: &str = "https://s.example/mcp";
    const MCP_DOCUMENT: &str = "https://s.example/.well-known/oauth-protected-resource/mcp";
    const ROOT_DOCUMENT: &str = "https://s.example/.well-known/oauth-protected-resource";

    #[test]
    fn documents_are_asked_for_in_the_fixed_order() {
        let discovery =
            Discovery::new("https://s.example/mcp/?key=1", Some("https://s.example/custom")).unwrap();
        let root = resource("https://s.example", &["https://id.example/tenant"]);
        let (fetched, found) = search(
            discovery,
            &[
                (ROOT_DOCUMENT, 200, &root),
                (
                    "https://id.example/tenant/.well-known/openid-configuration",
                    200,
                    &server("https://id.example/tenant"),
                ),
            ],
        );
        assert_eq!(
            fetched,
            [
                "s.example/custom",
                "s.example/.well-known/oauth-protected-resource/mcp",
                "s.example/.well-known/oauth-protected-resource",
                "id.example/.well-known/oauth-authorization-server/tenant",
                "id.example/.well-known/openid-configuration/tenant",
                "id.example/tenant/.well-known/openid-configuration",
            ]
        );
        let found = found.unwrap();
        assert_eq!(found.server.issuer, "https://id.example/tenant");
        assert_eq!(found.document.as_deref(), Some(ROOT_DOCUMENT), "where the search found it");
    }

    #[test]
    fn a_server_without_a_document_is_its_own_authorization_server() {
        let (fetched, found) = search(Discovery::new("https://s.example", None).unwrap(), &[]);
        assert_eq!(
            fetched,
            [
                "s.example/.well-known/oauth-protected-resource",
                "s.example/.well-known/oauth-authorization-server",
                "s.example/.well-known/openid-configuration",
            ]
        );
        let found = found.unwrap();
        assert_eq!(
            (found.resource, found.document, found.server.token_endpoint.as_deref()),
            (None, None, Some("https://s.example/token"))
        );
        let own = "https://s.example/.well-known/oauth-authorization-server";
        let (_, found) =
            search(Discovery::new(MCP, None).unwrap(), &[(own, 200, &server("https://s.example"))]);
        assert_eq!(found.unwrap().server.token_endpoint, None, "a document counts as it is");
        let (_, found) =
            search(Discovery::new(MCP, None).unwrap(), &[(own, 200, &server("https://evil.example"))]);
        assert!(matches!(found, Err(Refusal::IssuerDiffers { .. })), "{found:?}");
    }

    #[test]
    fn each_answer_to_each_document_leads_to_the_next_place_or_to_an_end() {
        let html = "<!doctype html>";
        for (status, body) in
            [(404, ""), (401, ""), (403, "{}"), (405, ""), (200, html), (200, "[]"), (200, "{}"), (302, "")]
        {
            let (fetched, found) =
                search(Discovery::new(MCP, None).unwrap(), &[(MCP_DOCUMENT, status, body)]);
            assert!(found.is_ok() && fetched.len() == 4, "{status} {body}: {fetched:?}");
        }
        for status in [429, 500, 503] {
            let (fetched, found) = search(Discovery::new(MCP, None).unwrap(), &[(MCP_DOCUMENT, status, "")]);
            assert_eq!(found, Err(Refusal::NoAnswer { at: "https://s.example".to_owned() }), "{status}");
            assert_eq!(fetched.len(), 2, "once more, and nothing after it");
        }
        let document = resource(MCP, &["https://id.example"]);
        let first = "https://id.example/.well-known/oauth-authorization-server";
        for (status, body, is_found) in [
            (404, "", false),
            (200, html, false),
            (500, "", false),
            (200, "{\"issuer\":\"https://id.example\"}", true),
        ] {
            let (_, found) = search(
                Discovery::new(MCP, None).unwrap(),
                &[(MCP_DOCUMENT, 200, &document), (first, status, body)],
            );
            assert_eq!(found.is_ok(), is_found, "{status} {body}");
            assert!(!matches!(&found, Ok(Found { resource: None, .. })), "an outage is not an old server");
        }
    }

    #[test]
    fn a_document_that_is_refused_ends_the_search() {
        let other = resource("https://other.example/mcp", &["https://id.example"]);
        let (fetched, found) = search(
            Discovery::new(MCP, None).unwrap(),
            &[
                (MCP_DOCUMENT, 200, &other),
                (ROOT_DOCUMENT, 200, &resource("https://s.example", &["https://id.example"])),
            ],
        );
        assert!(matches!(found, Err(Refusal::OtherResource { .. })), "{found:?}");
        assert_eq!(fetched.len(), 1);
        let document = resource(MCP, &["https://id.example", "https://second.example"]);
        for name in [
            "https://evil.example",
            "https://id.example/tenant",
            "https://ID.example",
            "https://id.example:443",
            "http://id.example",
        ] {
            let (fetched, found) = search(
                Discovery::new(MCP, None).unwrap(),
                &[
                    (MCP_DOCUMENT, 200, &document),
                    ("https://id.example/.well-known/oauth-authorization-server", 200, &server(name)),
                    (
                        "https://id.example/.well-known/openid-configuration",
                        200,
                        &server("https://id.example"),
                    ),
                ],
            );
            assert!(matches!(found, Err(Refusal::IssuerDiffers { .. })), "{name}: {found:?}");
            assert_eq!(fetched.len(), 2, "{name}");
        }
    }

    #[test]
    fn a_name_without_a_path_may_have_a_slash() {
        let first = "https://id.example/.well-known/oauth-authorization-server";
        for (named, own, is_same) in [
            ("https://id.example/", "https://id.example", true),
            ("https://id.example", "https://id.example/", true),
            ("https://id.example/", "https://id.example//", false),
        ] {
            let document = resource(MCP, &[named]);
            let (_, found) = search(
                Discovery::new(MCP, None).unwrap(),
                &[(MCP_DOCUMENT, 200, &document), (first, 200, &server(own))],
            );
            assert_eq!(
                found.map(|found| found.server.issuer).ok().as_deref(),
                is_same.then_some(own),
                "{named}"
            );
        }
        assert!(!is_same_issuer("https://id.example/a", "https://id.example/a/"));
    }

    #[test]
    fn the_application_can_choose_and_accept() {
        let document = resource(MCP, &["https://a.example", "https://b.example"]);
        let places = [
            (MCP_DOCUMENT, 200, document.as_str()),
            (
                "https://b.example/.well-known/oauth-authorization-server",
                200,
                "{\"issuer\":\"https://b2.example\"}",
            ),
        ];
        let discovery = Discovery::new(MCP, None).unwrap().prefer(["https://b.example/".to_owned()]);
        let (fetched, found) = search(discovery, &places);
        assert_eq!(fetched.len(), 2);
        assert!(matches!(found, Err(Refusal::IssuerDiffers { .. })));
        let names = |named: &str, own: &str| [(named.to_owned(), own.to_owned())];
        // Another server does not get the name that was accepted for this one.
        for (named, own) in [
            ("https://c.example", "https://b2.example"),
            ("https://b.example", "https://b2.example/"),
            ("https://b2.example", "https://b2.example"),
        ] {
            let discovery = Discovery::new(MCP, None).unwrap().accept(names(named, own));
            assert!(
                matches!(search(discovery, &places).1, Err(Refusal::IssuerDiffers { .. })),
                "{named} {own}"
            );
        }
        let accepted = names("https://b.example/", "https://b2.example");
        let discovery = Discovery::new(MCP, None).unwrap().accept(accepted);
        let (fetched, found) = search(discovery, &places);
        assert_eq!(found.unwrap().server.issuer, "https://b2.example");
        assert_eq!(fetched.len(), 4, "the first one describes itself nowhere");
    }

    #[test]
    fn what_names_no_server_is_refused() {
        for issuers in [
            &[][..],
            &["not a url"],
            &["https://id.example?x=1"],
            &["https://id.example#x"],
            &["javascript:1"],
        ] {
            let document = resource(MCP, issuers);
            let (_, found) = search(Discovery::new(MCP, None).unwrap(), &[(MCP_DOCUMENT, 200, &document)]);
            assert_eq!(found, Err(Refusal::NoIssuer), "{issuers:?}");
        }
        assert_eq!(Discovery::new("stdio", None).err(), Some(Refusal::NotAUrl));
        let many: Vec<_> = (0..100).map(|number| format!("https://id{number}.example")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let document = resource(MCP, &many);
        let (fetched, found) = search(Discovery::new(MCP, None).unwrap(), &[(MCP_DOCUMENT, 200, &document)]);
        assert_eq!((fetched.len(), matches!(found, Err(Refusal::NoServerMetadata { .. }))), (9, true));
    }

    #[test]
    fn a_document_is_looked_for_where_the_challenge_says() {
        for (named, first) in [
            (Some("/meta"), "s.example/meta"),
            (Some("https://cdn.example/meta?x=1"), "cdn.example/meta?x=1"),
            (Some("//evil.example/meta"), "s.example/.well-known/oauth-protected-resource/mcp"),
            (Some("file:///etc/passwd"), "s.example/.well-known/oauth-protected-resource/mcp"),
            (Some("https://user@evil.example/"), "s.example/.well-known/oauth-protected-resource/mcp"),
            (Some(""), "s.example/.well-known/oauth-protected-resource/mcp"),
        ] {
            let (fetched, _) = search(Discovery::new(MCP, named).unwrap(), &[]);
            assert_eq!(fetched[0], first, "{named:?}");
        }
    }
}
