//! What is probably wrong with a type that is not a parameter? The macros guess from its name.
//!
//! The traits here have the functions of [`Parameter`] that generated code calls, but a better error message for types
//! that do not implement them. The compiler suppresses errors that follow from another error at the same place, so only
//! the better message appears.

use serde_json::Value;

use crate::server::call::state::States;
use crate::server::handler::parameter::Parameter;

macro_rules! suspicions {
    ($($(#[doc = $doc:literal])* $name:ident $(<$generic:ident>)?: $message:literal, $label:literal, $note:literal;)*) => {$(
        $(#[doc = $doc])*
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name $(<$generic>)?: Sized {
            /// The same constant as in [`Parameter`].
            const IS_ARGUMENT: bool;

            /// Returns what the server lacks for this parameter.
            fn check(states: &States) -> Option<String>;

            /// Reads a default.
            fn of_default(default: &Value) -> Option<Self>;
        }

        #[diagnostic::do_not_recommend]
        impl<Type: Parameter $(, $generic)?> $name $(<$generic>)? for Type {
            const IS_ARGUMENT: bool = <Type as Parameter>::IS_ARGUMENT;

            fn check(states: &States) -> Option<String> {
                <Type as Parameter>::check(states)
            }

            fn of_default(default: &Value) -> Option<Self> {
                <Type as Parameter>::of_default(default)
            }
        }
    )*};
}

suspicions! {
    /// A `State<Held>` or an `Extension<Held>`.
    Shared<Held>: "`{Held}` is not `Send + Sync`", "calls on several threads share it",
        "use `Arc` instead of `Rc`, `Mutex` or `RwLock` instead of `RefCell`, and atomics instead of `Cell`";
    /// An `Option<Principal>`.
    Caller: "`{Self}` cannot be a parameter", "take `ctx: &Ctx`, and call `ctx.principal()` instead",
        "a plain `Principal` is a parameter: calls without one fail";
}

/// Defines traits for types of other crates, whose schemas need a feature of `schemars`.
macro_rules! foreign {
    ($($name:ident: $label:literal;)*) => {
        suspicions! {$(
            /// A type of the crate with this name.
            $name: "`{Self}` has no schema, or cannot be read from JSON", $label,
                "and the feature `serde` of the crate that it comes from";
        )*}
    };
}
foreign! {
    Chrono: "switch on the feature `chrono04` of `schemars`";
    Jiff: "switch on the feature `jiff02` of `schemars`";
    Uuid: "switch on the feature `uuid1` of `schemars`";
    Url: "switch on the feature `url2` of `schemars`";
    Decimal: "switch on the feature `rust_decimal1` of `schemars`";
    BigDecimal: "switch on the feature `bigdecimal04` of `schemars`";
    Semver: "switch on the feature `semver1` of `schemars`";
    Indexmap: "switch on the feature `indexmap2` of `schemars`";
}
