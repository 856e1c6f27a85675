//! Attribute macros of the crate `toolway`; use them from there.
//!
//! | file | question |
//! |---|---|
//! | `input.rs` | What did the author write? |
//! | `check.rs` | What is wrong with it? All mistakes at once, each where it stands. |
//! | `tool.rs` | Which code is written for a tool? |

mod check;
mod input;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool.
///
/// The function stays as it is. Beside it stands a type of the same name, which `tools![…]` takes. The tool's
/// name is the function's name, its description the doc comment; a doc comment on a parameter describes the
/// argument. The type of a parameter decides whether it is an argument that the caller sends or something the
/// server provides: see `toolway::server::Parameter`.
///
/// Options: `name = "…"`, `title = "…"`, `description = "…"`, and the hints `read_only`, `destructive`,
/// `idempotent` and `open_world`, each alone or with `= false`.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Add two numbers.
/// #[tool(title = "Addition", read_only)]
/// async fn add(
///     /// First addend.
///     a: f64,
///     /// Second addend.
///     b: f64,
/// ) -> f64 {
///     a + b
/// }
///
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
