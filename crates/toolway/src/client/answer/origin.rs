//! Which request is a question of the server about?

use toolway_protocol::Method;

tokio::task_local! {
    /// The origin of the question that the current task answers.
    static CURRENT: QuestionOrigin;
}

/// The request that a question of a server is about, as far as the wire tells. For callbacks that answer questions of
/// several calls at once; [`Exchange::tag`](crate::client::Exchange::tag) has an example.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuestionOrigin {
    pub(crate) key: Option<String>,
    pub(crate) request_method: Option<Method>,
    pub(crate) request_tag: Option<u64>,
}

impl QuestionOrigin {
    /// Returns the origin of the question that the current callback answers. `None` outside of such a callback, and in
    /// tasks that it has spawned.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// The server's key for the question. `None` in the handshake era, in which questions have no keys.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The method of the client's request that the question is about, such as `tools/call`. `None` in the handshake
    /// era, in which a question does not name it.
    pub fn request_method(&self) -> Option<&str> {
        self.request_method.as_ref().map(Method::name)
    }

    /// The [tag](crate::client::Exchange::tag) of the client's request that the question is about. In the stateless era
    /// it is always known. In the handshake era it is known if the question arrives on the stream of the request's
    /// reply, as over HTTP; `None` if the question arrives on a stream that all requests share, such as a pipe.
    pub fn request_tag(&self) -> Option<u64> {
        self.request_tag
    }

    /// Runs the work of a callback that answers this question.
    pub(super) async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }
}
