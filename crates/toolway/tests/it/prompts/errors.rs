//! What does the caller learn if a prompt fails?

use serde_json::json;
use toolway::RpcError;
use toolway::prelude::*;
use toolway::server::{BoxError, ErrorPolicy, Message, PromptEntry, PromptError, user};
use toolway::testing::each_wire;

use super::description::{WarmGreeting, review, write};
use super::messages::system_pair;
use super::{NOTHING, get, refused, said, serving};

#[prompt]
async fn fails_visibly() -> Result<String, PromptError> {
    Err(PromptError::new("nobody reviews that: choose another language"))
}

fn helper() -> Result<String, PromptError> {
    Err(PromptError::new("the helper says no"))
}

#[prompt]
fn fails_deeply() -> Result<Vec<Message>, BoxError> {
    Ok(vec![user(helper()?)])
}

#[prompt]
fn fails_with_own_code() -> Result<String, RpcError> {
    Err(RpcError::invalid_params("which one?").with_data(json!({"choices": 2})))
}

/// Reads a resource that there is not.
#[prompt]
async fn fails_to_read(ctx: Ctx) -> Result<String, PromptError> {
    let note = ctx.read_resource("notes://missing").await?;
    Ok(note.text().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_prompt_error_is_read_by_the_client() {
    let prompts = prompts![fails_visibly, fails_deeply, fails_with_own_code, fails_to_read];
    each_wire(&serving(prompts), async |client| {
        for (prompt, error) in [
            ("fails_visibly", RpcError::internal("nobody reviews that: choose another language")),
            ("fails_deeply", RpcError::internal("the helper says no")),
            ("fails_with_own_code", RpcError::invalid_params("which one?").with_data(json!({"choices": 2}))),
            ("fails_to_read", RpcError::internal("no such resource")),
        ] {
            assert_eq!(refused(&client, prompt, &[]).await, error, "{prompt}");
        }
    })
    .await;
}

#[prompt]
async fn fails_with_io() -> Result<String, PromptError> {
    Ok(std::fs::read_to_string("/no/such/secret-file")?)
}

#[prompt]
fn fails_hidden() -> Result<String, PromptError> {
    Err(PromptError::hidden("the secret is 42"))
}

#[prompt]
fn fails_with_other_type() -> Result<Message, std::num::ParseIntError> {
    "secret".parse::<u8>().map(|number| user(number.to_string()))
}

#[prompt]
async fn fails_with_panic() -> String {
    tokio::task::yield_now().await;
    panic!("the secret is 42")
}

#[prompt(blocking)]
fn fails_with_blocking_panic() -> String {
    panic!("the secret is 42")
}

const HIDDEN: [&str; 5] = [
    "fails_with_io",
    "fails_hidden",
    "fails_with_other_type",
    "fails_with_panic",
    "fails_with_blocking_panic",
];

fn failing() -> Vec<PromptEntry> {
    prompts![fails_with_io, fails_hidden, fails_with_other_type, fails_with_panic, fails_with_blocking_panic]
}

#[tokio::test]
async fn any_other_error_is_hidden() {
    let mut prompts = failing();
    prompts.extend(prompts![review]);
    each_wire(&serving(prompts), async |client| {
        for prompt in HIDDEN {
            let error = refused(&client, prompt, &[]).await;
            assert_eq!((error.code.0, &error.data), (-32603, &None));
            let start = format!(
                "the prompt `{prompt}` failed; the server's operator can find the cause under reference "
            );
            let reference = error.message.strip_prefix(&start).unwrap();
            assert!(
                reference.len() == 16 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{error}"
            );
        }
        assert_eq!(said(&get(&client, "review").await), [("user", "Review it.")]);
    })
    .await;
    let verbose = Server::new("prompts", "1.0.0").errors(ErrorPolicy::Verbose).prompts(failing());
    each_wire(&verbose.build().unwrap(), async |client| {
        let error = refused(&client, "fails_hidden", &[]).await;
        assert_eq!(error, RpcError::internal("the prompt `fails_hidden` failed: the secret is 42"));
    })
    .await;
}

#[derive(Debug)]
struct OutOfRange;

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("secret limits")
    }
}

impl std::error::Error for OutOfRange {}

#[prompt]
fn essay(words: u16) -> Result<String, OutOfRange> {
    if words > 1000 { Err(OutOfRange) } else { Ok(format!("Write {words} words.")) }
}

/// The original page knew one kind of error; its guarantees hold for every kind.
#[tokio::test]
async fn what_is_not_valid_is_an_error() {
    let mut prompts = failing();
    prompts.extend(prompts![essay, write, WarmGreeting, fails_visibly, system_pair]);
    let server = Server::new("prompts", "1.0.0").state("Ada".to_owned()).prompts(prompts).build().unwrap();
    each_wire(&server, async |client| {
        for (prompt, arguments, code, complaint) in [
            ("essay", vec![], -32602, "argument `words` is missing"),
            (
                "essay",
                vec![("words", "many")],
                -32602,
                "argument `words`: expected an integer from 0 to 65535, got \"many\"",
            ),
            (
                "essay",
                vec![("words", "70000")],
                -32602,
                "argument `words`: expected an integer from 0 to 65535, got \"70000\"",
            ),
            ("essay", vec![("words", "2000")], -32603, "the prompt `essay` failed; "),
            ("essay", vec![("word", "1")], -32602, "unknown argument `word`, did you mean `words`?"),
            (
                "write",
                vec![("topic", "tea"), ("tone", "rude")],
                -32602,
                "argument `tone`: expected one of \"formal\", \"casual\", got \"rude\"",
            ),
            (
                "warm_greeting",
                vec![("name", "Bob"), ("times", "-1")],
                -32602,
                "argument `times`: expected an integer from 0 to 255, got \"-1\"",
            ),
            ("fails_visibly", vec![], -32603, "nobody reviews that"),
            ("system_pair", vec![], -32603, "the role of a message is "),
            ("esay", vec![], -32602, "no such prompt: `esay`, did you mean `essay`?"),
        ] {
            let error = refused(&client, prompt, &arguments).await;
            assert_eq!(error.code.0, code, "{prompt}: {error}");
            assert!(error.message.contains(complaint), "{complaint:?} in {error}");
            assert!(!error.message.contains("secret"), "{error}");
        }
        for prompt in HIDDEN {
            assert_eq!(refused(&client, prompt, &[]).await.code.0, -32603);
        }
        let result = client.get_prompt("essay", [("words", "1000")]).await.unwrap();
        assert_eq!(said(&result), [("user", "Write 1000 words.")]);
    })
    .await;
}

#[tokio::test]
async fn a_prompt_may_answer_with_an_error_of_the_protocol() {
    /// Fails in whichever way it is asked to.
    #[prompt]
    fn fail(how: &str) -> Result<String, PromptError> {
        Err(match how {
            "internal" => RpcError::internal("no studies today").into(),
            "params" => RpcError::invalid_params("not that one").with_data(json!({"try": "another"})).into(),
            "visible" => PromptError::new("the study is locked"),
            _ => std::io::Error::other("a secret").into(),
        })
    }
    let server = Server::new("failing", "1.0.0").prompts(prompts![fail]).build().unwrap();
    each_wire(&server, async |client| {
        let fails = async |how: &str| {
            let error = client.get_prompt("fail", [("how", how)]).await.unwrap_err();
            error.rpc().unwrap().clone()
        };
        assert_eq!(fails("internal").await, RpcError::internal("no studies today"));
        let expected = RpcError::invalid_params("not that one").with_data(json!({"try": "another"}));
        assert_eq!(fails("params").await, expected);
        assert_eq!(fails("visible").await, RpcError::internal("the study is locked"));
        let hidden = fails("hidden").await;
        assert_eq!(hidden.code.0, -32603);
        assert!(
            hidden.message.starts_with("the prompt `fail` failed; the server's operator can find the cause"),
            "{hidden:?}"
        );
        assert!(!hidden.message.contains("secret"));
        let error = client.get_prompt("nowhere", NOTHING).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32602);
    })
    .await;
}
