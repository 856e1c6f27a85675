//! Which calls does a model's reply contain?
//!
//! The functions that read replies are lenient: they accept a whole response, one message of the response, a list of
//! calls, or a single call. They do not skip a call with a mistake, such as invalid JSON. Such a call fails when it is
//! made, and the model reads the reason.

use serde_json::Value;
use toolway_protocol::RawJson;

use super::answer::ToolAnswer;
use super::failure::ToolFailure;
use super::output::ToolOutput;

/// A model's request to call a tool.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::ToolCall;
///
/// let reply = json!({"role": "assistant", "content": [
///     {"type": "text", "text": "Let me see."},
///     {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
/// ]});
/// let calls = ToolCall::from_anthropic(&reply);
/// assert_eq!(calls.len(), 1);
/// assert_eq!(calls[0].name, "weather");
/// assert_eq!(calls[0].arguments().unwrap().as_str(), r#"{"city":"Oslo"}"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id of the call. The answer repeats it.
    pub id: String,
    /// The name of the tool: its own name, or its name for the provider (see
    /// [`ToolSet::name_for`](super::ToolSet::name_for)).
    pub name: String,
    /// The arguments, a JSON object; or a description of what is wrong with them.
    arguments: Result<RawJson, String>,
    /// `true` if this library generated the id, because the model's call had none.
    has_generated_id: bool,
}

impl ToolCall {
    /// Creates a call. If the arguments are not a JSON object, the call fails when it is made.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<RawJson>) -> Self {
        let arguments = expect_object(arguments.into());
        Self { id: id.into(), name: name.into(), arguments, has_generated_id: false }
    }

    /// Returns the arguments, which are a JSON object, or a description of what is wrong with them.
    pub fn arguments(&self) -> Result<&RawJson, &str> {
        self.arguments.as_ref().map_err(String::as_str)
    }

    /// Reads the calls in a reply of OpenAI. For chat completions, pass a response (only its first choice is read), a
    /// message, or the message's `tool_calls`. For the Responses API, pass a response or its `output`. A single call is
    /// also accepted.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::agent::ToolCall;
    ///
    /// let output = json!([{"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{\"a\":2"}]);
    /// let calls = ToolCall::from_openai(&output);
    /// assert!(calls[0].arguments().unwrap_err().starts_with("the arguments are not valid JSON"));
    /// ```
    pub fn from_openai(reply: &Value) -> Vec<Self> {
        let message = match &reply["choices"][0]["message"] {
            Value::Null => reply,
            message => message,
        };
        let calls = match (&message["tool_calls"], &message["output"]) {
            (Value::Array(calls), _) | (_, Value::Array(calls)) => calls.as_slice(),
            _ => one_or_many(message),
        };
        read_calls(calls, |call| match call["type"].as_str() {
            Some("function_call") => {
                Some((call.get("call_id").or(call.get("id")), &call["name"], &call["arguments"]))
            }
            // A custom tool has no schema, and this library never offers one to the model. But a call of it needs an
            // answer.
            Some("custom") => Some((call.get("id"), &call["custom"]["name"], &call["custom"]["input"])),
            _ => {
                let function = call.get("function")?;
                Some((call.get("id"), &function["name"], &function["arguments"]))
            }
        })
    }

    /// Reads the calls in a reply of Anthropic. Pass a message, its `content`, or one block of the content.
    pub fn from_anthropic(reply: &Value) -> Vec<Self> {
        let blocks = reply["content"].as_array().map_or_else(|| one_or_many(reply), Vec::as_slice);
        read_calls(blocks, |block| {
            (block["type"] == "tool_use").then(|| (block.get("id"), &block["name"], &block["input"]))
        })
    }

    /// Reads the calls in a reply of Gemini. Pass a response (only its first candidate is read), a content, its
    /// `parts`, or one part. Calls without an id get a generated id, which [`ToolAnswer::to_gemini`] does not send.
    pub fn from_gemini(reply: &Value) -> Vec<Self> {
        let content = match &reply["candidates"][0]["content"] {
            Value::Null => reply,
            content => content,
        };
        let parts = content["parts"].as_array().map_or_else(|| one_or_many(content), Vec::as_slice);
        read_calls(parts, |part| {
            let call = part.get("functionCall").or(part.get("function_call"))?;
            Some((call.get("id"), &call["name"], &call["args"]))
        })
    }

    /// Creates the answer to this call.
    pub(super) fn answer(self, result: Result<ToolOutput, ToolFailure>) -> ToolAnswer {
        ToolAnswer { id: self.id, name: self.name, result, has_generated_id: self.has_generated_id }
    }
}

fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::Array(many) => many,
        one => std::slice::from_ref(one),
    }
}

/// Reads the calls among the items of a reply. A call without an id gets the id `call_` followed by the index of the
/// call.
fn read_calls<'v>(
    items: &'v [Value],
    read: impl Fn(&'v Value) -> Option<(Option<&'v Value>, &'v Value, &'v Value)>,
) -> Vec<ToolCall> {
    let calls = items.iter().filter_map(read).enumerate();
    calls
        .map(|(index, (id, name, arguments))| {
            let id = id.and_then(Value::as_str).filter(|id| !id.is_empty());
            ToolCall {
                id: id.map_or_else(|| format!("call_{index}"), str::to_owned),
                name: name.as_str().unwrap_or_default().to_owned(),
                arguments: read_arguments(arguments),
                has_generated_id: id.is_none(),
            }
        })
        .collect()
}

/// Reads arguments that are JSON, or a string that contains JSON. An empty string means no arguments.
fn read_arguments(arguments: &Value) -> Result<RawJson, String> {
    match arguments {
        Value::String(text) if text.trim().is_empty() => expect_object(Value::Null.into()),
        Value::String(text) => match RawJson::parse(text) {
            Ok(arguments) => expect_object(arguments),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        },
        other => expect_object(other.clone().into()),
    }
}

fn expect_object(arguments: RawJson) -> Result<RawJson, String> {
    match arguments.as_bytes().first() {
        Some(b'{') => Ok(arguments),
        Some(b'n') => Ok(Value::Object(serde_json::Map::new()).into()),
        first => {
            let kind = match first {
                Some(b'[') => "an array",
                Some(b'"') => "a string",
                Some(b't' | b'f') => "a boolean",
                _ => "a number",
            };
            Err(format!("the arguments must be a JSON object, not {kind}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the id, the name and the arguments of each call.
    fn seen(calls: &[ToolCall]) -> Vec<(&str, &str, Result<&str, &str>)> {
        calls.iter().map(|call| (&*call.id, &*call.name, call.arguments().map(RawJson::as_str))).collect()
    }

    #[test]
    fn replies_of_openai() {
        let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
        let calls = json!([call("1", "{\"a\": 1}"), call("2", "")]);
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        let response =
            json!({"choices": [{"message": message}, {"message": {"tool_calls": [call("3", "{}")]}}]});
        for reply in [&response, &message, &calls] {
            let calls = ToolCall::from_openai(reply);
            assert_eq!(seen(&calls), [("1", "add", Ok("{\"a\": 1}")), ("2", "add", Ok("{}"))], "{reply}");
        }
        assert_eq!(ToolCall::from_openai(&calls[0]).len(), 1);
        assert!(ToolCall::from_openai(&json!({"role": "assistant", "content": "hello"})).is_empty());
        let custom = json!([{"id": "1", "type": "custom", "custom": {"name": "x", "input": "print(1)"}}]);
        let calls = ToolCall::from_openai(&custom);
        assert_eq!((&*calls[0].name, calls[0].arguments().is_err()), ("x", true));
    }

    #[test]
    fn replies_of_openais_responses() {
        let output = json!([
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"},
            {"type": "message", "content": []},
        ]);
        for reply in [&json!({"object": "response", "output": output}), &output, &output[1]] {
            assert_eq!(seen(&ToolCall::from_openai(reply)), [("call_1", "add", Ok("{}"))], "{reply}");
        }
    }

    #[test]
    fn replies_of_anthropic() {
        let block = json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}});
        let theirs =
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
        let content = json!([{"type": "text", "text": "So."}, block, theirs]);
        for reply in [&json!({"role": "assistant", "content": content}), &content, &block] {
            assert_eq!(
                seen(&ToolCall::from_anthropic(reply)),
                [("toolu_1", "add", Ok("{\"a\":1}"))],
                "{reply}"
            );
        }
        assert!(ToolCall::from_anthropic(&json!({"content": "hello"})).is_empty());
    }

    #[test]
    fn replies_of_gemini() {
        let parts = json!([
            {"text": "So."},
            {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "x"},
            {"functionCall": {"id": "7", "name": "add"}},
            {"function_call": {"name": "add", "args": {}}},
        ]);
        let content = json!({"role": "model", "parts": parts});
        for reply in [&json!({"candidates": [{"content": content}]}), &content, &parts] {
            let calls = ToolCall::from_gemini(reply);
            let expected =
                [("call_0", "add", Ok("{\"a\":1}")), ("7", "add", Ok("{}")), ("call_2", "add", Ok("{}"))];
            assert_eq!(seen(&calls), expected, "{reply}");
        }
    }

    #[test]
    fn no_call_is_lost_whatever_is_wrong_with_it() {
        let calls = json!([
            {"id": "1", "function": {"name": "add", "arguments": "{\"a\": "}},
            {"id": "2", "function": {"name": "add", "arguments": "[1]"}},
            {"id": "3", "function": {"name": "add", "arguments": "\"{}\""}},
            {"id": "4", "function": {"name": "add", "arguments": {"a": 1}}},
            {"id": "5", "function": {"name": "add", "arguments": 5}},
            {"id": "6", "function": {"name": "add", "arguments": true}},
            {"id": "7", "function": {"name": "add", "arguments": null}},
            {"id": "8", "function": {"name": "add"}},
            {"id": 9, "function": {"name": 9, "arguments": " "}},
            {"id": "", "function": {}},
        ]);
        let calls = ToolCall::from_openai(&calls);
        assert_eq!(calls.len(), 10);
        let arguments: Vec<_> = calls.iter().map(|call| call.arguments().map(RawJson::as_str)).collect();
        assert!(arguments[0].unwrap_err().starts_with("the arguments are not valid JSON: EOF while parsing"));
        assert_eq!(arguments[1], Err("the arguments must be a JSON object, not an array"));
        assert_eq!(arguments[2], Err("the arguments must be a JSON object, not a string"));
        assert_eq!(arguments[3], Ok("{\"a\":1}"));
        assert_eq!(arguments[4], Err("the arguments must be a JSON object, not a number"));
        assert_eq!(arguments[5], Err("the arguments must be a JSON object, not a boolean"));
        assert!(arguments[6..].iter().all(|arguments| *arguments == Ok("{}")));
        assert_eq!((&*calls[8].id, &*calls[8].name), ("call_8", ""));
        assert_eq!(calls[9].id, "call_9");
        for nothing in
            [json!(null), json!("x"), json!([]), json!({}), json!([null, 1]), json!({"choices": []})]
        {
            assert!(ToolCall::from_openai(&nothing).is_empty());
            assert!(ToolCall::from_anthropic(&nothing).is_empty());
            assert!(ToolCall::from_gemini(&nothing).is_empty());
        }
    }
}
