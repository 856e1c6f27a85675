//! Where does an entry come from?

/// Whose an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The author's of this server.
    Author,
    /// Another server's, added by the author of this one: nothing of it is checked here.
    /// It is `offered` by a source, which may take it back, or was added by the author for good.
    Other { is_offered: bool },
}
