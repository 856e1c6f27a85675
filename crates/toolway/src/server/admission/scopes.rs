//! Which scopes does a request need, and does its caller have them?
//!
//! Scopes apply to callers whose credentials were verified, and over HTTP to all: a caller that is not known has none. There
//! the check comes before anything of the request runs, so that the status can be 403. For callers without HTTP, `execute/`
//! checks again; subscriptions do not get there, so `handshake/` and `stateless/` check those.

use std::borrow::Borrow;
use std::sync::Arc;

use toolway_protocol::Request;

use crate::ground::extensions::Extensions;
use crate::server::Server;
use crate::server::admission::admit::Refuse;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::StreamView;
use crate::server::call::verified::Verified;
use crate::server::call::visibility::Visibility;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::visible::ElementRef;

impl Server {
    /// Returns whether callers over HTTP are checked before they are served.
    pub(crate) fn checks_callers(&self) -> bool {
        self.inner.admission.is_some() || self.inner.protection.is_some()
    }

    /// Returns the verified caller that the application has attached to a request.
    pub(crate) fn attached_caller(&self, extensions: &Extensions) -> Result<Option<Arc<Verified>>, Refuse> {
        let Some(caller) = extensions.get::<Verified>() else { return Ok(None) };
        match &self.inner.protection {
            Some(protection) => protection.accept(&caller).map(Some),
            None => Ok(Some(caller)),
        }
    }

    /// Returns what a caller sees, if its scopes decide this.
    pub(crate) fn scoped_visibility(&self, caller: Option<&Arc<Verified>>) -> Option<Arc<Visibility>> {
        let caller = caller
            .filter(|_| self.inner.protection.as_ref().is_some_and(|protection| protection.hides_unscoped))?;
        Some(Arc::new(Visibility { holder: Some(caller.clone()), ..Visibility::default() }))
    }

    /// Refuses a caller that lacks a scope which one of these requests needs. The refusal names the scopes of all of them.
    pub(crate) fn refuse_unscoped(
        &self,
        arrival: &Arrival,
        requests: impl IntoIterator<Item = impl Borrow<Request>>,
    ) -> Option<Refuse> {
        if !self.may_lack_scopes(arrival) {
            return None;
        }
        let mut needed = RequiredScopes::default();
        for request in requests {
            self.add_scopes_of(request.borrow(), arrival, &mut needed);
        }
        self.refuse_without(&needed, arrival)
    }

    /// Refuses a caller that lacks a scope of a source that could read a resource. An element without a handler may have
    /// the same URI: then the scopes of that element were checked.
    pub(crate) fn refuse_unscoped_source(&self, uri: &str, arrival: &Arrival) -> Option<Refuse> {
        if !self.may_lack_scopes(arrival) {
            return None;
        }
        let mut needed = RequiredScopes::default();
        self.add_scopes_of_sources(uri, arrival.visibility.as_deref(), &mut needed);
        self.refuse_without(&needed, arrival)
    }

    /// Returns whether the caller of a stream has the scopes of a resource that it has subscribed to.
    pub(crate) fn has_scopes_of_uri(&self, uri: &str, view: &StreamView) -> bool {
        if !self.has_scopes() {
            return true;
        }
        let mut needed = RequiredScopes::default();
        self.add_scopes_of_uri(&self.inner.registry.load(), uri, view.visibility.as_deref(), &mut needed);
        match view.caller.as_deref() {
            Some(caller) => caller.has_all(&needed),
            None => !view.is_over_http || needed.is_empty(),
        }
    }

    fn refuse_without(&self, needed: &RequiredScopes, arrival: &Arrival) -> Option<Refuse> {
        let is_enough = match arrival.caller.as_deref() {
            Some(caller) => !self.lacks_required(caller) && caller.has_all(needed),
            None => needed.is_empty(),
        };
        (!is_enough).then(|| self.insufficient(needed))
    }

    /// Returns whether a caller may lack scopes. Only then the scopes of its requests matter.
    pub(crate) fn may_lack_scopes(&self, arrival: &Arrival) -> bool {
        match arrival.caller.as_deref() {
            Some(caller) => self.has_scopes() || self.lacks_required(caller),
            None => arrival.headers.is_some() && self.has_scopes(),
        }
    }

    fn has_scopes(&self) -> bool {
        self.inner.registry.has_scopes() || self.inner.sources.have_scopes()
    }

    fn lacks_required(&self, caller: &Verified) -> bool {
        self.inner.protection.as_ref().is_some_and(|protection| protection.lacks_required(caller))
    }

    fn insufficient(&self, needed: &RequiredScopes) -> Refuse {
        match &self.inner.protection {
            Some(protection) => protection.insufficient(needed.iter()),
            None => {
                let scopes = needed.iter().collect::<Vec<_>>().join(" ");
                Refuse::forbidden(format!("this needs the scopes `{scopes}`"))
                    .with_error("insufficient_scope", "")
                    .with_scope(scopes)
            }
        }
    }

    fn add_scopes_of(&self, request: &Request, arrival: &Arrival, needed: &mut RequiredScopes) {
        let snapshot = self.inner.registry.load();
        let allowed = arrival.visibility.as_deref();
        match request {
            Request::ReadResource(read) => self.add_scopes_of_uri(&snapshot, &read.uri, allowed, needed),
            Request::Subscribe(wanted) | Request::Unsubscribe(wanted) => {
                self.add_scopes_of_uri(&snapshot, &wanted.uri, allowed, needed);
            }
            Request::Listen(wanted) => {
                for uri in wanted.notifications.resource_subscriptions.iter().flatten() {
                    self.add_scopes_of_uri(&snapshot, uri, allowed, needed);
                }
            }
            Request::CallTool(_) | Request::GetPrompt(_) | Request::Complete(_) => {
                needed.add(match snapshot.target_of(request, allowed) {
                    Some(ElementRef::Tool(tool)) => tool.origin.scopes.iter(),
                    Some(ElementRef::Prompt(prompt)) => prompt.origin.scopes.iter(),
                    Some(ElementRef::Resource(resource)) => resource.origin.scopes.iter(),
                    None => return,
                });
            }
            Request::ListTools(_)
            | Request::ListResources(_)
            | Request::ListResourceTemplates(_)
            | Request::ListPrompts(_)
            | Request::SetLogLevel(_)
            | Request::Other(..) => {}
        }
    }

    /// Adds the scopes of the resource, template or source that answers for a URI, if the caller may see it.
    fn add_scopes_of_uri(
        &self,
        snapshot: &Snapshot,
        uri: &str,
        allowed: Option<&Visibility>,
        needed: &mut RequiredScopes,
    ) {
        match snapshot.entry_for(uri) {
            Some(entry) if allowed.is_none_or(|allowed| allowed.allows_uri(snapshot, uri)) => {
                needed.add(entry.origin.scopes.iter());
            }
            Some(_) => {}
            None => self.add_scopes_of_sources(uri, allowed, needed),
        }
    }

    /// Adds the scopes of all sources that claim a URI and that the caller may see.
    fn add_scopes_of_sources(&self, uri: &str, allowed: Option<&Visibility>, needed: &mut RequiredScopes) {
        let claims = self.inner.sources.scopes_for(uri);
        for scopes in claims.filter(|scopes| allowed.is_none_or(|allowed| allowed.allows_scopes(scopes))) {
            needed.add(scopes.iter());
        }
    }
}
