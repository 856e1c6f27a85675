//! What may a tool return?

use schemars::JsonSchema;
use serde::Serialize;
use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Content, Resource};

use super::content::{Audio, Embedded, Image, IntoContent, Text};
use crate::schema::output_schema;
use crate::server::failure::errors::{IntoFailure, ToolError};

/// A type that a tool may return.
///
/// | returned | the caller gets |
/// |---|---|
/// | text, a number, a `bool` | one block of text |
/// | [`Json<T>`], a `serde_json::Value` | structured content, and the same JSON as text |
/// | `()` | no content |
/// | `None` | the text `(null)` |
/// | [`Text`], [`Image`], [`Audio`], [`Embedded`], a link | one block |
/// | [`Content`], a `Vec` of it, tuples of blocks | those blocks |
/// | [`CallToolResult`] | the same result |
/// | any other type that is `Serialize` and `JsonSchema`, from a function marked `#[tool]` | the same as `Json<T>` |
/// | `Result<any of these, E>` | the value, or a failure: see [`ToolError`] |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a tool",
    label = "not a result",
    note = "wrap it in `toolway::Json(…)` if it implements `serde::Serialize` and `schemars::JsonSchema`"
)]
pub trait IntoToolResult {
    /// Converts the value to a result.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;

    /// Returns the schema of the structured result, if there is one.
    fn output_schema() -> Option<RawJson> {
        None
    }
}

/// Converts the return value of a function marked `#[tool]`.
pub fn respond<T: IntoToolResult>(value: T) -> Result<CallToolResult, ToolError> {
    value.into_tool_result()
}

/// A result for programs: `structuredContent` with an `outputSchema`, and the same JSON as text for the model.
///
/// ```
/// use toolway::prelude::*;
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Sum {
///     sum: i64,
/// }
///
/// /// Add two integers.
/// #[tool]
/// fn add(a: i64, b: i64) -> Json<Sum> {
///     Json(Sum { sum: a + b })
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(structured(RawJson::from_value(&self.0)?))
    }

    fn output_schema() -> Option<RawJson> {
        Some(output_schema::<T>())
    }
}

fn structured(json: RawJson) -> CallToolResult {
    CallToolResult::text(json.as_str()).with_structured_content(json)
}

macro_rules! results {
    ($($($type:ty),* => |$value:pat_param| $result:expr;)*) => {$($(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
                let $value = self;
                Ok($result)
            }
        }
    )*)*};
}
results! {
    () => |()| CallToolResult::default();
    CallToolResult => |result| result;
    serde_json::Value => |value| structured(value.into());
    Vec<Content> => |blocks| CallToolResult::new(blocks);
    Content, Text, Image, Audio, Embedded, Resource => |block| CallToolResult::new(vec![block.into_content()]);
    String => |text| CallToolResult::text(text);
    &str, bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64
        => |value| CallToolResult::text(value.to_string());
}

macro_rules! as_blocks {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: IntoContent),*> IntoToolResult for ($($name,)*) {
            fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
                #[expect(non_snake_case, reason = "each value is named after its type")]
                let ($($name,)*) = self;
                Ok(CallToolResult::new(vec![$($name.into_content()),*]))
            }
        }
    )*};
}
as_blocks! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_or_else(|| Ok(CallToolResult::text("(null)")), T::into_tool_result)
    }
}

impl<T: IntoToolResult, E: IntoFailure<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(|error| ToolError::hidden(error.into_box()))?.into_tool_result()
    }

    fn output_schema() -> Option<RawJson> {
        T::output_schema()
    }
}
