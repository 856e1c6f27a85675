//! What does `#[tool]` do with a type that only implements `Serialize` and `JsonSchema`? What [`Json`] does.
//!
//! Two blanket implementations of one trait would overlap, so the generated code asks for concrete types: it
//! calls `respond` on a [`Probe`] behind as many references as there are ranks below, and method lookup takes the
//! first rank whose bounds hold. A type that has its own way to be a result always wins.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use toolway_protocol::RawJson;
use toolway_protocol::types::CallToolResult;

use super::tool::{IntoToolResult, Json};
use crate::ground::mistakes::BoxError;
use crate::server::failure::errors::{IntoFailure, ToolError};

/// Stands for the return type of a function.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// A probe.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

macro_rules! ranks {
    ($($(#[doc = $doc:literal])* $rank:ident<$($generic:ident: $bound:path),*> for $place:ty, $value:ty => $respond:expr, $schema:expr;)*) => {$(
        $(#[doc = $doc])*
        pub trait $rank {
            /// What the function returned.
            type Value;

            /// Makes the result.
            fn respond(&self, value: Self::Value) -> Result<CallToolResult, ToolError>;

            /// The schema of the structured result, if there is one.
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

/// What is both written and described.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be written as JSON, but nothing describes it",
    label = "derive `schemars::JsonSchema` too",
    note = "a type of another crate may need a feature of `schemars`: `chrono04`, `jiff02` or `uuid1`, for example",
    note = "what needs no schema can be returned as a `serde_json::Value`"
)]
pub trait Described: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Described for T {}

ranks! {
    /// First: the type knows how to be a result.
    Own<T: IntoToolResult> for &&&&&&&&Probe<T>, T => T::into_tool_result, T::output_schema();
    /// Second: a result of something that may be missing.
    Fallible<T: Described, E: Into<BoxError>> for &&&&&&&Probe<Result<Option<T>, E>>, Result<Option<T>, E>
        => |value| value.map(|value| value.map(Json)).into_tool_result(), None;
    /// Third: a result of something.
    Checked<T: Described, E: Into<BoxError>> for &&&&&&Probe<Result<T, E>>, Result<T, E>
        => |value| value.map(Json).into_tool_result(), Json::<T>::output_schema();
    /// Fourth: something that may be missing.
    Optional<T: Described> for &&&&&Probe<Option<T>>, Option<T> => |value| value.map(Json).into_tool_result(), None;
    /// Fifth: something.
    Plain<T: Described> for &&&&Probe<T>, T => |value| Json(value).into_tool_result(), Json::<T>::output_schema();
}

/// Ranks of what is almost a result: they ask for what is missing, so that the compiler says it.
macro_rules! lacking {
    ($($(#[doc = $doc:literal])* $rank:ident<$($generic:ident $(: $bound:path)?),*> for $place:ty, $value:ty => $lacks:ty: $missing:path;)*) => {$(
        $(#[doc = $doc])*
        pub trait $rank {
            /// What the function returned.
            type Value;
            /// The part of it that lacks something.
            type Lacks;

            /// Asks for what is missing.
            fn respond(&self, value: Self::Value) -> Result<CallToolResult, ToolError>
            where
                Self::Lacks: $missing;

            /// Says nothing: one complaint is enough.
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
    /// Sixth: the value is a result, the error is not an error.
    OwnOrOther<T: IntoToolResult, E> for &&&Probe<Result<T, E>>, Result<T, E> => E: IntoFailure<ToolError>;
    /// Seventh: the same, for a value that is described.
    DescribedOrOther<T: Described, E> for &&Probe<Result<T, E>>, Result<T, E> => E: IntoFailure<ToolError>;
    /// Eighth: a value that nothing describes, or an error.
    UndescribedOrOther<T: Serialize, E> for &Probe<Result<T, E>>, Result<T, E> => T: Described;
    /// Ninth: a value that nothing describes.
    Undescribed<T: Serialize> for Probe<T>, T => T: Described;
}

/// Behind all ranks: what is no result at all, so that the compiler says so in the words of [`IntoToolResult`].
/// Methods that take `self` are looked at last.
pub trait Unfit<T>: Sized {
    /// Asks for what is missing.
    fn respond(self, value: T) -> Result<CallToolResult, ToolError>
    where
        T: IntoToolResult,
    {
        value.into_tool_result()
    }

    /// Says nothing: one complaint is enough.
    fn output_schema(self) -> Option<RawJson> {
        None
    }
}

impl<T> Unfit<T> for Probe<T> {}

/// So that the compiler does not complain about the move as well.
impl<T> Clone for Probe<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Probe<T> {}
