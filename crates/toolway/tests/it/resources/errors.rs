//! What does the caller learn if a resource cannot be read?

use serde_json::{Value, json};
use toolway::RpcError;
use toolway::prelude::*;
use toolway::server::{BoxError, ErrorPolicy, ReadRequest, ResourceEntry, ResourceError};
use toolway::testing::each_wire;
use toolway::types::Resource;

use super::{not_found, plain, read, refused, serving};

#[resource(uri = "fails://visibly")]
async fn fails_visibly() -> Result<String, ResourceError> {
    Err(ResourceError::new("note 1 is locked: try again in a minute"))
}

fn helper() -> Result<String, ResourceError> {
    Err(ResourceError::new("the helper says no"))
}

#[resource(uri = "fails://deeply")]
fn fails_deeply() -> Result<String, BoxError> {
    Ok(helper()?)
}

#[resource(uri = "fails://not-there")]
fn fails_not_there() -> Result<Vec<u8>, ResourceError> {
    Err(ResourceError::not_found())
}

#[resource(uri = "fails://none")]
fn fails_none() -> Option<String> {
    None
}

#[resource(uri = "fails://own-code")]
fn fails_with_own_code() -> Result<String, RpcError> {
    Err(RpcError::invalid_params("which one?").with_data(json!({"choices": 2})))
}

#[tokio::test]
async fn a_resource_error_is_read_by_the_client() {
    let resources = resources![fails_visibly, fails_deeply, fails_not_there, fails_none, fails_with_own_code];
    each_wire(&serving(resources), async |client| {
        let error = refused(&client, "fails://visibly").await;
        assert_eq!(error, RpcError::internal("note 1 is locked: try again in a minute"));
        assert_eq!(refused(&client, "fails://deeply").await, RpcError::internal("the helper says no"));
        let own = RpcError::invalid_params("which one?").with_data(json!({"choices": 2}));
        assert_eq!(refused(&client, "fails://own-code").await, own);
        for uri in ["fails://not-there", "fails://none", "fails://unknown"] {
            let error = refused(&client, uri).await;
            assert_eq!((error.code.0, &*error.message), (not_found(&client), "no such resource"));
            assert_eq!(error.data.unwrap().decode::<Value>().unwrap(), json!({"uri": uri}));
        }
    })
    .await;
}

#[resource(uri = "fails://io")]
async fn fails_with_io() -> Result<String, ResourceError> {
    Ok(std::fs::read_to_string("/no/such/secret-file")?)
}

#[resource(uri = "fails://hidden")]
fn fails_hidden() -> Result<String, ResourceError> {
    Err(ResourceError::hidden("the secret is 42"))
}

#[resource(uri = "fails://other-type")]
fn fails_with_other_type() -> Result<Json<u8>, std::num::ParseIntError> {
    "secret".parse().map(Json)
}

#[resource(uri = "fails://panic")]
async fn fails_with_panic() -> String {
    tokio::task::yield_now().await;
    panic!("the secret is 42")
}

#[resource(uri = "fails://blocking-panic", blocking)]
fn fails_with_blocking_panic() -> String {
    panic!("the secret is 42")
}

fn failing() -> Vec<ResourceEntry> {
    resources![
        fails_with_io,
        fails_hidden,
        fails_with_other_type,
        fails_with_panic,
        fails_with_blocking_panic
    ]
}

#[tokio::test]
async fn any_other_error_is_hidden() {
    let mut resources = failing();
    resources.push(plain("works://still"));
    each_wire(&serving(resources), async |client| {
        let mut references = Vec::new();
        for uri in
            ["fails://io", "fails://hidden", "fails://other-type", "fails://panic", "fails://blocking-panic"]
        {
            let error = refused(&client, uri).await;
            assert_eq!((error.code.0, &error.data), (-32603, &None));
            let start = format!(
                "the resource `{uri}` failed; the server's operator can find the cause under reference "
            );
            let reference = error.message.strip_prefix(&start).unwrap();
            assert!(
                reference.len() == 16 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{error}"
            );
            references.push(reference.to_owned());
        }
        references.sort();
        references.dedup();
        assert_eq!(references.len(), 5, "each failure has its own reference");
        assert_eq!(read(&client, "works://still").await.text.as_deref(), Some("works://still"));
    })
    .await;
    let verbose = Server::new("resources", "1.0.0").errors(ErrorPolicy::Verbose).resources(failing());
    each_wire(&verbose.build().unwrap(), async |client| {
        let error = refused(&client, "fails://hidden").await;
        let text = "the resource `fails://hidden` failed: the secret is 42";
        assert_eq!(error, RpcError::internal(text));
    })
    .await;
}

/// The original page knew one kind of error; its guarantees hold for every kind.
#[tokio::test]
async fn an_error_of_any_class_is_an_error() {
    let mut resources = failing();
    resources.extend(resources![
        fails_visibly,
        fails_deeply,
        fails_not_there,
        fails_none,
        fails_with_own_code
    ]);
    resources.push(ResourceEntry::define(Resource::new("fails://closure", "closure"), || async {
        Err::<&str, _>(std::fmt::Error)
    }));
    let uris: Vec<String> = resources.iter().map(|entry| entry.definition().uri().to_owned()).collect();
    assert_eq!(uris.len(), 11);
    let unread = Server::new("resources", "1.0.0")
        .resources(resources)
        .resource(ResourceEntry::without_handler(Resource::new("fails://unread", "unread")))
        .read_resource(|reading: ReadRequest| async move {
            match reading.uri.as_str() {
                "fails://reader" => Err(ResourceError::new("the reader says no")),
                _ => Ok(None::<String>),
            }
        })
        .build()
        .unwrap();
    each_wire(&unread, async |client| {
        for uri in &uris {
            let error = refused(&client, uri).await;
            let expected = match uri.as_str() {
                "fails://own-code" => -32602,
                "fails://not-there" | "fails://none" => not_found(&client),
                _ => -32603,
            };
            assert_eq!(error.code.0, expected, "{uri}");
            assert!(!error.message.is_empty());
        }
        // Errors of the common reader are handled in the same way.
        assert_eq!(refused(&client, "fails://unread").await.code.0, not_found(&client));
        assert_eq!(refused(&client, "fails://reader").await, RpcError::internal("the reader says no"));
    })
    .await;
}
