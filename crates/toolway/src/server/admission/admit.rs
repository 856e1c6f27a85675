//! Which callers are admitted, and as which principal?
//!
//! Every transport decides this before it reads a message: HTTP for every request, a pipe once. A server without
//! `auth` and [`on_connect`](crate::server::ServerBuilder::on_connect) admits every caller, but without a principal; the
//! check then costs nothing.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use toolway_protocol::RpcError;

use crate::ground::error::Chain;
use crate::ground::extensions::Extensions;
use crate::ground::mistakes::BoxError;
use crate::ground::panic::catch_panic_async;
use crate::server::Server;
pub(crate) use crate::server::admission::connect_request::ConnectRequest;
use crate::server::call::principal::Principal;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::verified::Verified;
use crate::server::call::visibility::Visibility;
use crate::server::handler::function::{ErasedHandler, Handler};

/// The decision to admit a peer.
///
/// ```
/// use toolway::server::Admit;
///
/// struct Plan(&'static str);
///
/// let admit = Admit::as_principal("ann").with(Plan("small"));
/// ```
#[derive(Debug, Clone)]
pub struct Admit {
    principal: Option<Principal>,
    extensions: Extensions,
    pub(crate) allowed: Option<Arc<Visibility>>,
}

impl Admit {
    /// Admits the peer without a principal. Calls of handlers that take a [`Principal`] are refused.
    pub fn anyone() -> Self {
        Self { principal: None, extensions: Extensions::new(), allowed: None }
    }

    /// Admits the peer as this principal. Handlers take the principal as a [`Principal`] parameter, or call
    /// [`Ctx::principal`](crate::server::Ctx::principal).
    pub fn as_principal(id: impl Into<String>) -> Self {
        Self { principal: Some(Principal::new(id.into())), ..Self::anyone() }
    }

    /// Adds a value that handlers take as [`Extension<T>`](crate::server::Extension), or get with
    /// [`Ctx::get`](crate::server::Ctx::get). The value replaces a value of the same type that came with the request.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }
}

/// The decision to refuse a peer, with the reason.
///
/// ```
/// use toolway::server::Refuse;
///
/// let refuse = Refuse::forbidden("please upgrade your plan");
/// assert_eq!(refuse.to_string(), "please upgrade your plan");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuse {
    pub(crate) reason: RefusalReason,
    /// The text that the peer gets.
    text: Cow<'static, str>,
    /// The `WWW-Authenticate` headers of an HTTP response.
    pub(crate) challenges: Vec<String>,
    /// Further headers of an HTTP response.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    Unauthorized,
    Forbidden,
    Malformed,
    /// It cannot be decided at the moment.
    Unavailable,
    /// The handler failed. The cause goes to the log only.
    CheckFailed,
}

impl Refuse {
    fn new(reason: RefusalReason, text: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, text: text.into(), challenges: Vec::new(), headers: Vec::new() }
    }

    /// Requires authentication. The URL tells clients how to authorize (RFC 9728). Over HTTP this is the status 401
    /// with the challenge `Bearer resource_metadata="…"`, which makes clients start the authorization.
    pub fn unauthorized(resource_metadata_url: impl Into<String>) -> Self {
        Self::challenge("Bearer").with_metadata_url(resource_metadata_url.into())
    }

    /// Requires authentication with this challenge. Over HTTP this is the status 401 with the text as its
    /// `WWW-Authenticate` header: `Bearer`, `Basic realm="app"`. Characters that are not allowed in a header are left
    /// out.
    ///
    /// ```
    /// use toolway::server::Refuse;
    ///
    /// let refuse = Refuse::challenge("Bearer").with_error("invalid_token", "it has expired");
    /// assert_eq!(refuse.to_string(), "authentication is required");
    /// ```
    pub fn challenge(text: impl Into<String>) -> Self {
        Self::new(RefusalReason::Unauthorized, "authentication is required").with_challenge(text)
    }

    /// Adds another challenge: each is a `WWW-Authenticate` header of its own, and clients choose one. Parameters that are
    /// added later belong to this one.
    ///
    /// ```
    /// use toolway::server::Refuse;
    ///
    /// let refuse = Refuse::challenge("Bearer").with_challenge("Basic realm=\"app\"");
    /// ```
    pub fn with_challenge(mut self, text: impl Into<String>) -> Self {
        self.challenges.push(text.into().chars().filter(|letter| matches!(letter, ' '..='~')).collect());
        self
    }

    /// Adds the scope that a token needs (RFC 6750) to the challenge. A [forbidden](Self::forbidden) refusal, which has
    /// no challenge, gets one. Clients then ask their user for more rights.
    ///
    /// ```
    /// use toolway::server::Refuse;
    ///
    /// // 403 with `Bearer error="insufficient_scope", scope="notes:write"`
    /// let refuse = Refuse::forbidden("you may read only").with_error("insufficient_scope", "").with_scope("notes:write");
    /// ```
    pub fn with_scope(self, scope: impl AsRef<str>) -> Self {
        self.with_parameter("scope", scope.as_ref(), is_quotable_byte)
    }

    /// Adds the error code for a token (RFC 6750) to the challenge: `invalid_token`, `insufficient_scope`,
    /// `invalid_request`. The description is for developers, and may be empty.
    pub fn with_error(self, error: impl AsRef<str>, description: impl AsRef<str>) -> Self {
        let with_error = self.with_parameter("error", error.as_ref(), is_quotable_byte);
        match description.as_ref() {
            "" => with_error,
            description => with_error.with_parameter("error_description", description, is_quotable_byte),
        }
    }

    /// Adds the URL of the document that tells clients where to sign in (RFC 9728) to the challenge.
    pub fn with_metadata_url(self, url: impl AsRef<str>) -> Self {
        self.with_parameter("resource_metadata", url.as_ref(), is_url_byte)
    }

    /// Adds the algorithms of proofs (RFC 9449) to the challenge.
    pub fn with_algorithms(self, names: impl AsRef<str>) -> Self {
        self.with_parameter("algs", names.as_ref(), is_quotable_byte)
    }

    /// Adds a header to the HTTP response.
    ///
    /// ```
    /// use http::header::{HeaderValue, RETRY_AFTER};
    /// use toolway::server::Refuse;
    ///
    /// let refuse = Refuse::forbidden("the shop opens at 9").with_header(RETRY_AFTER, HeaderValue::from_static("3600"));
    /// ```
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Replaces the text that the peer gets.
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into().into();
        self
    }

    /// Adds a parameter to the challenge. The result is always valid: bytes that are not allowed are percent-encoded,
    /// including those that would end a quoted string or a line.
    fn with_parameter(mut self, name: &str, value: &str, is_legal: fn(u8) -> bool) -> Self {
        if self.challenges.is_empty() {
            self.challenges.push("Bearer".to_owned());
        }
        let challenge = self.challenges.last_mut().expect("there is one now");
        // The first parameter follows the scheme after a space, further parameters follow after a comma.
        challenge.push_str(if challenge.contains('=') { ", " } else { " " });
        challenge.push_str(name);
        challenge.push_str("=\"");
        for byte in value.bytes() {
            if is_legal(byte) {
                challenge.push(char::from(byte));
            } else {
                write!(challenge, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
        challenge.push('"');
        self
    }

    /// Refuses the peer even if it authenticates. The peer gets the text. Over HTTP this is the status 403.
    pub fn forbidden(text: impl Into<String>) -> Self {
        Self::new(RefusalReason::Forbidden, text.into())
    }

    /// Refuses a request that is malformed, such as one with two credentials. The peer gets the text. Over HTTP this is the
    /// status 400.
    pub fn malformed(text: impl Into<String>) -> Self {
        Self::new(RefusalReason::Malformed, text.into())
    }

    /// Refuses the peer because it cannot be checked at the moment: a database does not answer. Over HTTP this is the
    /// status 503, and the client tries again. A 401 would make its user sign in again, which does not help.
    pub fn unavailable() -> Self {
        Self::new(RefusalReason::Unavailable, "the credentials cannot be checked at the moment: try again")
    }

    /// Refuses the peer because the check failed.
    pub(crate) fn check_failed() -> Self {
        Self::new(RefusalReason::CheckFailed, "the connection could not be checked")
    }

    /// Returns the error for the body of a response. The protocol has no error code of its own for refusals.
    pub(crate) fn error(&self) -> RpcError {
        match self.reason {
            RefusalReason::Unauthorized | RefusalReason::Forbidden | RefusalReason::Malformed => {
                RpcError::invalid_request(self.to_string())
            }
            RefusalReason::Unavailable | RefusalReason::CheckFailed => RpcError::internal(self.to_string()),
        }
    }
}

/// The text that the peer gets.
impl fmt::Display for Refuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refuse {}

/// Returns whether a byte is allowed in a URL.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"\\<>^`{|}".contains(&byte)
}

/// Returns whether a byte is allowed in a quoted string without escaping.
fn is_quotable_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !b"\"\\".contains(&byte)
}

/// The return type of an [`on_connect`](crate::server::ServerBuilder::on_connect) handler: [`Admit`], or a `Result` of
/// [`Admit`] and [`Refuse`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a handler of `on_connect`",
    note = "return `Admit` or `Result<Admit, Refuse>`"
)]
pub trait IntoAdmission {
    /// Converts the value into a decision.
    fn into_admission(self) -> Result<Admit, Refuse>;
}

impl IntoAdmission for Admit {
    fn into_admission(self) -> Result<Admit, Refuse> {
        Ok(self)
    }
}

impl IntoAdmission for Result<Admit, Refuse> {
    fn into_admission(self) -> Result<Admit, Refuse> {
        self
    }
}

/// The handler of `on_connect`.
pub(crate) type ConnectHook = ErasedHandler<ConnectRequest, Result<Admit, Refuse>>;

pub(crate) fn connect_hook<P: 'static, H: Handler<P>>(handler: H) -> ConnectHook
where
    H::Output: IntoAdmission,
{
    ErasedHandler::with_scope_input(handler, |output| Ok(output?.into_admission()))
}

impl Server {
    /// Verifies the credentials of a peer if the server is protected, and then runs the `on_connect` hook, if there is
    /// one. `extensions` are the values that came with the request.
    pub(crate) async fn admit(
        &self,
        connecting: ConnectRequest,
        extensions: Extensions,
    ) -> Result<Box<Arrival>, Refuse> {
        let caller = match &self.inner.protection {
            Some(protection) if !connecting.is_pipe() => Some(protection.authenticate(&connecting).await?),
            _ => self.attached_caller(&extensions)?,
        };
        let Some(admission) = &self.inner.admission else {
            return Ok(Box::new(self.arrival_of(caller, extensions)));
        };
        // The peer has not sent a message yet.
        let arrival = Arrival {
            headers: connecting.headers.clone(),
            remote: connecting.remote(),
            ..self.arrival_of(caller, extensions)
        };
        let admitted = Box::new(arrival.clone());
        let scope = Scope::begin(self.clone(), Box::new(arrival));
        let cause: BoxError = match catch_panic_async(|| admission.call(connecting, &scope)).await {
            Ok(Ok(verdict)) => return verdict.map(|admit| admit.into_arrival(admitted)),
            Ok(Err(error)) => error,
            Err(panic) => panic.into(),
        };
        tracing::error!(error = %Chain(&*cause), "`on_connect` failed, so the peer is refused");
        Err(Refuse::check_failed())
    }

    /// Describes an admitted request of this caller.
    pub(crate) fn arrival_of(&self, caller: Option<Arc<Verified>>, extensions: Extensions) -> Arrival {
        Arrival {
            extensions,
            principal: caller.as_ref().map(|caller| caller.principal().clone()),
            visibility: self.scoped_visibility(caller.as_ref()),
            account: caller.as_ref().map(|caller| caller.account(&self.inner.ledger)),
            caller,
            ..Arrival::default()
        }
    }
}

impl Admit {
    /// Shows the caller only these tools, by the names under which they are registered. All other tools are hidden, in
    /// lists and in calls. An empty list hides every tool. Names of tools that do not exist (yet) are allowed.
    ///
    /// A second call can only hide more: a tool stays visible only if both lists contain it.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Admit;
    /// use toolway::testing::connect;
    ///
    /// /// Count the rows.
    /// #[tool]
    /// fn count() -> u32 {
    ///     3
    /// }
    ///
    /// /// Delete the rows.
    /// #[tool(destructive)]
    /// fn wipe() {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("rows", "1.0.0")
    ///     .tools(tools![count, wipe])
    ///     .on_connect(async || Admit::as_principal("a guest").only_tools(["count"]))
    ///     .build()?;
    /// let client = connect(&server).await;
    /// assert_eq!(client.tools().await?.len(), 1);
    /// let error = client.call("wipe", serde_json::json!({})).await.unwrap_err();
    /// assert_eq!(error.rpc().unwrap().message, "no such tool: `wipe`");
    /// # Ok(())
    /// # }
    /// ```
    pub fn only_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().tools.restrict_to(names);
        self
    }

    /// Shows the caller only these prompts, by name; see [`only_tools`](Self::only_tools).
    ///
    /// ```
    /// use toolway::server::Admit;
    ///
    /// let nothing: [&str; 0] = [];
    /// let admit = Admit::anyone().only_prompts(nothing);
    /// ```
    pub fn only_prompts(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().prompts.restrict_to(names);
        self
    }

    /// Shows the caller only these resources. Registered resources are given by URI or by name, resources of
    /// [`list_resources`](crate::server::ServerBuilder::list_resources) and
    /// [`read_resource`](crate::server::ServerBuilder::read_resource) by URI. An empty list hides every resource.
    ///
    /// A URI that a template answers is controlled by [`only_templates`](Self::only_templates). But a URI in this list
    /// can always be read, even if its template is hidden.
    ///
    /// ```
    /// use toolway::server::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_resources(["notes://index", "motd"]);
    /// ```
    pub fn only_resources(mut self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().resources.restrict_to(uris);
        self
    }

    /// Shows the caller only these templates, which are given by their text or by name. A URI that a hidden template
    /// answers cannot be read, unless [`only_resources`](Self::only_resources) names it. An empty list hides every
    /// template.
    ///
    /// If several templates match a URI, the most literal template answers it, and only the visibility of this template
    /// counts. A registered resource is never read through a template: if [`only_resources`](Self::only_resources)
    /// hides it, it stays hidden, whichever templates match its URI. A [mounted](crate::server::ServerBuilder::mount)
    /// server may be able to read a URI that it does not list. Such a URI could belong to any template, so with this
    /// restriction it can be read only if `only_resources` names it.
    ///
    /// ```
    /// use toolway::server::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_templates(["notes://{id}", "attachment"]);
    /// ```
    pub fn only_templates(mut self, templates_or_names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().templates.restrict_to(templates_or_names);
        self
    }

    fn allowed_mut(&mut self) -> &mut Visibility {
        Arc::make_mut(self.allowed.get_or_insert_default())
    }

    /// Adds the decision to what is known about the peer.
    fn into_arrival(self, mut arrival: Box<Arrival>) -> Box<Arrival> {
        arrival.extensions.extend(self.extensions);
        if let Some(principal) = self.principal {
            // Another name has another account.
            (arrival.principal, arrival.account) = (Some(principal), None);
        }
        if arrival.caller.is_none() {
            arrival.caller = arrival.extensions.get::<Verified>();
        }
        if let Some(mut allowed) = self.allowed {
            if let Some(scoped) = &arrival.visibility {
                Arc::make_mut(&mut allowed).holder.clone_from(&scoped.holder);
            }
            arrival.visibility = Some(allowed);
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::AUTHORIZATION;

    use super::*;
    use crate::server::Extension;

    fn with_authorization(value: Option<&'static str>) -> ConnectRequest {
        let mut headers = HeaderMap::new();
        headers.extend(value.map(|value| (AUTHORIZATION, http::HeaderValue::from_static(value))));
        ConnectRequest { headers: Some(Arc::new(headers)), ..ConnectRequest::over_pipe() }
    }

    #[tokio::test]
    async fn what_the_hook_adds_wins_over_what_came_with_the_request() {
        async fn authenticate(connecting: ConnectRequest, brought: Extension<u8>) -> Result<Admit, Refuse> {
            let name = connecting.bearer().ok_or_else(|| Refuse::unauthorized("https://a/metadata"))?;
            Ok(Admit::as_principal(name).with(*brought + 1).with('h'))
        }
        let server = Server::new("app", "1.0.0").on_connect(authenticate).build().unwrap();
        assert!(server.inner.admission.is_some());
        let came = || Extensions::new().with(1_u8).with("came");
        let admitted = server.admit(with_authorization(Some("Bearer ann")), came()).await.unwrap();
        assert_eq!(admitted.principal.as_ref().map(Principal::as_str), Some("ann"));
        assert_eq!(admitted.extensions.get::<u8>().as_deref(), Some(&2));
        assert_eq!(admitted.extensions.get::<&str>().as_deref(), Some(&"came"));
        assert_eq!(admitted.extensions.get::<char>().as_deref(), Some(&'h'));
        assert_eq!(
            server.admit(with_authorization(None), came()).await.unwrap_err().reason,
            RefusalReason::Unauthorized
        );
        assert_eq!(
            server.admit(with_authorization(Some("Bearer ann")), Extensions::new()).await.unwrap_err().reason,
            RefusalReason::CheckFailed
        );
    }

    #[tokio::test]
    async fn without_a_hook_nobody_is_asked() {
        let server = Server::new("app", "1.0.0").build().unwrap();
        assert!(server.inner.admission.is_none());
        let admitted =
            server.admit(with_authorization(Some("Bearer ann")), Extensions::new().with(1_u8)).await.unwrap();
        assert_eq!(admitted.principal, None);
        assert_eq!(admitted.extensions.get::<u8>().as_deref(), Some(&1));
    }
}
