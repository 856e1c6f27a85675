//! Who may come in, and as whom?
//!
//! The doors ask before they take a message: HTTP for every request, a pipe once. A server that has nothing to say about it
//! ([`on_connect`](crate::server::ServerBuilder::on_connect)) admits everybody as nobody, and the question costs nothing.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use toolway_protocol::RpcError;

use crate::ground::error::Chain;
use crate::ground::extensions::Extensions;
use crate::ground::mistakes::BoxError;
use crate::ground::panic::catch;
use crate::server::Server;
pub(crate) use crate::server::admission::connecting::Connecting;
use crate::server::call::principal::Principal;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Allowed;
use crate::server::handler::function::{Erased, Handler};

/// The peer may come in.
///
/// ```
/// use toolway::Admit;
///
/// struct Plan(&'static str);
///
/// let admit = Admit::as_principal("ann").with(Plan("small"));
/// ```
#[derive(Debug, Clone)]
pub struct Admit {
    principal: Option<Principal>,
    extensions: Extensions,
    pub(crate) allowed: Option<Arc<Allowed>>,
}

impl Admit {
    /// As nobody in particular: handlers that take a [`Principal`] refuse it.
    pub fn anyone() -> Self {
        Self { principal: None, extensions: Extensions::new(), allowed: None }
    }

    /// As somebody: handlers take it as [`Principal`], or ask [`Ctx::principal`](crate::server::Ctx::principal).
    pub fn as_principal(id: impl Into<String>) -> Self {
        Self { principal: Some(Principal::new(id.into())), ..Self::anyone() }
    }

    /// Adds a value that handlers take as [`Extension<T>`](crate::server::Extension), or ask [`Ctx::get`](crate::server::Ctx::get) for. It
    /// takes the place of one of the same type that came with the request.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }
}

/// The peer may not come in, and is told why.
///
/// ```
/// use toolway::Refuse;
///
/// let refuse = Refuse::forbidden("please upgrade your plan");
/// assert_eq!(refuse.to_string(), "please upgrade your plan");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuse {
    pub(crate) why: Why,
    /// The `WWW-Authenticate` header of an HTTP answer.
    pub(crate) challenge: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Unauthorized,
    Forbidden(String),
    /// The handler failed. The log knows more than the peer may.
    Unchecked,
}

impl Refuse {
    /// The peer has to say who it is, and a client finds out how at this URL (RFC 9728). Over HTTP this is the status 401
    /// with the challenge `Bearer resource_metadata="…"`, which makes clients begin to authorize.
    pub fn unauthorized(resource_metadata_url: impl Into<String>) -> Self {
        Self::challenge("Bearer").with_parameter(
            "resource_metadata",
            &resource_metadata_url.into(),
            is_of_url,
        )
    }

    /// The peer has to say who it is, in this way. Over HTTP this is the status 401 with the text as its challenge
    /// (`WWW-Authenticate`): `Bearer`, `Basic realm="app"`. What cannot stand in a header is left out.
    ///
    /// ```
    /// use toolway::Refuse;
    ///
    /// let refuse = Refuse::challenge("Bearer").with_error("invalid_token", "it has expired");
    /// assert_eq!(refuse.to_string(), "authentication is required");
    /// ```
    pub fn challenge(text: impl Into<String>) -> Self {
        let text: String = text.into().chars().filter(|letter| matches!(letter, ' '..='~')).collect();
        Self { why: Why::Unauthorized, challenge: Some(text) }
    }

    /// Says which scope a token needs (RFC 6750), in the challenge of the answer. One that is
    /// [forbidden](Self::forbidden) gets a challenge by that, and clients ask their user for more rights.
    ///
    /// ```
    /// use toolway::Refuse;
    ///
    /// // 403 with `Bearer error="insufficient_scope", scope="notes:write"`
    /// let refuse = Refuse::forbidden("you may read only").with_error("insufficient_scope", "").with_scope("notes:write");
    /// ```
    pub fn with_scope(self, scope: impl AsRef<str>) -> Self {
        self.with_parameter("scope", scope.as_ref(), is_of_text)
    }

    /// Says what is wrong with a token (RFC 6750), in the challenge of the answer: `invalid_token`,
    /// `insufficient_scope`, `invalid_request`, and a description for developers, which may be empty.
    pub fn with_error(self, error: impl AsRef<str>, description: impl AsRef<str>) -> Self {
        let with_error = self.with_parameter("error", error.as_ref(), is_of_text);
        match description.as_ref() {
            "" => with_error,
            description => with_error.with_parameter("error_description", description, is_of_text),
        }
    }

    /// Adds a parameter to the challenge. It is a valid one whatever the value was: what cannot stand there is encoded,
    /// and what would end a quoted string or a line is among it.
    fn with_parameter(mut self, name: &str, value: &str, is_legal: fn(u8) -> bool) -> Self {
        let challenge = self.challenge.get_or_insert_with(|| "Bearer".to_owned());
        // After the name of a scheme comes its first parameter.
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

    /// The peer may not, whoever it is; it reads the text. Over HTTP this is the status 403.
    pub fn forbidden(text: impl Into<String>) -> Self {
        Self { why: Why::Forbidden(text.into()), challenge: None }
    }

    /// What stands in the body of an answer. The protocol has no code for it.
    pub(crate) fn error(&self) -> RpcError {
        match self.why {
            Why::Unauthorized | Why::Forbidden(_) => RpcError::invalid_request(self.to_string()),
            Why::Unchecked => RpcError::internal(self.to_string()),
        }
    }
}

/// What the peer reads.
impl fmt::Display for Refuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.why {
            Why::Unauthorized => "authentication is required",
            Why::Forbidden(text) => text,
            Why::Unchecked => "the connection could not be checked",
        })
    }
}

impl std::error::Error for Refuse {}

/// What may stand in a URL.
fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"\\<>^`{|}".contains(&byte)
}

/// What may stand in a quoted string without further ado.
fn is_of_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !b"\"\\".contains(&byte)
}

/// What a handler of [`on_connect`](crate::server::ServerBuilder::on_connect) may return: [`Admit`], or a `Result` of that and [`Refuse`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` says neither who may come in nor why not",
    note = "a handler of `on_connect` returns `Admit` or `Result<Admit, Refuse>`"
)]
pub trait IntoAdmission {
    /// Makes the verdict.
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
pub(crate) type Admission = Erased<Connecting, Result<Admit, Refuse>>;

pub(crate) fn admission<P: 'static, H: Handler<P>>(handler: H) -> Admission
where
    H::Output: IntoAdmission,
{
    Erased::about(handler, |output| Ok(output?.into_admission()))
}

impl Server {
    /// Asks whether somebody may come in. `extensions` came with the request.
    pub(crate) async fn admit(
        &self,
        connecting: Connecting,
        extensions: Extensions,
    ) -> Result<Box<Arrival>, Refuse> {
        let Some(admission) = &self.inner.admission else {
            return Ok(Box::new(Arrival { extensions, ..Arrival::default() }));
        };
        // It has not said anything yet.
        let arrival = Arrival {
            headers: connecting.headers.clone(),
            extensions: extensions.clone(),
            remote: connecting.remote(),
            ..Arrival::default()
        };
        let scope = Scope::begin(self.clone(), Box::new(arrival));
        let cause: BoxError = match catch(|| admission.call(connecting, &scope)).await {
            Ok(Ok(verdict)) => return verdict.map(|admit| admit.over(extensions)),
            Ok(Err(error)) => error,
            Err(panic) => panic.into(),
        };
        tracing::error!(error = %Chain(&*cause), "`on_connect` failed, so the peer is refused");
        Err(Refuse { why: Why::Unchecked, challenge: None })
    }
}

impl Admit {
    /// Shows the caller these tools only, by the names under which they are registered; all others are as if they were not
    /// there, in lists and in calls. An empty list hides every tool. Names of tools that do not exist (yet) do no harm.
    ///
    /// Called again, it takes away what the new list does not have: what is hidden once stays hidden.
    ///
    /// ```
    /// use toolway::prelude::*;
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
        self.allowed_mut().tools.keep(names);
        self
    }

    /// Shows the caller these prompts only, by name; see [`only_tools`](Self::only_tools).
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let nothing: [&str; 0] = [];
    /// let admit = Admit::anyone().only_prompts(nothing);
    /// ```
    pub fn only_prompts(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().prompts.keep(names);
        self
    }

    /// Shows the caller these resources only: registered ones by URI or by name, those of
    /// [`list_resources`](crate::server::ServerBuilder::list_resources) and [`read_resource`](crate::server::ServerBuilder::read_resource) by
    /// URI. An empty list hides every resource.
    ///
    /// A URI that a template answers is the template's affair ([`only_templates`](Self::only_templates)); one that stands
    /// here can be read whatever is said about templates.
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_resources(["notes://index", "motd"]);
    /// ```
    pub fn only_resources(mut self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().resources.keep(uris);
        self
    }

    /// Shows the caller these templates only, by the text of the template or by name, and lets it read their resources only. An
    /// empty list hides every template.
    ///
    /// The template that answers a URI decides, which is the most literal one of those that take it. A registered resource
    /// is never read through a template, and a resource that [`only_resources`](Self::only_resources) hides is hidden
    /// whatever templates take its URI. What a [mounted](crate::server::ServerBuilder::mount) server reads without listing it may be of any
    /// template: then it can be read only if `only_resources` names it.
    ///
    /// ```
    /// use toolway::Admit;
    ///
    /// let admit = Admit::as_principal("ann").only_templates(["notes://{id}", "attachment"]);
    /// ```
    pub fn only_templates(mut self, templates_or_names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_mut().templates.keep(templates_or_names);
        self
    }

    fn allowed_mut(&mut self) -> &mut Allowed {
        Arc::make_mut(self.allowed.get_or_insert_default())
    }

    fn over(self, mut extensions: Extensions) -> Box<Arrival> {
        extensions.extend(self.extensions);
        let Self { principal, allowed, .. } = self;
        Box::new(Arrival { extensions, principal, allowed, ..Arrival::default() })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::AUTHORIZATION;

    use super::*;
    use crate::server::Extension;

    fn with_authorization(value: Option<&'static str>) -> Connecting {
        let mut headers = HeaderMap::new();
        headers.extend(value.map(|value| (AUTHORIZATION, http::HeaderValue::from_static(value))));
        Connecting { headers: Some(Arc::new(headers)), ..Connecting::over_pipe() }
    }

    #[tokio::test]
    async fn what_the_hook_adds_wins_over_what_came_with_the_request() {
        async fn authenticate(connecting: Connecting, brought: Extension<u8>) -> Result<Admit, Refuse> {
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
        assert_eq!(server.admit(with_authorization(None), came()).await.unwrap_err().why, Why::Unauthorized);
        assert_eq!(
            server.admit(with_authorization(Some("Bearer ann")), Extensions::new()).await.unwrap_err().why,
            Why::Unchecked
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
