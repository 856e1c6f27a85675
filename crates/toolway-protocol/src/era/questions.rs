//! What may a server ask a client, and how is the question written in the handshake era?
//!
//! In the stateless era a question is a part of a result (`InputRequired`). In the handshake era it is a request from
//! the server. In both eras, a question is allowed if the revision knows it and the client declared the capability.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::capability::{ClientCapabilities, JsonObject};
use crate::jsonrpc::{Id, write_request};
use crate::types::{
    Blocks, Content, CreateMessage, Elicit, ElicitForm, ElicitUrl, Field, FieldKind, InputRequest,
    SamplingMessage,
};
use crate::version::ProtocolVersion;
use crate::version::since::{self, VersionRange};

/// Returns the capabilities that the client lacks for this question, or `None` if the server may ask the question.
///
/// The error for the caller contains the result as `data.requiredCapabilities`. If the revision cannot express the
/// question, the capability counts as missing even if the client declared it.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
/// use toolway_protocol::capability::{ClientCapabilities, JsonObject};
/// use toolway_protocol::era::questions::missing_capabilities;
/// use toolway_protocol::types::InputRequest;
///
/// let question = InputRequest::ListRoots(None);
/// let needed = ClientCapabilities::new().with_roots(JsonObject::new());
/// assert_eq!(missing_capabilities(ProtocolVersion::LATEST, &ClientCapabilities::new(), &question), Some(needed.clone()));
/// assert_eq!(missing_capabilities(ProtocolVersion::LATEST, &needed, &question), None);
/// ```
pub fn missing_capabilities(
    version: ProtocolVersion,
    can: &ClientCapabilities,
    question: &InputRequest,
) -> Option<ClientCapabilities> {
    let knows = |since: VersionRange| since.includes(version);
    let nothing = ClientCapabilities::new();
    let (is_possible, needed) = match question {
        InputRequest::Elicit(Elicit::Form(form)) => {
            let has_shape =
                knows(since::ELICITATION) && (knows(since::FORM_CHOICES) || !has_multiple_choice(form));
            let is_able = can.elicitation.as_ref().is_some_and(supports_forms);
            (has_shape && is_able, nothing.with_elicitation(settings_with("form")))
        }
        InputRequest::Elicit(Elicit::Url(_)) => {
            let is_able = declares(can.elicitation.as_ref(), "url");
            (knows(since::FORM_CHOICES) && is_able, nothing.with_elicitation(settings_with("url")))
        }
        InputRequest::CreateMessage(create) if has_tools(create) => {
            let is_able = declares(can.sampling.as_ref(), "tools");
            (knows(since::SAMPLING_TOOLS) && is_able, nothing.with_sampling(settings_with("tools")))
        }
        InputRequest::CreateMessage(_) => (can.sampling.is_some(), nothing.with_sampling(JsonObject::new())),
        InputRequest::ListRoots(_) => (can.roots.is_some(), nothing.with_roots(JsonObject::new())),
    };
    (!is_possible).then_some(needed)
}

/// Appends a question as a request from the server, in the shape of a handshake revision.
///
/// Some parts of a question have a different shape in older revisions: named choices become `enumNames`, and a message
/// with several blocks becomes several messages. Call [`missing_capabilities`] first; members that the revision does
/// not have are left out.
///
/// ```
/// use toolway_protocol::era::questions::write_question;
/// use toolway_protocol::types::InputRequest;
/// use toolway_protocol::ProtocolVersion;
///
/// let mut frame = Vec::new();
/// write_question(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &7.into(), &InputRequest::ListRoots(None));
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{}}"#);
/// ```
pub fn write_question(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, question: &InputRequest) {
    write_request(out, version, id, &question.method(), |params| match question {
        InputRequest::Elicit(Elicit::Form(form)) if !since::FORM_CHOICES.includes(version) => {
            Elicit::Form(with_plain_choices(form)).put(params);
        }
        InputRequest::Elicit(Elicit::Url(url)) if since::ELICITATION_ID.includes(version) => {
            Elicit::Url(with_required_id(url, id)).put(params);
        }
        InputRequest::Elicit(elicit) => elicit.put(params),
        InputRequest::CreateMessage(create) if !since::SAMPLING_TOOLS.includes(version) => {
            with_single_blocks(create).put(params);
        }
        InputRequest::CreateMessage(create) => create.put(params),
        InputRequest::ListRoots(told) => told.iter().for_each(|told| told.put(params)),
    });
}

/// Returns capability settings that declare one part, such as `form` or `tools`.
fn settings_with(part: &str) -> JsonObject {
    JsonObject::from_iter([(part.to_owned(), json!({}))])
}

fn declares(capability: Option<&JsonObject>, part: &str) -> bool {
    capability.and_then(|parts| parts.get(part)).is_some_and(Value::is_object)
}

/// Returns whether the client supports forms. A client that names no mode supports forms: they were the only mode
/// when the capability was introduced.
fn supports_forms(elicitation: &JsonObject) -> bool {
    declares(Some(elicitation), "form") || !["form", "url"].iter().any(|mode| elicitation.contains_key(*mode))
}

/// Returns whether the form has a multiple-choice field.
fn has_multiple_choice(form: &ElicitForm) -> bool {
    form.requested_schema.properties.0.iter().any(|(_, field)| field.kind == FieldKind::Array)
}

/// Returns whether the request offers tools to the model, or contains tool calls or their results.
fn has_tools(create: &CreateMessage) -> bool {
    let is_of_tools = |block: &Content| matches!(block, Content::ToolUse(_) | Content::ToolResult(_));
    create.tools.is_some()
        || create.tool_choice.is_some()
        || create.messages.iter().any(|message| message.content.as_slice().iter().any(is_of_tools))
}

/// Returns the form with its named choices in the older shape, `enum` and `enumNames`.
fn with_plain_choices(form: &ElicitForm) -> ElicitForm {
    let mut form = form.clone();
    for (_, field) in &mut form.requested_schema.properties.0 {
        let Field { one_of, choices, choice_names, .. } = field;
        if let Some(named) = one_of.take() {
            let (values, names) = named.into_iter().map(|choice| (choice.value, choice.title)).unzip();
            *choices = Some(values);
            *choice_names = Some(names);
        }
    }
    form
}

/// Returns the URL question with an id. Revision 2025-11-25 requires an id, even from a server that will not report the
/// completion. A question without an id gets the id of the request.
fn with_required_id(url: &ElicitUrl, id: &Id) -> ElicitUrl {
    let url = url.clone();
    match (&url.elicitation_id, id) {
        (Some(_), _) => url,
        (None, Id::Number(number)) => url.with_elicitation_id(number.to_string()),
        (None, Id::String(text)) => url.with_elicitation_id(&**text),
    }
}

/// Returns the request with one block in each message.
fn with_single_blocks(create: &CreateMessage) -> Cow<'_, CreateMessage> {
    if create.messages.iter().all(|message| matches!(message.content, Blocks::One(_))) {
        return Cow::Borrowed(create);
    }
    let mut create = create.clone();
    let alone = |message: SamplingMessage| -> Vec<SamplingMessage> {
        let blocks = message.content.as_slice().iter().cloned();
        blocks.map(|block| SamplingMessage { content: block.into(), ..message.clone() }).collect()
    };
    create.messages = create.messages.into_iter().flat_map(alone).collect();
    Cow::Owned(create)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::RawJson;
    use crate::version::ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    fn question(method: &str, params: Value) -> InputRequest {
        RawJson::from(json!({"method": method, "params": params})).decode().unwrap()
    }

    fn form(field: Value) -> InputRequest {
        let schema = json!({"type": "object", "properties": {"f": field}});
        question("elicitation/create", json!({"mode": "form", "message": "m", "requestedSchema": schema}))
    }

    fn url() -> InputRequest {
        question("elicitation/create", json!({"mode": "url", "message": "m", "url": "https://a.example"}))
    }

    fn sampling(content: Value, more: Value) -> InputRequest {
        let mut params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 1});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        question("sampling/createMessage", params)
    }

    fn text() -> Value {
        json!({"type": "text", "text": "t"})
    }

    /// Returns the `params` of a written question.
    fn written(version: ProtocolVersion, question: &InputRequest) -> Value {
        let mut frame = Vec::new();
        write_question(&mut frame, version, &7.into(), question);
        let mut frame: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!((&frame["jsonrpc"], &frame["id"]), (&json!("2.0"), &json!(7)));
        assert_eq!(frame["method"], question.method().name());
        frame["params"].take()
    }

    #[test]
    fn a_client_is_asked_only_what_it_and_its_revision_can_do() {
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["a"]}});
        let named = json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]});
        let used = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}});
        let forms = json!({"elicitation": {"form": {}}});
        let urls = json!({"elicitation": {"url": {}}});
        let models = json!({"sampling": {}});
        let tools = json!({"sampling": {"tools": {}}});
        let roots = json!({"roots": {}});
        // Each row has a question, the client's capabilities, the first revision in which these capabilities suffice,
        // and the result of `missing_capabilities` in all other revisions.
        let rows = [
            (form(json!({"type": "boolean"})), json!({"elicitation": {}}), Some(V2025_06_18), &forms),
            (form(json!({"type": "boolean"})), forms.clone(), Some(V2025_06_18), &forms),
            // Unknown settings do not name a mode.
            (
                form(json!({"type": "boolean"})),
                json!({"elicitation": {"acme": true}}),
                Some(V2025_06_18),
                &forms,
            ),
            (form(json!({"type": "boolean"})), urls.clone(), None, &forms),
            (form(json!({"type": "boolean"})), json!({"elicitation": {"form": null}}), None, &forms),
            (form(json!({"type": "boolean"})), models.clone(), None, &forms),
            (form(named), json!({"elicitation": {}}), Some(V2025_06_18), &forms),
            (form(several), json!({"elicitation": {}}), Some(V2025_11_25), &forms),
            (url(), urls.clone(), Some(V2025_11_25), &urls),
            (url(), json!({"elicitation": {}}), None, &urls),
            (url(), forms.clone(), None, &urls),
            (sampling(text(), json!({})), models.clone(), Some(V2024_11_05), &models),
            (sampling(json!([text(), text()]), json!({})), models.clone(), Some(V2024_11_05), &models),
            (sampling(text(), json!({})), json!({"roots": {}}), None, &models),
            (sampling(text(), json!({"tools": []})), tools.clone(), Some(V2025_11_25), &tools),
            (sampling(text(), json!({"tools": []})), models.clone(), None, &tools),
            (sampling(text(), json!({"toolChoice": {}})), models.clone(), None, &tools),
            (sampling(used.clone(), json!({})), models.clone(), None, &tools),
            (sampling(used, json!({})), tools.clone(), Some(V2025_11_25), &tools),
            (InputRequest::ListRoots(None), roots.clone(), Some(V2024_11_05), &roots),
            (InputRequest::ListRoots(None), models.clone(), None, &roots),
        ];
        for (question, can, enough, needed) in rows {
            let capabilities: ClientCapabilities = RawJson::from(can.clone()).decode().unwrap();
            let needed: ClientCapabilities = RawJson::from(needed.clone()).decode().unwrap();
            for version in ProtocolVersion::ALL {
                let expected =
                    if enough.is_some_and(|first| first <= version) { None } else { Some(&needed) };
                let told = missing_capabilities(version, &capabilities, &question);
                assert_eq!(told.as_ref(), expected, "{version} {can} {question:?}");
            }
        }
    }

    #[test]
    fn the_first_forms_have_no_mode_and_name_their_choices_beside_them() {
        let choice = json!({
            "type": "string",
            "title": "Colour",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}],
            "default": "r",
        });
        let plain =
            json!({"type": "string", "title": "Colour", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        let old = written(V2025_06_18, &form(choice.clone()));
        assert_eq!(
            old,
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"f": plain}}})
        );
        let new = written(V2025_11_25, &form(choice.clone()));
        assert_eq!(new["mode"], "form");
        assert_eq!(new["requestedSchema"]["properties"]["f"], choice);
    }

    #[test]
    fn the_first_forms_have_no_defaults_but_yes_and_no() {
        for (field, is_kept) in [
            (json!({"type": "boolean", "default": true}), true),
            (json!({"type": "integer", "default": 1}), false),
            (json!({"type": "string", "default": "a"}), false),
        ] {
            let default = |version| {
                written(version, &form(field.clone()))["requestedSchema"]["properties"]["f"]["default"].take()
            };
            assert_eq!(default(V2025_06_18) == field["default"], is_kept, "{field}");
            assert_eq!(default(V2025_11_25), field["default"]);
        }
    }

    #[test]
    fn a_page_has_an_id_exactly_where_the_revision_demands_one() {
        assert_eq!(written(V2025_11_25, &url())["elicitationId"], "7");
        let InputRequest::Elicit(Elicit::Url(page)) = url() else { unreachable!() };
        let own = InputRequest::Elicit(Elicit::Url(page.with_elicitation_id("own")));
        assert_eq!(written(V2025_11_25, &own)["elicitationId"], "own");
        assert_eq!(written(V2026_07_28, &own).get("elicitationId"), None);
    }

    #[test]
    fn several_blocks_are_several_messages_where_a_message_holds_one() {
        let both = sampling(json!([text(), {"type": "text", "text": "u"}]), json!({}));
        let one = sampling(json!([text()]), json!({}));
        for version in [V2024_11_05, V2025_03_26, V2025_06_18] {
            let messages = json!([
                {"role": "user", "content": text()},
                {"role": "user", "content": {"type": "text", "text": "u"}},
            ]);
            assert_eq!(written(version, &both)["messages"], messages);
            assert_eq!(written(version, &one)["messages"], json!([{"role": "user", "content": text()}]));
        }
        assert_eq!(written(V2025_11_25, &both)["messages"][0]["content"][1]["text"], "u");
    }
}
