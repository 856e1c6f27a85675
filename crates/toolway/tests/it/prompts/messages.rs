//! Which messages does the return value of a prompt become?

use serde_json::json;
use toolway::prelude::*;
use toolway::server::convert::IntoContent;
use toolway::server::{Audio, Embedded, Image, Message, PromptError, PromptMessages, assistant, user};
use toolway::testing::each_wire;
use toolway::types::{
    Content, EmbeddedResource, GetPromptResult, ImageContent, PromptMessage, Resource, ResourceContents, Role,
};
use toolway::{ProtocolVersion, RpcError};

use super::description::review;
use super::{NOTHING, dynamic, get, refused, said, serving};

#[prompt]
fn list_of_messages() -> Vec<Message> {
    vec![assistant("You are an editor."), user("Edit it."), user("Now.")]
}

#[prompt]
fn array_of_messages() -> [Message; 2] {
    [user("One."), assistant("Two.")]
}

#[prompt]
fn no_messages() -> Vec<Message> {
    Vec::new()
}

#[prompt]
fn described_messages() -> PromptMessages {
    PromptMessages::new().with_description("A review").assistant("You are an editor.").user("Review it.")
}

#[tokio::test]
async fn a_list_of_messages_is_sent_in_its_order() {
    let mut prompts = prompts![list_of_messages, array_of_messages, no_messages, described_messages];
    prompts.push(dynamic(
        "json",
        json!([
            {"role": "assistant", "content": "You are an editor."},
            {"role": "user", "content": {"type": "text", "text": "Edit it."}},
        ]),
    ));
    prompts.push(dynamic(
        "json-described",
        json!({"description": "Said in JSON", "messages": [{"role": "user", "content": "Edit it."}]}),
    ));
    prompts.push(dynamic("json-wrong", json!([{"role": "user", "content": 5}])));
    prompts.push(dynamic("json-number", json!(5)));
    each_wire(&serving(prompts), async |client| {
        for (prompt, description, messages) in [
            (
                "list_of_messages",
                None,
                vec![("assistant", "You are an editor."), ("user", "Edit it."), ("user", "Now.")],
            ),
            ("array_of_messages", None, vec![("user", "One."), ("assistant", "Two.")]),
            ("no_messages", None, vec![]),
            (
                "described_messages",
                Some("A review"),
                vec![("assistant", "You are an editor."), ("user", "Review it.")],
            ),
            ("json", None, vec![("assistant", "You are an editor."), ("user", "Edit it.")]),
            ("json-described", Some("Said in JSON"), vec![("user", "Edit it.")]),
        ] {
            let result = get(&client, prompt).await;
            assert_eq!((said(&result), result.description.as_deref()), (messages, description), "{prompt}");
        }
        for prompt in ["json-wrong", "json-number"] {
            let error = refused(&client, prompt, &[]).await;
            let text = "the prompt returned a value that is not a list of messages";
            assert_eq!(error, RpcError::internal(text));
        }
    })
    .await;
}

#[prompt]
async fn one_text() -> String {
    "Just this.".to_owned()
}

#[prompt]
fn one_message() -> Message {
    assistant("I am listening.")
}

#[prompt]
fn one_result() -> Result<Message, PromptError> {
    std::fs::metadata("/").map(|_| user("It is there.")).map_err(PromptError::from)
}

#[tokio::test]
async fn a_single_message_is_a_list_of_one() {
    let mut prompts = prompts![one_text, one_message, one_result, review];
    prompts.push(dynamic("json-text", json!("Just this.")));
    prompts.push(dynamic("json-message", json!({"role": "assistant", "content": "I am listening."})));
    each_wire(&serving(prompts), async |client| {
        for (prompt, message) in [
            ("one_text", ("user", "Just this.")),
            ("one_message", ("assistant", "I am listening.")),
            ("one_result", ("user", "It is there.")),
            ("review", ("user", "Review it.")),
            ("json-text", ("user", "Just this.")),
            ("json-message", ("assistant", "I am listening.")),
        ] {
            assert_eq!(said(&get(&client, prompt).await), [message], "{prompt}");
        }
    })
    .await;
}

#[prompt]
fn pairs() -> [(&'static str, &'static str); 3] {
    [("user", "Hello."), ("assistant", "How are you?"), ("user", "Fine.")]
}

#[prompt]
fn many_pairs() -> Vec<(&'static str, String)> {
    vec![("assistant", "First.".to_owned()), ("user", "Second.".to_owned())]
}

#[tokio::test]
async fn a_map_of_roles_is_messages_in_their_order() {
    let mut prompts = prompts![pairs, many_pairs];
    prompts.push(dynamic("json", json!({"user": "Hello.", "assistant": "How are you?"})));
    // A JSON object has no order: the user begins.
    prompts.push(dynamic("json-swapped", json!({"assistant": "How are you?", "user": "Hello."})));
    prompts.push(dynamic("json-one", json!({"assistant": "How are you?"})));
    prompts.push(dynamic("json-list", json!([{"assistant": "First."}, {"user": "Second."}])));
    each_wire(&serving(prompts), async |client| {
        for (prompt, messages) in [
            ("pairs", vec![("user", "Hello."), ("assistant", "How are you?"), ("user", "Fine.")]),
            ("many_pairs", vec![("assistant", "First."), ("user", "Second.")]),
            ("json", vec![("user", "Hello."), ("assistant", "How are you?")]),
            ("json-swapped", vec![("user", "Hello."), ("assistant", "How are you?")]),
            ("json-one", vec![("assistant", "How are you?")]),
            ("json-list", vec![("assistant", "First."), ("user", "Second.")]),
        ] {
            assert_eq!(said(&get(&client, prompt).await), messages, "{prompt}");
        }
    })
    .await;
}

#[prompt]
fn mixed() -> Vec<Message> {
    vec![
        user(("Describe the picture.", Image::png(b"\x89PNG"), Embedded::text("notes://7", "A note."))),
        assistant(vec![Content::text("It is"), Content::text("a dot.")]),
        user(["Are", "you sure?"]),
    ]
}

#[prompt]
fn heard() -> Message {
    let link = Resource::new("notes://7", "note").into_content();
    user((Audio::wav(b"RIFF"), link))
}

#[tokio::test]
async fn several_blocks_become_one_message_each() {
    let mut prompts = prompts![mixed, heard];
    prompts.push(dynamic(
        "json",
        json!([
            {"role": "user", "content": [
                "Describe the picture.",
                {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "notes://7", "text": "A note."}},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is"}, "a dot."]},
            {"user": ["Are", "you sure?"]},
        ]),
    ));
    prompts.push(dynamic("json-wrong", json!({"role": "user", "content": [{"data": "iVBORw=="}]})));
    each_wire(&serving(prompts), async |client| {
        let note = ResourceContents::new("notes://7").with_text("A note.");
        let expected = [
            (Role::User, Content::text("Describe the picture.")),
            (Role::User, Content::Image(ImageContent::new("iVBORw==", "image/png"))),
            (Role::User, Content::Resource(Box::new(EmbeddedResource::new(note)))),
            (Role::Assistant, Content::text("It is")),
            (Role::Assistant, Content::text("a dot.")),
            (Role::User, Content::text("Are")),
            (Role::User, Content::text("you sure?")),
        ];
        let expected = expected.map(|(role, content)| PromptMessage::new(role, content));
        assert_eq!(get(&client, "mixed").await.messages, expected);
        assert_eq!(get(&client, "json").await.messages, expected);
        assert_eq!(refused(&client, "json-wrong", &[]).await.code.0, -32603);

        // A block that a revision does not know becomes text.
        let heard = get(&client, "heard").await.messages;
        let [sound, link] = heard.as_slice() else { panic!("{heard:?}") };
        let version = client.protocol_version();
        if version >= ProtocolVersion::V2025_03_26 {
            let Content::Audio(sound) = &sound.content else { panic!("{sound:?}") };
            assert_eq!((sound.data.as_str(), sound.mime_type.as_str()), ("UklGRg==", "audio/wav"));
        } else {
            assert_eq!(sound.content.as_text(), Some("[audio, audio/wav]"));
        }
        if version >= ProtocolVersion::V2025_06_18 {
            assert_eq!(link.content, Content::Link(Box::new(Resource::new("notes://7", "note"))));
        } else {
            assert_eq!(link.content.as_text(), Some("[note](notes://7)"));
        }
    })
    .await;
}

#[prompt]
fn with_role() -> Vec<Message> {
    vec![Message::new(Role::Assistant, Content::text("I am one.")), Message::new(Role::User, "So am I.")]
}

#[prompt]
fn explicit() -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(Role::Assistant, Content::text("I am one.")),
        PromptMessage::new(Role::User, Content::text("So am I.")),
    ]
}

#[prompt]
fn explicit_one() -> PromptMessage {
    PromptMessage::new(Role::User, Image::gif(b"GIF").into_content())
}

#[prompt]
async fn whole() -> Result<GetPromptResult, PromptError> {
    let meta = json!({"app.example/version": 2}).as_object().cloned();
    let meta = meta.ok_or_else(|| PromptError::new("no object"))?;
    let messages = vec![PromptMessage::new(Role::Assistant, Content::text("I am one."))];
    Ok(GetPromptResult::new(messages).with_description("All of it").with_meta(meta))
}

#[tokio::test]
async fn explicit_messages_pass_as_they_are() {
    each_wire(&serving(prompts![with_role, explicit, explicit_one, whole]), async |client| {
        for prompt in ["with_role", "explicit"] {
            let messages = [("assistant", "I am one."), ("user", "So am I.")];
            assert_eq!(said(&get(&client, prompt).await), messages, "{prompt}");
        }
        let picture = Content::Image(ImageContent::new("R0lG", "image/gif"));
        let one = get(&client, "explicit_one").await;
        assert_eq!(one.messages, [PromptMessage::new(Role::User, picture)]);
        let whole = get(&client, "whole").await;
        assert_eq!(said(&whole), [("assistant", "I am one.")]);
        assert_eq!(whole.description.as_deref(), Some("All of it"));
        assert_eq!(whole.meta.unwrap()["app.example/version"], 2);
    })
    .await;
}

#[prompt]
pub(super) fn system_pair() -> Vec<(&'static str, &'static str)> {
    vec![("user", "Hello."), ("system", "You are an editor.")]
}

/// A role can be made from any text; that does not make it one.
#[prompt]
fn system_role() -> Message {
    Message::new(Role::from("system"), "You are an editor.")
}

#[prompt]
fn system_result() -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new(Role::from("system"), Content::text("You are an editor."))])
}

#[tokio::test]
async fn only_the_user_and_the_assistant_speak() {
    let mut prompts = prompts![system_pair, system_role, system_result];
    for (name, value) in [
        ("json-role", json!([{"role": "user", "content": "Hi."}, {"role": "system", "content": "Hi."}])),
        ("json-key", json!({"user": "Hi.", "system": "Hi."})),
        ("json-nested", json!({"messages": [{"system": "Hi."}]})),
    ] {
        prompts.push(dynamic(name, value));
    }
    prompts.push(dynamic("json-case", json!({"role": "User", "content": "Hi."})));
    prompts.push(dynamic("json-none", json!({"role": null, "content": "Hi."})));
    let names: Vec<String> = prompts.iter().map(|prompt| prompt.definition().name.clone()).collect();
    prompts.extend(prompts![pairs]);
    each_wire(&serving(prompts), async |client| {
        for name in &names {
            let role = match name.as_str() {
                "json-case" => "User",
                "json-none" => "",
                _ => "system",
            };
            let text = format!("the role of a message is `user` or `assistant`, not `{role}`");
            assert_eq!(refused(&client, name, &[]).await, RpcError::internal(text), "{name}");
        }
        let roles: Vec<Role> =
            get(&client, "pairs").await.messages.into_iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    })
    .await;
}

const PNG: &[u8] = b"\x89PNG not really";

/// Everything in order.
#[prompt]
fn gallery() -> PromptMessages {
    PromptMessages::new()
        .with_description("A gallery")
        .assistant("You look at pictures.")
        .user((
            "What is this?",
            Image::png(PNG),
            Embedded::text("docs://a", "# A").with_mime_type("text/markdown"),
        ))
        .assistant(Embedded::blob("docs://b", [0, 1, 2]).with_mime_type("application/zip"))
        .user("Thanks.")
}

#[tokio::test]
async fn a_prompt_is_pairs_of_role_and_content_in_order() {
    // The same as pairs, for prompts that only have text.
    #[prompt]
    fn texts() -> [(&'static str, &'static str); 3] {
        [("assistant", "one"), ("user", "two"), ("assistant", "three")]
    }
    let server = Server::new("gallery", "1.0.0").prompts(prompts![gallery, texts]).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.get_prompt("gallery", NOTHING).await.unwrap();
        assert_eq!(result.description.as_deref(), Some("A gallery"));
        let roles: Vec<_> = result.messages.iter().map(|message| message.role.clone()).collect();
        let (user, assistant) = (Role::User, Role::Assistant);
        assert_eq!(
            roles,
            [assistant.clone(), user.clone(), user.clone(), user.clone(), assistant.clone(), user.clone()]
        );
        assert_eq!(result.messages[0].content, Content::text("You look at pictures."));
        assert_eq!(result.messages[1].content, Content::text("What is this?"));
        let Content::Image(image) = &result.messages[2].content else { panic!("{result:?}") };
        assert_eq!((image.data.as_str(), image.mime_type.as_str()), ("iVBORyBub3QgcmVhbGx5", "image/png"));
        let Content::Resource(text) = &result.messages[3].content else { panic!("{result:?}") };
        assert_eq!((text.resource.uri.as_str(), text.resource.text.as_deref()), ("docs://a", Some("# A")));
        assert_eq!(text.resource.mime_type.as_deref(), Some("text/markdown"));
        let Content::Resource(blob) = &result.messages[4].content else { panic!("{result:?}") };
        assert_eq!((blob.resource.uri.as_str(), blob.resource.blob.as_deref()), ("docs://b", Some("AAEC")));
        assert_eq!(
            (&blob.resource.text, blob.resource.mime_type.as_deref()),
            (&None, Some("application/zip"))
        );
        assert_eq!(result.messages[5].content, Content::text("Thanks."));

        let result = client.get_prompt("texts", NOTHING).await.unwrap();
        let said: Vec<_> =
            result.messages.iter().map(|one| (one.role.clone(), one.content.as_text())).collect();
        assert_eq!(said, [(assistant.clone(), Some("one")), (user, Some("two")), (assistant, Some("three"))]);
    })
    .await;
}
