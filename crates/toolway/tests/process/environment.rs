//! What does a server get? Arguments, a folder, and a part of the environment.

use std::collections::BTreeMap;

use serde_json::json;
use toolway::client::Command;

use super::*;

async fn told<T: serde::de::DeserializeOwned>(fixture: &Fixture, tool: &str) -> T {
    let client = fixture.connect().await;
    let result = soon(client.call(tool, json!({}))).await.unwrap();
    soon(client.close()).await.unwrap();
    serde_json::from_str(result.first_text().unwrap()).unwrap()
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let strange = ["", " a  b ", "'", "\"", "\\", "$HOME", "*", "~", "a\nb", "; exit 1", "%PATH%", "ö"];
    let fixture = Fixture::new("serve").with(|command| command.args(strange));
    let [mode, rest @ ..] = &told::<Vec<String>>(&fixture, "args").await[..] else { panic!() };
    assert_eq!(mode, "serve");
    assert_eq!(rest, strange);
}

#[tokio::test]
async fn a_command_line_means_its_words() {
    let line = format!("'{}' serve 'a b' $HOME --x=\"y z\"", path().display());
    let fixture = Fixture::marked(Command::parse(&line).unwrap());
    assert_eq!(told::<Vec<String>>(&fixture, "args").await, ["serve", "a b", "$HOME", "--x=y z"]);
}

#[tokio::test]
async fn what_this_program_has_in_its_environment_is_not_given_away() {
    let ours = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(ours).is_some() && std::env::var_os("PATH").is_some(), "cargo sets it");
    let fixture = Fixture::new("serve").with(|command| command.env("TOKEN", "x"));
    let basics: BTreeMap<String, String> = told(&fixture, "env").await;
    assert!(!basics.contains_key(ours));
    assert_eq!(basics["TOKEN"], "x");
    assert_eq!(basics["PATH"], std::env::var("PATH").unwrap());

    let fixture = Fixture::new("serve").with(Command::inherit_env).with(|command| command.env_remove("PATH"));
    let all: BTreeMap<String, String> = told(&fixture, "env").await;
    assert!(all.contains_key(ours) && !all.contains_key("PATH"));

    let bare = Command::new(path()).arg("serve").env("GONE", "x").env_clear().envs([("A", "1"), ("B", "2")]);
    let client = soon(async { Client::builder().connect(bare.connect().await?).await }).await.unwrap();
    let result = soon(client.call("env", json!({}))).await.unwrap();
    let nothing: BTreeMap<String, String> = serde_json::from_str(result.first_text().unwrap()).unwrap();
    assert_eq!(
        nothing,
        BTreeMap::from([("A", "1"), ("B", "2")].map(|(name, value)| (name.into(), value.into())))
    );
    soon(client.close()).await.unwrap();
}

#[tokio::test]
async fn a_relative_program_is_taken_from_the_folder_of_the_server() {
    let folder = path().parent().unwrap().to_owned();
    let fixture = Fixture::marked(Command::new("./process-fixture").arg("serve").cwd(&folder));
    let client = fixture.connect().await;
    let result = soon(client.call("cwd", json!({}))).await.unwrap();
    assert_eq!(result.first_text(), folder.canonicalize().unwrap().to_str());
    soon(client.close()).await.unwrap();
    let fixture = Fixture::marked(Command::new("process-fixture").arg("serve").env("PATH", &folder));
    soon(fixture.connect().await.close()).await.unwrap();
}
