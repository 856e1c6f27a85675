//! Which element is meant by a name in `tools![…]`, `resources![…]` and `prompts![…]`?
//!
//! The macro `named` of `toolway-macros` writes what asks for these traits: what is not marked is the type in
//! [`unmarked`] to it, which is nothing that can be listed, and the compiler says so in their words.

use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::{Offer, ToolEntry};

macro_rules! kinds {
    ($($named:ident, $entry:ident, $message:literal, $label:literal;)*) => {$(
        /// What a list may name; `Name` is how it is written there.
        #[diagnostic::on_unimplemented(message = $message, label = $label)]
        pub trait $named<Name> {
            /// Makes the entry.
            fn entry() -> $entry;
        }

        #[diagnostic::do_not_recommend]
        impl<T: Offer<Entry = $entry>, Name> $named<Name> for T {
            fn entry() -> $entry {
                T::entry()
            }
        }
    )*};
}
kinds! {
    NamedTool, ToolEntry, "`{Name}` is not marked `#[tool]`", "not a tool";
    NamedResource, ResourceEntry, "`{Name}` is not marked `#[resource]`", "not a resource";
    NamedPrompt, PromptEntry, "`{Name}` is not marked `#[prompt]`", "not a prompt";
}

/// What a name stands for that has no type.
pub mod unmarked {
    /// Nothing that can be listed.
    #[derive(Debug)]
    pub struct __Named;
}

/// A value that can be given to a server as a tool: a [`ToolEntry`], and whatever becomes one with `into`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entry of a server's list of tools",
    label = "write `tools![f]` to list a function `f` that is marked `#[tool]`",
    note = "one entry is `f::entry()`; that of a closure is `ToolEntry::from_fn(\"name\", …)`"
)]
pub trait IntoTool {
    /// Makes the entry.
    fn into_tool(self) -> ToolEntry;
}

#[diagnostic::do_not_recommend]
impl<T: Into<ToolEntry>> IntoTool for T {
    fn into_tool(self) -> ToolEntry {
        self.into()
    }
}

/// The entry behind one name of a list, where no macros are built in: the compiler says what it says.
#[doc(hidden)]
#[macro_export]
macro_rules! __named {
    ($named:ident $entry:ident $($name:ident)::+) => {
        $crate::server::$entry::of::<$($name)::+>()
    };
}
