//! With which callbacks does a login not go on?

use serde_json::json;
use toolway::ErrorKind::{PeerRefused, Timeout};

use super::pair::{Pair, Site};
use super::scenario::{Scenario, Step, check_text, check_visits};

#[tokio::test]
async fn a_callback_of_another_authorization_server_is_not_used() {
    for (name, query, promise) in [
        ("another server", "code=canary&state={state}&iss=https%3A%2F%2Fevil.example", false),
        ("another server, and a promise", "code=canary&state={state}&iss=https%3A%2F%2Fevil.example", true),
        ("a slash", "code=canary&state={state}&iss={iss}%2F", false),
        ("a scheme in capitals", "code=canary&state={state}&iss=HTTP%3A%2F%2F127.0.0.1", false),
        (
            "an encoding inside the encoding",
            "code=canary&state={state}&iss=http%253A%252F%252F127.0.0.1",
            false,
        ),
        ("a space after it", "code=canary&state={state}&iss={iss}+", true),
        ("empty", "code=canary&state={state}&iss=", false),
        (
            "an error of another server",
            "error=canary&error_description=canary&state={state}&iss=https%3A%2F%2Fevil.example",
            false,
        ),
    ] {
        let promise = json!({"authorization_response_iss_parameter_supported": promise});
        let scenario = Scenario::new(name).await.server(promise).callbacks(&[(query, 200)]);
        scenario.fails(PeerRefused, "another authorization server", Step::Browser).await;
    }
    for (name, query) in [
        ("no name", "code=canary&state={state}"),
        ("no name, and an error", "error=access_denied&error_description=canary&state={state}"),
        ("a name in another case", "code=canary&state={state}&ISS={iss}"),
    ] {
        let promise = json!({"authorization_response_iss_parameter_supported": true});
        let scenario = Scenario::new(name).await.server(promise).callbacks(&[(query, 200)]);
        scenario.fails(PeerRefused, "promises to name itself", Step::Browser).await;
    }
}

/// The honest browser comes after the hostile one, and its code is the one that is used.
#[tokio::test]
async fn a_callback_that_is_not_of_this_login_does_not_end_it() {
    let long: &'static str = format!("code=canary-evil&state={{state}}&x={}", "x".repeat(9000)).leak();
    for (name, query, status) in [
        ("an unknown state", "code=canary-evil&state=canary", 400),
        ("an empty state", "code=canary-evil&state=", 400),
        ("no state", "code=canary-evil", 404),
        ("the state twice", "code=canary-evil&state={state}&state={state}", 404),
        ("the state after another one", "code=canary-evil&state=canary&state={state}", 404),
        ("more after the state", "code=canary-evil&state={state}x", 400),
        ("the state in another case", "code=canary-evil&STATE={state}", 404),
        ("two codes", "code=canary-evil&code={code}&state={state}", 404),
        ("a code and an error", "code=canary-evil&error=access_denied&state={state}", 404),
        ("an error twice", "error=access_denied&error=canary&state={state}", 404),
        ("two issuers", "code=canary-evil&state={state}&iss={iss}&iss=https%3A%2F%2Fevil.example", 404),
        ("no code", "state={state}", 404),
        ("an empty code", "code=&state={state}", 404),
        ("a code that is not a text", "code=%ff%00&state={state}", 404),
        ("half of an encoding", "code=canary-evil%2&state={state}", 404),
        ("an error for another login", "error=access_denied&state=canary", 400),
        ("a query that is too long", long, 0),
    ] {
        let scenario = Scenario::new(name).await;
        let pair =
            scenario.callbacks(&[(query, status), ("code={code}&state={state}", 200)]).signs_in().await;
        let tokens = pair.visits_to(Site::Id, "/token");
        assert_eq!(tokens.len(), 1, "{name}");
        assert_eq!(tokens[0].field("code").as_deref(), Some("canary-code-1"), "{name}");
    }
}

#[tokio::test]
async fn the_words_of_an_error_are_not_shown() {
    for (name, query, says) in [
        (
            "the user says no",
            "error=access_denied&error_description=canary&state={state}",
            "the login was declined",
        ),
        (
            "escapes of a terminal",
            "error=%1b%5B31mcanary%07&error_description=%1b%5D0%3Bcanary&state={state}",
            "ended the login",
        ),
        (
            "a page",
            "error=%3Cscript%3Ecanary()%3C%2Fscript%3E&error_uri=javascript%3Acanary()&state={state}",
            "ended the login",
        ),
        ("a line end", "error=canary%0d%0aSet-Cookie%3A+canary&state={state}", "ended the login"),
        ("almost the code of a refusal", "error=access_denied+canary&state={state}", "ended the login"),
        (
            "no error at all",
            "error=server_error&error_description=canary&state={state}&iss={iss}",
            "ended the login",
        ),
    ] {
        let scenario = Scenario::new(name).await.callbacks(&[(query, 200)]);
        scenario.fails(PeerRefused, says, Step::Browser).await;
    }
}

/// Neither a code nor a state can be put into a header or into a second field of the form.
#[tokio::test]
async fn a_strange_code_stays_in_its_field() {
    for (name, query, code) in [
        ("a line end", "code=canary%0d%0ax-canary%3A1&state={state}", "canary\r\nx-canary:1"),
        (
            "a second field",
            "code=canary%26client_id%3Devil%26resource%3Devil&state={state}",
            "canary&client_id=evil&resource=evil",
        ),
        ("a zero", "code=canary%00&state={state}", "canary\0"),
        ("a plus", "code=canary%2B+%25&state={state}", "canary+ %"),
    ] {
        let pair = Scenario::new(name).await.callbacks(&[(query, 200)]).signs_in().await;
        let token = &pair.visits_to(Site::Id, "/token")[0];
        assert_eq!(token.field("code").as_deref(), Some(code), "{name}");
        assert_eq!(token.field("client_id").as_deref(), Some("registered"), "{name}");
        assert_eq!(token.field("resource"), Some(pair.fill("{mcp}/mcp")), "{name}");
    }
}

#[tokio::test]
async fn a_browser_that_does_not_come_back_ends_the_login() {
    let pair = Pair::on_loopback().await;
    pair.state().callbacks.clear();
    let oauth = pair.user().login_timeout(std::time::Duration::ZERO);
    let error = pair.connect(oauth).await.unwrap_err();
    assert_eq!(error.kind(), Timeout, "{error:?}");
    check_text("no callback", &error);
    check_visits("no callback", &pair);
    assert_eq!(pair.visits_to(Site::Id, "/token").len(), 0);
}
