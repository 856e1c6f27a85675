//! The macros of the crate `toolway`; use them from there.
//!
//! | file | question |
//! |---|---|
//! | `attribute/` | What is in an attribute? |
//! | `input/` | What did the author write? |
//! | `diagnose.rs` | Why does a type probably not implement `Parameter`? |
//! | `check.rs` | What is wrong with a signature? All mistakes are reported at once, each at its position. |
//! | `element/` | Which code is generated for a marked function, struct or `impl` block? |
//! | `form/` | Which code is generated for a form? |
//! | `named.rs` | Which entry belongs to a name in a list? |
//! | `package.rs` | Which package is being compiled? |
//!
//! A module uses only modules above it in the table; `named.rs` and `package.rs` use none of the others.
//!
//! All generated code refers to `::toolway::__private`. The names that the macros invent begin with two underscores.

mod attribute;
mod check;
mod diagnose;
mod element;
mod form;
mod input;
mod named;
mod package;

use proc_macro::TokenStream;

use element::item;
use input::Kind;

/// Makes a function a tool.
///
/// The function itself is unchanged. The macro generates a type of the same name, which is passed to `tools![…]`. For a
/// function `add`, `add::entry()` returns the entry of this tool alone. `ServerBuilder::discover` finds the tool
/// without a list. The tool has the name of the function, and the doc comment is its description. A doc comment on a
/// parameter describes the argument. The type of a parameter decides whether it is an argument that the caller sends or
/// a value that the server provides: see `toolway::server::parameter::Parameter`. Parameters may be references: `&str`,
/// `&Ctx`. Parameters that the server provides may be destructured, as in `State(db): State<Db>`, which makes `db` an
/// `Arc<Db>`. With `#[cfg(…)]` on a parameter, the tool has the parameter only if the condition holds.
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
///     #[arg(minimum = 0, default = 1)]
///     b: f64,
/// ) -> f64 {
///     a + b
/// }
///
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | a name that replaces the name of the function |
/// | `title = "…"` | the display name |
/// | `description = "…"` | a text that replaces the doc comment; any constant of type `&str` |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints, each alone or with `= false` |
/// | `blocking` | the function is not `async` and may block: it runs on a blocking thread |
/// | `single_use` | the state that a client of 2026-07-28 sends back is accepted only once: see `ToolEntry::single_use` |
/// | `deadline = Duration::from_secs(30)` | the maximum duration of a call: see `ToolEntry::with_deadline` |
/// | `scopes("notes:write")` | the scopes that the token of a caller needs, one or more: see `ToolEntry::scopes` |
/// | `icon = "url"`, `icons = ["url", icon(src = "url", mime = "image/png", sizes = ["48x48"], theme = "dark")]` | the icons |
/// | `meta = {"team": "docs"}` | `_meta` |
/// | `schema = {…}` | is merged into the schema that is derived from the types; `#[arg(…)]` takes precedence |
/// | `input_schema = {…}` | replaces the schema that is derived from the types; it must describe the same arguments |
/// | `output_schema = {…}` | replaces the schema of the result |
///
/// JSON is written in braces, with `json!` (which needs no import here), or as any expression that creates JSON.
///
/// # Arguments
///
/// | key of `#[arg(…)]` | meaning |
/// |---|---|
/// | `title = "…"`, `description = "…"` | for people; the description takes precedence over the doc comment |
/// | `default = value` | the value if the caller sends none: anything that can be serialized as JSON |
/// | `minimum`, `maximum`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of` | rules for numbers |
/// | `min_length`, `max_length`, `pattern = "…"`, `format = "…"` | rules for texts |
/// | `min_items`, `max_items`, `unique_items` | rules for lists |
/// | `enum = […]`, `example = value` | the allowed values, and an example |
/// | `header = "Name"` | clients mirror the argument in this HTTP header (`x-mcp-header`) |
///
/// # Structs
///
/// On a struct that implements `toolway::server::Run`, the fields are the arguments, and the name is derived from the
/// type:
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Run, ToolEntry};
///
/// /// Save a note.
/// #[tool]
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct SaveNote {
///     /// What to save.
///     text: String,
/// }
///
/// impl Run for SaveNote {
///     type Output = String;
///
///     async fn run(self, _: Ctx) -> String {
///         format!("saved {:?}", self.text)
///     }
/// }
///
/// let server = Server::new("notes", "1.0.0").tools(tools![SaveNote]).build()?;
/// assert_eq!(ToolEntry::of::<SaveNote>().definition().name, "save_note");
/// # Ok::<(), toolway::Error>(())
/// ```
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Tool, options.into(), item.into()).into()
}

/// Makes a function a resource or a resource template.
///
/// A URI with variables is a template (RFC 6570): `{id}` is one path segment, `{+path}` may contain slashes, `{?page}`
/// may be missing; `/:id` is another way to write `/{id}`. The function must have a parameter of the same name for each
/// variable. It may return any type that implements `toolway::server::convert::IntoResource`. The generated type has a
/// function that builds URIs.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ResourceError;
///
/// /// All notes.
/// #[resource("notes://index", mime = "text/markdown")]
/// fn index() -> &'static str {
///     "# Notes"
/// }
///
/// /// One note.
/// #[resource(uri = "notes://{id}/{section}{?lang}")]
/// async fn note(id: u64, section: &str, #[arg(default = "en")] lang: String) -> Result<String, ResourceError> {
///     if id == 0 {
///         return Err(ResourceError::not_found());
///     }
///     Ok(format!("{section} of {id} in {lang}"))
/// }
///
/// let server = Server::new("notes", "1.0.0").resources(resources![index, note]).build()?;
/// assert_eq!(note::uri(7, "body", None), "notes://7/body");
/// # Ok::<(), toolway::Error>(())
/// ```
///
/// | option | meaning |
/// |---|---|
/// | `uri = "…"`, or the text alone as the first option | the URI or the template |
/// | `mime = "…"` | the media type |
/// | `size = 1024` | the size in bytes; not for templates |
/// | `annotations(audience = [user, assistant], priority = 0.9, last_modified = "…")` | the audience and importance |
/// | `name`, `title`, `description`, `scopes`, `icon`, `icons`, `meta`, `blocking` | as for a [`tool`](macro@tool) |
///
/// | key of `#[arg(…)]` | meaning |
/// |---|---|
/// | `default = value` | the value of a variable that may be missing |
/// | `complete = …` | the completions of the variable: see [`prompt`](macro@prompt) |
/// | `title`, `description` | for readers of the source only; the protocol has neither for variables |
///
/// On a struct that implements `toolway::server::Run`, the fields are the variables.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Resource, options.into(), item.into()).into()
}

/// Makes a function a prompt.
///
/// The arguments are sent as text, but parameters may be numbers or enums. The function may return any type that
/// implements `toolway::server::convert::IntoPrompt`.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{CompletionRequest, Message, assistant, user};
///
/// async fn languages(typed: CompletionRequest) -> Vec<String> {
///     typed.filter(["Rust", "Ruby", "Python"])
/// }
///
/// /// Review code.
/// #[prompt(title = "Code review")]
/// fn review(
///     /// What to review.
///     code: &str,
///     #[arg(complete = languages)] language: String,
///     #[arg(default = "formal", complete = ["casual", "formal"])] style: &str,
/// ) -> Vec<Message> {
///     vec![assistant("You are an editor."), user(format!("Review this {language} in a {style} style: {code}"))]
/// }
///
/// let server = Server::new("editor", "1.0.0").prompts(prompts![review]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
///
/// Options: `name`, `title`, `description`, `icon`, `icons`, `meta` and `blocking`, as for a [`tool`](macro@tool).
///
/// | key of `#[arg(…)]` | meaning |
/// |---|---|
/// | `title = "…"`, `description = "…"` | for people; the description takes precedence over the doc comment |
/// | `default = value` | the value if the client sends none |
/// | `complete = ["a", "b"]` | these values are the completions |
/// | `complete = function` | an async function returns the completions; it takes `toolway::server::CompletionRequest` and any type that a handler takes |
/// | `complete = Self::method` | a method of the same [`service`](macro@service) returns the completions |
/// | `complete = Value`, `complete = value()` | a value that implements `toolway::server::CompletionProvider` returns the completions |
///
/// An argument whose type is an enum is completed with its variants.
///
/// On a struct that implements `toolway::server::Run`, the fields are the arguments.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Prompt, options.into(), item.into()).into()
}

/// Makes a value with methods a service, which offers the methods marked `#[tool]`, `#[resource]` and `#[prompt]`.
///
/// The methods stay methods. They take `&self` or no receiver, because all calls share the value. For a resource
/// `note`, an associated function `note_uri` builds URIs. The `impl` block may be generic, but its marked methods may
/// not.
///
/// ```
/// use std::sync::Mutex;
/// use toolway::prelude::*;
/// use toolway::server::CompletionRequest;
///
/// #[derive(Default)]
/// struct Notes {
///     saved: Mutex<Vec<String>>,
/// }
///
/// #[service]
/// impl Notes {
///     /// Save a note.
///     #[tool(idempotent)]
///     async fn save(&self, #[arg(min_length = 1)] text: String) -> usize {
///         let mut saved = self.saved.lock().unwrap();
///         saved.push(text);
///         saved.len()
///     }
///
///     /// One note.
///     #[resource(uri = "notes://{index}")]
///     fn note(&self, index: usize) -> Option<String> {
///         self.saved.lock().unwrap().get(index).cloned()
///     }
///
///     /// Review a note.
///     #[prompt]
///     fn review(&self, #[arg(complete = Self::texts)] text: &str) -> String {
///         format!("Review this: {text}")
///     }
///
///     async fn texts(&self, typed: CompletionRequest) -> Vec<String> {
///         typed.filter(self.saved.lock().unwrap().iter())
///     }
/// }
///
/// let server = Server::new("notes", "1.0.0").service(Notes::default()).build()?;
/// assert_eq!(Notes::note_uri(7), "notes://7");
/// # Ok::<(), toolway::Error>(())
/// ```
#[proc_macro_attribute]
pub fn service(options: TokenStream, item: TokenStream) -> TokenStream {
    element::service::expand(&options.into(), item.into()).into()
}

/// Expands to the entry of one name in a list, for `tools![…]` and the related macros.
#[doc(hidden)]
#[proc_macro]
pub fn named(input: TokenStream) -> TokenStream {
    named::expand(input.into()).into()
}

/// Makes a struct a form that a user can be asked to fill in, or an enum a set of choices.
///
/// The fields of the struct are the fields of the form, in the same order; `toolway::server::ask::FormField` lists the
/// types they may have. A doc comment on a field is its description for the user. A field is required if it is not an
/// `Option` and has no default.
///
/// The variants of an enum must have no fields. An enum is not a form by itself. It can be the type of a field (a
/// single choice), or the type of the items of a `Vec` or a set (a multiple choice). The variant's name is sent as it
/// is written, unless it is renamed.
///
/// ```
/// use toolway::Form;
/// use toolway::prelude::*;
///
/// #[derive(Form)]
/// enum Region {
///     #[form(rename = "eu", title = "Europe")]
///     Europe,
///     #[form(rename = "us", title = "United States")]
///     UnitedStates,
/// }
///
/// #[derive(Form)]
/// #[form(name = "deploy")]
/// struct Deploy {
///     /// How the deployment is called.
///     #[form(title = "Name", min_length = 1, max_length = 40)]
///     name: String,
///     #[form(default = Region::Europe)]
///     region: Region,
///     #[form(format = "email")]
///     owner: Option<String>,
///     #[form(min = 1, max = 16, default = 2)]
///     replicas: u8,
///     #[form(choices = [("cache", "Cache"), ("db", "Database")], default = [])]
///     also: Vec<String>,
/// }
///
/// assert_eq!(Deploy::name(), "deploy");
/// assert_eq!(Deploy::mistakes(), [""; 0]);
/// ```
///
/// | key of `#[form(…)]` on a field | meaning |
/// |---|---|
/// | `title = "…"`, `description = "…"` | for people; the description takes precedence over the doc comment |
/// | `default = value` | the initial value, which is also used if the field is left out: a literal, a variant, a list of literals or variants, or anything else that converts into `serde_json::Value` |
/// | `format = "…"` | `"email"`, `"uri"`, `"date"` or `"date-time"`, for texts |
/// | `min_length`, `max_length` | limits on the number of characters of a text |
/// | `minimum`, `maximum`, or `min`, `max` | limits of a number, in addition to those of its type |
/// | `min_items`, `max_items` | limits on the number of selected choices |
/// | `choices = ["a", "b"]`, `choices = [("a", "Title A"), ("b", "Title B")]` | the choices, for `String` and `Vec<String>` |
/// | `rename = "…"` | a name that replaces the name of the field |
///
/// | key of `#[form(…)]` elsewhere | meaning |
/// |---|---|
/// | `name = "…"` on the struct | a name that replaces the name of the type |
/// | `title = "…"` on a variant | the display name; if only some variants have a title, the others display the value that is sent |
/// | `rename = "…"` on a variant | the value that is sent |
///
/// Mistakes that cannot be seen in the source, such as a default that is not one of the choices, are returned by
/// `toolway::Form::mistakes`: assert in a unit test that it is empty.
#[proc_macro_derive(Form, attributes(form))]
pub fn form(item: TokenStream) -> TokenStream {
    form::expand(item.into()).into()
}
