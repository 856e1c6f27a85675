//! Values of the application that tools may ask for by their type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::given::Absent;
use super::parameter::{Missing, Parameter};
use super::scope::Scope;

/// A value that was given to the server with [`state`](super::ServerBuilder::state), as a parameter of a tool.
///
/// ```
/// use toolway::prelude::*;
///
/// struct Greeting(String);
///
/// /// Greet somebody.
/// #[tool]
/// fn greet(name: String, greeting: State<Greeting>) -> String {
///     format!("{}, {name}!", greeting.0)
/// }
///
/// let server = Server::new("greeter", "1.0.0").state(Greeting("Hello".into())).tools(tools![greet]).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub struct State<T>(pub(super) Arc<T>);

impl<T> State<T> {
    /// A value without a server, to call a tool as the function that it is:
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// struct Greeting(&'static str);
    ///
    /// /// Greet somebody.
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

impl<T: Send + Sync + 'static> Parameter for State<T> {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.states().get().map(Self).ok_or(Missing)
    }

    fn check(states: &States) -> Option<String> {
        let type_name = type_name::<T>();
        states.get::<T>().is_none().then(|| {
            format!("it takes `State<{type_name}>`, but the server was given no such value: call `.state(…)`")
        })
    }
}

/// The values that a server was given, by their type.
#[derive(Default)]
pub struct States {
    own: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// The values of the server that this one was merged into.
    outer: OnceLock<Arc<States>>,
    /// Values that no call brings, set for the check of a door.
    absent: Absent,
}

impl States {
    pub(super) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.own.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// What is not here is looked for there.
    pub(super) fn fall_back_to(&self, outer: &Arc<Self>) {
        // A server is merged once.
        let _ = self.outer.set(outer.clone());
    }

    /// Copies the values for the check of a door over which calls bring nothing else.
    pub(super) fn without(&self, absent: Absent) -> Self {
        Self { own: self.own.clone(), outer: self.outer.clone(), absent }
    }

    pub(super) fn absent(&self) -> Absent {
        self.absent
    }

    /// The value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        match self.own.get(&TypeId::of::<T>()) {
            Some(value) => value.clone().downcast().ok(),
            None => self.outer.get()?.get(),
        }
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.own.len())
    }
}
