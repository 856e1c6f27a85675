//! How does a function of this program become a tool of a model?

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use toolway_protocol::RawJson;
use toolway_protocol::json::message_without_position;
use toolway_protocol::types::{CallToolResult, ToolAnnotations};

use super::failure::ToolFailure;
use super::output::ToolOutput;
use super::tool::AgentTool;
use crate::ground::future::BoxFuture;

/// Makes a tool from a function.
///
/// The function takes one parameter, into which the JSON arguments are decoded. Its type can be any type that can be
/// deserialized, or [`RawJson`] to get the arguments unchanged. The function returns text, JSON, a [`ToolOutput`], or a
/// `Result` of one of these types; see [`IntoOutput`].
///
/// ```
/// use serde_json::json;
/// use toolway::RawJson;
/// use toolway::agent::{self, AgentTool, FailureKind, ToolFailure};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let weather = agent::native_tool("weather", "The weather in a city.", schema, async |arguments: RawJson| {
///     if !arguments.as_str().contains("Oslo") {
///         return Err(ToolFailure::failed("only Oslo has weather"));
///     }
///     Ok(json!({"degrees": -3}))
/// });
/// let output = weather.call(json!({"city": "Oslo"}).into()).await?;
/// assert_eq!(output.text(), r#"{"degrees":-3}"#);
/// let failure = weather.call(json!({"city": "Rome"}).into()).await.unwrap_err();
/// assert_eq!(failure.kind(), FailureKind::Failed);
/// assert_eq!(failure.for_model(), "only Oslo has weather");
/// # Ok::<(), ToolFailure>(()) }).unwrap();
/// ```
pub fn native_tool<A, F, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    schema: impl Into<RawJson>,
    function: F,
) -> NativeTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> O + Send + Sync + 'static,
    O: Future<Output: IntoOutput> + Send + 'static,
{
    NativeTool {
        name: name.into(),
        description: description.into(),
        schema: schema.into(),
        title: None,
        annotations: None,
        output_schema: None,
        function,
        arguments: PhantomData,
    }
}

/// A function as a tool, created by [`native_tool`].
pub struct NativeTool<A, F> {
    name: String,
    description: String,
    schema: RawJson,
    title: Option<String>,
    annotations: Option<ToolAnnotations>,
    output_schema: Option<RawJson>,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F> NativeTool<A, F> {
    /// Sets the title of the tool, a name for display.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets hints about the behaviour of the tool.
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Sets the JSON Schema of the tool's structured result.
    pub fn with_output_schema(mut self, schema: impl Into<RawJson>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }
}

impl<A, F, O> AgentTool for NativeTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> O + Send + Sync + 'static,
    O: Future<Output: IntoOutput> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn input_schema(&self) -> &RawJson {
        &self.schema
    }

    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
        match arguments.decode() {
            Ok(decoded) => {
                let running = (self.function)(decoded);
                Box::pin(async { running.await.into_output() })
            }
            Err(error) => {
                let text = format!(
                    "the arguments of `{}` do not fit: {}",
                    self.name,
                    message_without_position(&error)
                );
                Box::pin(async { Err(ToolFailure::invalid(text)) })
            }
        }
    }

    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    fn annotations(&self) -> Option<&ToolAnnotations> {
        self.annotations.as_ref()
    }

    fn output_schema(&self) -> Option<&RawJson> {
        self.output_schema.as_ref()
    }
}

impl<A, F> fmt::Debug for NativeTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeTool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A type that a tool function may return.
///
/// A string becomes a text block. JSON becomes structured content, and also a text block with the same JSON. `()`
/// becomes the text `done`. A [`CallToolResult`] is used unchanged; if it is an error, the call fails. The error of a
/// `Result` can be any type that converts to a [`ToolFailure`].
///
/// ```
/// use toolway::agent::{IntoOutput, ToolFailure};
/// use toolway::types::CallToolResult;
///
/// assert_eq!("5".into_output()?.text(), "5");
/// assert_eq!(serde_json::json!([1, 2]).into_output()?.text(), "[1,2]");
/// assert_eq!(().into_output()?.text(), "done");
/// assert!(CallToolResult::error("division by zero").into_output().is_err());
/// assert!(Err::<String, _>("division by zero").into_output().is_err());
/// # Ok::<(), ToolFailure>(())
/// ```
pub trait IntoOutput {
    /// Converts the value to an output or a failure.
    fn into_output(self) -> Result<ToolOutput, ToolFailure>;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolFailure> {
        Ok(self)
    }
}

impl IntoOutput for CallToolResult {
    fn into_output(self) -> Result<ToolOutput, ToolFailure> {
        self.try_into()
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<ToolOutput, ToolFailure> {
        Ok("done".into())
    }
}

macro_rules! outputs {
    ($($type:ty),*) => {$(
        impl IntoOutput for $type {
            fn into_output(self) -> Result<ToolOutput, ToolFailure> {
                Ok(self.into())
            }
        }
    )*};
}
outputs!(String, &str, serde_json::Value, RawJson);

impl<T: IntoOutput, E: Into<ToolFailure>> IntoOutput for Result<T, E> {
    fn into_output(self) -> Result<ToolOutput, ToolFailure> {
        self.map_err(Into::into)?.into_output()
    }
}
