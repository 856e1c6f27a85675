//! How does `#[tool]` handle a type that only implements `Serialize` and `JsonSchema`? In the same way as [`Json`].
//!
//! Two blanket implementations of one trait would overlap, so the generated code uses method lookup on concrete types.
//! Each kind of return type has its own trait below, a *rank*. The ranks are implemented for a [`Probe`] behind
//! different numbers of references, and method lookup takes the first rank whose bounds hold. A type that implements
//! [`IntoToolResult`] itself always has the first rank.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use toolway_protocol::RawJson;
use toolway_protocol::types::CallToolResult;

use super::tool::{IntoToolResult, Json};
use crate::ground::mistakes::BoxError;
use crate::server::failure::errors::{IntoFailure, ToolError};

/// A stand-in for the return type of a function.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// Creates a probe.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

macro_rules! ranks {
    ($($(#[doc = $doc:literal])* $rank:ident<$($generic:ident: $bound:path),*> for $place:ty, $value:ty => $respond:expr, $schema:expr;)*) => {$(
        $(#[doc = $doc])*
        pub trait $rank {
            /// The return type of the function.
            type Value;

            /// Converts the value to a result.
            fn respond(&self, value: Self::Value) -> Result<CallToolResult, ToolError>;

            /// Returns the schema of the structured result, if there is one.
            fn output_schema(&self) -> Option<RawJson>;
        }

        impl<$($generic: $bound),*> $rank for $place {
            type Value = $value;

            fn respond(&self, value: $value) -> Result<CallToolResult, ToolError> {
                ($respond as fn($value) -> Result<CallToolResult, ToolError>)(value)
            }

            fn output_schema(&self) -> Option<RawJson> {
                $schema
            }
        }
    )*};
}

/// A type that can be serialized and has a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be written as JSON, but has no schema",
    label = "derive `schemars::JsonSchema` too",
    note = "a type of another crate may need a feature of `schemars`: `chrono04`, `jiff02` or `uuid1`, for example",
    note = "to return it without a schema, convert it to a `serde_json::Value`"
)]
pub trait Described: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Described for T {}

ranks! {
    /// First: the type implements [`IntoToolResult`].
    Own<T: IntoToolResult> for &&&&&&&&Probe<T>, T => T::into_tool_result, T::output_schema();
    /// Second: a `Result` of an `Option`.
    Fallible<T: Described, E: Into<BoxError>> for &&&&&&&Probe<Result<Option<T>, E>>, Result<Option<T>, E>
        => |value| value.map(|value| value.map(Json)).into_tool_result(), None;
    /// Third: a `Result`.
    Checked<T: Described, E: Into<BoxError>> for &&&&&&Probe<Result<T, E>>, Result<T, E>
        => |value| value.map(Json).into_tool_result(), Json::<T>::output_schema();
    /// Fourth: an `Option`.
    Optional<T: Described> for &&&&&Probe<Option<T>>, Option<T> => |value| value.map(Json).into_tool_result(), None;
    /// Fifth: any described type.
    Plain<T: Described> for &&&&Probe<T>, T => |value| Json(value).into_tool_result(), Json::<T>::output_schema();
}

/// Defines ranks for types that are almost results: each requires the missing trait, so that the compiler names it.
macro_rules! lacking {
    ($($(#[doc = $doc:literal])* $rank:ident<$($generic:ident $(: $bound:path)?),*> for $place:ty, $value:ty => $lacks:ty: $missing:path;)*) => {$(
        $(#[doc = $doc])*
        pub trait $rank {
            /// The return type of the function.
            type Value;
            /// The part of that type that lacks a trait.
            type Lacks;

            /// Requires the missing trait.
            fn respond(&self, value: Self::Value) -> Result<CallToolResult, ToolError>
            where
                Self::Lacks: $missing;

            /// Returns `None` without another bound, so that the compiler reports one error only.
            fn output_schema(&self) -> Option<RawJson> {
                None
            }
        }

        impl<$($generic $(: $bound)?),*> $rank for $place {
            type Value = $value;
            type Lacks = $lacks;

            fn respond(&self, _: $value) -> Result<CallToolResult, ToolError>
            where
                $lacks: $missing,
            {
                unreachable!("a type that lacks nothing has a higher rank")
            }
        }
    )*};
}

lacking! {
    /// Sixth: the value is a result, but the error type cannot be returned by a handler.
    OwnOrOther<T: IntoToolResult, E> for &&&Probe<Result<T, E>>, Result<T, E> => E: IntoFailure<ToolError>;
    /// Seventh: the value has a schema, but the error type cannot be returned by a handler.
    DescribedOrOther<T: Described, E> for &&Probe<Result<T, E>>, Result<T, E> => E: IntoFailure<ToolError>;
    /// Eighth: a `Result` whose value has no schema.
    UndescribedOrOther<T: Serialize, E> for &Probe<Result<T, E>>, Result<T, E> => T: Described;
    /// Ninth: a value without a schema.
    Undescribed<T: Serialize> for Probe<T>, T => T: Described;
}

/// The last rank: a type that cannot be a result, so that the compiler reports it with the message of
/// [`IntoToolResult`]. The methods take `self`, so method lookup finds them last.
pub trait Unfit<T>: Sized {
    /// Requires the missing trait.
    fn respond(self, value: T) -> Result<CallToolResult, ToolError>
    where
        T: IntoToolResult,
    {
        value.into_tool_result()
    }

    /// Returns `None` without another bound, so that the compiler reports one error only.
    fn output_schema(self) -> Option<RawJson> {
        None
    }
}

impl<T> Unfit<T> for Probe<T> {}

/// Prevents a second compiler error about the move of the probe.
impl<T> Clone for Probe<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Probe<T> {}
