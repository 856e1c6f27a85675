//! Which functions are called only by generated code?

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_protocol::RpcError;
use toolway_protocol::types::PromptArgument;
use toolway_protocol::uri_template::{UriTemplate, Values};

use crate::schema::{input_schema_of, text_choices};
use crate::server::catalog::completion::{Completer, Completers};
use crate::server::handler::arguments::{MissingParameters, StartError};
use crate::server::handler::parameter::Parameter;

/// Returns a parameter of a prompt as it is listed; `None` if callers do not send it.
pub fn prompt_argument<P: Parameter>(
    name: &str,
    title: Option<&str>,
    description: &str,
    has_default: bool,
) -> Option<PromptArgument> {
    P::IS_ARGUMENT.then(|| {
        let mut argument = PromptArgument::new(name).with_required(!has_default && !P::is_optional());
        argument.title = title.map(str::to_owned);
        argument.description = Some(description).filter(|text| !text.is_empty()).map(str::to_owned);
        argument
    })
}

/// Returns the fields of a struct in declared order, and its schema.
fn fields_of<T: DeserializeOwned + JsonSchema>() -> (Vec<String>, Value) {
    let input = input_schema_of::<T>();
    let names = input.names().map(str::to_owned).collect();
    (names, input.finish().schema.decode().unwrap_or_default())
}

/// Returns the fields of a struct as the arguments of a prompt.
pub fn prompt_arguments_of<T: DeserializeOwned + JsonSchema>() -> Vec<PromptArgument> {
    let (names, schema) = fields_of::<T>();
    let text = |property: &Value, key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let argument = |name: String| {
        let property = &schema["properties"][&name];
        let mut argument = PromptArgument::new(&name).with_required(required.contains(&name.as_str()));
        argument.title = text(property, "title");
        argument.description = text(property, "description");
        argument
    };
    names.into_iter().map(argument).collect()
}

/// Returns completers for the fields of a struct that are enums.
pub fn completers_of<T: DeserializeOwned + JsonSchema>() -> Completers {
    let (names, schema) = fields_of::<T>();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    names.into_iter().fold(Completers::default(), |completers, name| {
        match text_choices(&schema["properties"][&name], &definitions) {
            Some(values) => completers.with(name, Completer::list(values)),
            None => completers,
        }
    })
}

/// Returns the message for a default that cannot be read as the type of its parameter.
pub fn wrong_default_message(name: &str) -> String {
    format!("the default of `{name}` does not fit its type")
}

/// Converts a refusal. Wrong arguments become an error of the protocol; values that the server lacks become a hidden
/// error.
pub fn bad_arguments<E: From<RpcError> + From<MissingParameters>>(refusal: StartError) -> E {
    match refusal {
        StartError::BadArguments(text) => RpcError::invalid_params(text).into(),
        StartError::MissingParameters(lacking) => lacking.into(),
    }
}

/// Runs blocking work on a thread for blocking tasks. A panic in the work continues in the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that is shutting down cancels such work, and it does not poll this future again.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Returns the URI for a template and its values. The macro has checked the template before.
pub fn expand(template: &str, values: &Values) -> String {
    UriTemplate::parse(template).map(|template| template.expand(values)).unwrap_or_default()
}
