//! Where does an entry come from?

/// Whose an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The author's of this server.
    Author,
    /// Another server's, added by the author of this one: nothing of it is checked here.
    Other,
    /// Another server's, offered by a [source](crate::server::catalog::source), which may take it back.
    Source,
}
