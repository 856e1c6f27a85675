//! Servers that fail to start.

use std::os::unix::fs::PermissionsExt;

use toolway::ErrorKind;
use toolway::client::{Command, Connector};

use super::*;

async fn refused(command: Command) -> Error {
    let error = command.connect().await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.is_unsent(), "it can be tried again");
    error
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be_missing() {
    let error = refused(Command::parse("no-such-program -y 'a b'").unwrap()).await;
    tells(
        &error,
        &[
            "failed to connect to `no-such-program -y 'a b'`",
            "failed to start `no-such-program`: it was not found on `PATH`; is it installed?",
            "No such file or directory",
        ],
    );
    let error = refused(Command::new("./no-such-program").cwd("/")).await;
    tells(&error, &["failed to start `./no-such-program`: there is no file `/no-such-program`"]);
    let error = refused(Command::new("/no/such/program")).await;
    tells(&error, &["there is no file `/no/such/program`"]);
    let error = refused(Command::new("no-such-program").env_clear()).await;
    tells(&error, &["`PATH` is not set, so it cannot be searched for"]);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_not_taken_for_a_missing_program() {
    let error = refused(Command::new("sh").cwd("/no/such/folder")).await;
    tells(&error, &["its working directory `/no/such/folder` does not exist"]);
}

#[tokio::test]
async fn what_is_no_program_is_said_to_be_none() {
    let folder = std::env::temp_dir().join(format!("toolway-starting-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("text"), "hello").unwrap();
    let error = refused(Command::new(folder.join("text"))).await;
    tells(&error, &["it cannot be executed", "Permission denied"]);
    std::fs::write(folder.join("script"), "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(folder.join("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(Command::new("./script").cwd(&folder)).await;
    tells(&error, &["exists, but its interpreter does not"]);
    let error = refused(Command::new("script").env("PATH", &folder)).await;
    tells(&error, &["exists, but its interpreter does not"]);
    let error = refused(Command::new("sh\0")).await;
    tells(&error, &["the system refused to start it"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn values_of_variables_are_not_shown() {
    let command = Command::new("no-such-program").env("TOKEN", "canary").cwd("/no/such/folder");
    assert!(format!("{command:?}").contains("TOKEN"));
    let error = command.connect().await.map(drop).unwrap_err();
    for text in [format!("{command:?}"), command.name(), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert_eq!(command.name(), "`no-such-program`");
}

#[tokio::test]
async fn a_server_that_dies_at_once_says_why() {
    let fixture = Fixture::new("die").with(|command| command.arg("3"));
    let transport = fixture.reach().await;
    let error = soon(Client::builder().connect(transport.clone())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    tells(
        &error,
        &[
            "process-fixture die 3` ended with exit status 3",
            "its stderr: reading the configuration | fatal: no configuration in /etc/server.json",
        ],
    );
    assert!(!transport.is_connected());
    tells(
        &Error::new(error.kind(), transport.diagnosis().unwrap()),
        &["ended with exit status 3; its stderr: "],
    );
    fixture.wait_for(0).await;
}

#[tokio::test]
async fn a_server_that_hangs_can_be_diagnosed() {
    let fixture = Fixture::new("hang");
    let transport = fixture.reach().await;
    let connecting = tokio::spawn(Client::builder().connect(transport.clone()));
    let diagnosis = transport.says("Password").await;
    assert!(
        diagnosis.ends_with(
            "process-fixture hang` is running, but has not sent a message yet; its stderr: Password:"
        ),
        "{diagnosis}"
    );
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    // Giving up leaves no process behind.
    connecting.abort();
    drop(transport);
    process.gone().await;
}

#[tokio::test]
async fn a_server_that_prints_a_page_can_be_diagnosed() {
    let fixture = Fixture::new("rubbish");
    let transport = fixture.reach().await;
    let diagnosis = transport.says("2 lines").await;
    assert!(
        diagnosis.ends_with(
            "has not sent a message yet; its output has 2 lines that are not messages, the first: \
             `<html>\\u0007Welcome!</html>`"
        ),
        "{diagnosis}"
    );
    soon(transport.close()).await.unwrap();
    fixture.wait_for(0).await;
}
