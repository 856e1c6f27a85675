//! Which element does a name in `tools![…]`, `resources![…]` and `prompts![…]` refer to?
//!
//! The macro `named` of `toolway-macros` generates code that requires the traits of this file. A name that is not
//! marked resolves to the type in [`unmarked`], which does not implement the traits, so the compiler shows their
//! messages.

use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::{MakeEntry, ToolEntry};

macro_rules! kinds {
    ($($named:ident, $entry:ident, $message:literal, $label:literal;)*) => {$(
        /// An element that can be named in a list. `Name` is the name as it is written in the list.
        #[diagnostic::on_unimplemented(message = $message, label = $label)]
        pub trait $named<Name> {
            /// Creates the entry.
            fn entry() -> $entry;
        }

        #[diagnostic::do_not_recommend]
        impl<T: MakeEntry<Entry = $entry>, Name> $named<Name> for T {
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

/// The fallback for a name that is not marked.
pub mod unmarked {
    /// A type that cannot be listed.
    #[derive(Debug)]
    pub struct __Named;
}

/// A value that can be added to a server as a tool: a [`ToolEntry`], or a type that converts to one with `into`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entry of a server's list of tools",
    label = "write `tools![f]` to list a function `f` that is marked `#[tool]`",
    note = "for one entry write `f::entry()`, for a closure `ToolEntry::from_fn(\"name\", …)`"
)]
pub trait IntoTool {
    /// Converts the value to an entry.
    fn into_tool(self) -> ToolEntry;
}

#[diagnostic::do_not_recommend]
impl<T: Into<ToolEntry>> IntoTool for T {
    fn into_tool(self) -> ToolEntry {
        self.into()
    }
}

/// Creates the entry for one name of a list in builds without the macros. Errors have the compiler's own messages.
#[doc(hidden)]
#[macro_export]
macro_rules! __named {
    ($named:ident $entry:ident $($name:ident)::+) => {
        $crate::server::$entry::of::<$($name)::+>()
    };
}
