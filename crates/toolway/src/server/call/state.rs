//! Values of the application that tools can access by their type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A value that was added with [`state`](crate::server::ServerBuilder::state), as a parameter of a handler.
///
/// ```
/// use toolway::prelude::*;
///
/// struct Greeting(String);
///
/// /// Greet a person.
/// #[tool]
/// fn greet(name: String, greeting: State<Greeting>) -> String {
///     format!("{}, {name}!", greeting.0)
/// }
///
/// let server = Server::new("greeter", "1.0.0").state(Greeting("Hello".into())).tools(tools![greet]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
///
/// In a function marked with a macro the parameter can be destructured: with `State(greeting): State<Greeting>`,
/// `greeting` is an `Arc<Greeting>`.
pub struct State<T>(pub(crate) Arc<T>);

impl<T> State<T> {
    /// Creates a value without a server, to call a tool directly as a function:
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// struct Greeting(&'static str);
    ///
    /// /// Greet a person.
    /// #[tool]
    /// fn greet(name: &str, greeting: State<Greeting>) -> String {
    ///     format!("{}, {name}!", greeting.0)
    /// }
    ///
    /// assert_eq!(greet("Ann", State::new(Greeting("Hello"))), "Hello, Ann!");
    /// ```
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Returns the value, for use after the call.
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kinds of values that the calls of a transport do not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnavailableValues {
    pub(crate) principal: bool,
    pub(crate) extensions: bool,
}

/// A value, and the name of its type.
#[derive(Clone)]
struct StateValue(Arc<dyn Any + Send + Sync>, &'static str);

/// The state values of a server, by their type.
#[derive(Default)]
pub struct States {
    values: HashMap<TypeId, StateValue>,
    /// The state values of the server that this one was merged into.
    outer: OnceLock<Arc<States>>,
    /// The kinds of values that calls do not have, set while a transport is checked.
    unavailable: UnavailableValues,
}

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), StateValue(Arc::new(value), type_name::<T>()));
    }

    /// Returns the type of a stored value that wraps the wanted type or is wrapped by it: `Arc<Db>` if `Db` is wanted,
    /// and `Db` if `Arc<Db>` is wanted.
    fn similar_type(&self, wanted: &str) -> Option<&'static str> {
        let names = self.values.values().map(|StateValue(_, name)| *name);
        let own = names.filter(|name| wraps(name, wanted) || wraps(wanted, name)).min();
        own.or_else(|| self.outer.get()?.similar_type(wanted))
    }

    /// Returns an error text if a value of this type is missing: what the server has instead, and what to do. `None` if
    /// the value exists.
    pub(crate) fn missing_message<T: Send + Sync + 'static>(&self) -> Option<String> {
        if self.get::<T>().is_some() {
            return None;
        }
        let wanted = type_name::<T>();
        let shown = short_type_name(wanted);
        Some(match self.similar_type(wanted).map(short_type_name) {
            Some(given) => format!(
                "it takes `State<{shown}>`, but the server was given `{given}`: take `State<{given}>`, or give it a `{shown}`"
            ),
            None => {
                format!("it takes `State<{shown}>`, but the server was given no such value: call `.state(…)`")
            }
        })
    }

    /// Sets where missing values are looked up.
    pub(crate) fn fall_back_to(&self, outer: &Arc<Self>) {
        // A server is merged once.
        let _ = self.outer.set(outer.clone());
    }

    /// Copies the values to check a transport whose calls lack `absent`.
    pub(crate) fn with_unavailable(&self, absent: UnavailableValues) -> Self {
        Self { values: self.values.clone(), outer: self.outer.clone(), unavailable: absent }
    }

    pub(crate) fn unavailable(&self) -> UnavailableValues {
        self.unavailable
    }

    /// Returns the value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        match self.values.get(&TypeId::of::<T>()) {
            Some(StateValue(value, _)) => value.clone().downcast().ok(),
            None => self.outer.get()?.get(),
        }
    }
}

/// Returns whether `inner` is the only generic argument of `outer`.
fn wraps(outer: &str, inner: &str) -> bool {
    let held = outer.strip_suffix('>').and_then(|outer| outer.strip_suffix(inner));
    held.is_some_and(|before| before.ends_with('<'))
}

/// Returns the name of a type, without the paths of the standard library.
fn short_type_name(name: &str) -> String {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut out = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_path(letter)).unwrap_or(rest.len());
        let (path, after) = rest.split_at(end);
        let is_std = ["alloc::", "core::", "std::"].iter().any(|library| path.starts_with(library));
        out.push_str(if is_std { path.rsplit("::").next().unwrap_or(path) } else { path });
        let next = after.find(is_path).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_standard_library_are_short() {
        let cases = [
            (type_name::<Arc<States>>(), "Arc<toolway::server::call::state::States>"),
            (type_name::<Arc<std::sync::Mutex<Vec<u8>>>>(), "Arc<Mutex<Vec<u8>>>"),
            (type_name::<Option<(&str, String)>>(), "Option<(&str, String)>"),
            (type_name::<u8>(), "u8"),
        ];
        for (name, expected) in cases {
            assert_eq!(short_type_name(name), expected);
        }
    }
}
