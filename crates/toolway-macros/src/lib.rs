//! Macros of the crate `toolway`; use them from there.
//!
//! | file | question |
//! |---|---|
//! | `attribute/` | What stands in an attribute? |
//! | `input/` | What did the author write? |
//! | `suspect.rs` | What is probably wrong with a type that is not a parameter? |
//! | `check.rs` | What is wrong with a signature? All mistakes at once, each where it stands. |
//! | `element/` | What is written for a function, a struct or an `impl` block that is marked? |
//! | `form/` | What is written for a form? |
//! | `named.rs` | Which entry is behind a name in a list? |
//! | `package.rs` | In which package does the macro run? |
//!
//! A row uses those above it only; `named.rs` and `package.rs` use none.
//!
//! Everything that is written refers to `::toolway::__private`, and names of its own begin with two underscores.

mod attribute;
mod check;
mod element;
mod form;
mod input;
mod named;
mod package;
mod suspect;

use proc_macro::TokenStream;

use element::item;
use input::Kind;

/// Makes a function a tool.
///
/// The function stays as it is. Beside it stands a type of the same name, which `tools![…]` takes; `add::entry()` is its
/// entry alone, and `Server::discover` finds it. The tool's name is the function's name, its description the doc comment; a doc comment on a
/// parameter describes the argument. The type of a parameter decides whether it is an argument that the caller sends or
/// something the server provides: see `toolway::server::Parameter`. Parameters may be references: `&str`, `&Ctx`. They may be
/// taken apart if the server provides them, as `State(db): State<Db>`, which makes `db` an `Arc<Db>`. With `#[cfg(…)]` on a
/// parameter, the tool has it where the condition holds.
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
/// | `name = "…"` | another name than that of the function |
/// | `title = "…"` | a name for people |
/// | `description = "…"` | another text than the doc comment; any constant of type `&str` |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints, each alone or with `= false` |
/// | `blocking` | the function is not `async` and takes its time: it runs on a thread of its own |
/// | `single_use` | what a client of 2026-07-28 sends back with an answer counts once: see `ToolEntry::single_use` |
/// | `deadline = Duration::from_secs(30)` | how long a call may take: see `ToolEntry::deadline` |
/// | `icon = "url"`, `icons = ["url", icon(src = "url", mime = "image/png", sizes = ["48x48"], theme = "dark")]` | pictures |
/// | `meta = {"team": "docs"}` | `_meta` |
/// | `schema = {…}` | laid over the schema that follows from the types, and under `#[arg(…)]` |
/// | `input_schema = {…}` | instead of that schema, whatever the types say; it describes the same arguments |
/// | `output_schema = {…}` | instead of the schema of the result |
///
/// JSON is written in braces, with `json!`, which needs no import here, or as any expression that makes it.
///
/// # Arguments
///
/// | key of `#[arg(…)]` | meaning |
/// |---|---|
/// | `title = "…"`, `description = "…"` | for people; the description wins over the doc comment |
/// | `default = value` | the value when none is sent: anything that can be written as JSON |
/// | `minimum`, `maximum`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of` | rules for numbers |
/// | `min_length`, `max_length`, `pattern = "…"`, `format = "…"` | rules for texts |
/// | `min_items`, `max_items`, `unique_items` | rules for lists |
/// | `enum = […]`, `example = value` | the values there are, and one of them |
/// | `header = "Name"` | clients repeat the argument in this HTTP header (`x-mcp-header`) |
///
/// # Structs
///
/// On a struct that implements `toolway::Run`, its fields are the arguments, and the name follows from the type:
///
/// ```
/// use toolway::prelude::*;
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

/// Makes a function a resource, or a family of them.
///
/// A URI with variables is a template (RFC 6570) and makes a family: `{id}` is one path segment, `{+path}` may hold slashes,
/// `{?page}` may be missing; `/:id` is another way to write `/{id}`. The variables must be parameters of the same names.
/// Whatever `toolway::server::IntoResource` is for can be returned. The type beside the function makes URIs.
///
/// ```
/// use toolway::prelude::*;
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
/// | `size = 1024` | how many bytes it has; not for templates |
/// | `annotations(audience = [user, assistant], priority = 0.9, last_modified = "…")` | for whom it is, and how much it matters |
/// | `name`, `title`, `description`, `icon`, `icons`, `meta`, `blocking` | as for a [`tool`](macro@tool) |
///
/// | key of `#[arg(…)]` | meaning |
/// |---|---|
/// | `default = value` | for variables that may be missing |
/// | `complete = …` | who completes the variable: see [`prompt`](macro@prompt) |
/// | `title`, `description` | for readers of the source; the protocol has no place for them |
///
/// On a struct that implements `toolway::Run`, its fields are the variables.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Resource, options.into(), item.into()).into()
}

/// Makes a function a prompt.
///
/// Its arguments come as text; parameters may still be numbers or enums. Whatever `toolway::server::IntoPrompt` is for can be
/// returned.
///
/// ```
/// use toolway::prelude::*;
///
/// async fn languages(typed: Completing) -> Vec<String> {
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
/// | `title = "…"`, `description = "…"` | for people; the description wins over the doc comment |
/// | `default = value` | the value when none is sent |
/// | `complete = ["a", "b"]` | these values complete it |
/// | `complete = function` | an async function completes it; it takes `Completing` and anything else that a handler may take |
/// | `complete = Self::method` | a method of the same [`service`](macro@service) does |
/// | `complete = Value`, `complete = value()` | a value that implements `toolway::Complete` does |
///
/// Variants of an enum complete an argument by themselves.
///
/// On a struct that implements `toolway::Run`, its fields are the arguments.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Prompt, options.into(), item.into()).into()
}

/// Makes a value with methods a service: those marked `#[tool]`, `#[resource]` and `#[prompt]` are what it offers.
///
/// The methods stay methods, and take `&self` or nothing of the kind: all calls share the value. For a resource `note`, an
/// associated function `note_uri` makes URIs. The `impl` block may be generic, its marked methods may not.
///
/// ```
/// use std::sync::Mutex;
/// use toolway::prelude::*;
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
///     async fn texts(&self, typed: Completing) -> Vec<String> {
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

/// The entry behind one name of a list; `tools![…]` and its kin use it.
#[doc(hidden)]
#[proc_macro]
pub fn named(input: TokenStream) -> TokenStream {
    named::expand(input.into()).into()
}

/// Makes a struct a form that a user can be asked to fill in, or an enum something to choose from.
///
/// The fields of the struct are what is filled in, in the order in which they stand; `toolway::FormField` says which types they may
/// have. A doc comment on a field tells the user what it is for. A field that is no `Option` and has no default must be filled in.
///
/// An enum must have variants without fields. It is no form by itself; it can be a field of one, for one choice, or in a `Vec`
/// or a set, for several. What is sent is the variant's name as it is written, unless it is renamed.
///
/// ```
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
/// | `title = "…"`, `description = "…"` | for people; the description wins over the doc comment |
/// | `default = value` | what is filled in beforehand, and taken when the field is left out: a literal, a variant, a list of them, or anything else that `serde_json::Value` can be made from |
/// | `format = "…"` | `"email"`, `"uri"`, `"date"` or `"date-time"`, for texts |
/// | `min_length`, `max_length` | how many characters a text has |
/// | `minimum`, `maximum`, or `min`, `max` | bounds of a number; the type has its own |
/// | `min_items`, `max_items` | how many may be chosen |
/// | `choices = ["a", "b"]`, `choices = [("a", "Title A"), ("b", "Title B")]` | what may be chosen, for `String` and `Vec<String>` |
/// | `rename = "…"` | another name than that of the field |
///
/// | elsewhere | meaning |
/// |---|---|
/// | `name = "…"` on the struct | another name than that of the type |
/// | `title = "…"` on a variant | what people see; if one variant has it, the others show what is sent |
/// | `rename = "…"` on a variant | what is sent |
///
/// What needs more than the source to be seen, such as a default that is none of the choices, is told by
/// `toolway::Form::mistakes`: assert in a unit test that there are none.
#[proc_macro_derive(Form, attributes(form))]
pub fn form(item: TokenStream) -> TokenStream {
    form::expand(item.into()).into()
}
