//! Do many processes share one login, and does a login survive the death of a process?

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::issuer::{Fault, Issuer};

/// A folder that is deleted when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-sign-in-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fixture() -> Command {
    // Examples are built beside the tests: target/PROFILE/deps/it-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    Command::new(tests.ancestors().nth(2).unwrap().join("examples/sign-in-fixture"))
}

fn start(issuer: &Issuer, folder: &Folder, keys: usize, tasks: usize) -> Child {
    let mut command = fixture();
    command.arg(issuer.url()).arg(&folder.0).args([keys.to_string(), tasks.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}

/// Waits until the first call is done.
async fn until_ready(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
}

/// Ends a process. Returns what it says about its calls.
async fn end(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert!(child.wait().await.unwrap().success());
    said
}

async fn until(issuer: &Issuer, is_so: impl Fn(&super::issuer::Known) -> bool) {
    while !issuer.look(|known| is_so(known)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_full() -> bool {
    std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full")
}

#[tokio::test]
async fn many_processes_renew_each_token_once() {
    const KEYS: usize = 50;
    let (processes, tasks, refreshes) = if is_full() { (8, 64, 1000) } else { (3, 64, KEYS) };
    let (issuer, folder) = (Issuer::start(Duration::from_secs(4)).await, Folder::new("many"));
    // One process signs in for each key. The others use its tokens.
    let mut first = start(&issuer, &folder, KEYS, KEYS);
    until_ready(&mut first).await;
    until(&issuer, |known| known.logins == KEYS).await;
    assert!(end(first).await.starts_with("0 of "));
    let mut children: Vec<_> = (0..processes).map(|_| start(&issuer, &folder, KEYS, tasks)).collect();
    for child in &mut children {
        until_ready(child).await;
    }
    let before = issuer.look(|known| known.refreshes);
    until(&issuer, |known| known.refreshes >= before + refreshes).await;
    for child in children {
        let said = end(child).await;
        assert!(said.starts_with("0 of "), "{said}");
    }
    issuer.look(|known| {
        assert_eq!((known.logins, known.reused, known.early), (KEYS, 0, 0), "{} renewals", known.refreshes);
    });
}

#[tokio::test]
async fn a_reply_that_is_lost_costs_one_login() {
    let (issuer, folder) = (Issuer::start(Duration::from_secs(1)).await, Folder::new("lost"));
    let mut child = start(&issuer, &folder, 1, 4);
    until_ready(&mut child).await;
    issuer.look(|known| known.fault = Some(Fault::After(Box::new(|| {}))));
    until(&issuer, |known| known.logins == 2).await;
    let refreshes = issuer.look(|known| known.refreshes);
    until(&issuer, |known| known.refreshes > refreshes).await;
    assert!(end(child).await.starts_with("0 of "));
    assert_eq!(issuer.look(|known| known.logins), 2);
    // The request did not arrive: nothing is lost.
    let mut child = start(&issuer, &folder, 1, 4);
    until_ready(&mut child).await;
    issuer.look(|known| known.fault = Some(Fault::Before(Box::new(|| {}))));
    let refreshes = issuer.look(|known| known.refreshes);
    until(&issuer, |known| known.refreshes > refreshes + 2).await;
    assert!(end(child).await.starts_with("0 of "));
    assert_eq!(issuer.look(|known| known.logins), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_killed_leaves_a_login_or_costs_one() {
    use rustix::process::{Pid, Signal, kill_process};
    let rounds = if is_full() { 20 } else { 4 };
    let (issuer, folder) = (Issuer::start(Duration::from_secs(1)).await, Folder::new("killed"));
    for round in 0..rounds {
        let before = issuer.look(|known| known.logins);
        let mut child = start(&issuer, &folder, 1, 4);
        // Waiting closes it, and the program would end by itself.
        let _stdin = child.stdin.take();
        until_ready(&mut child).await;
        let at_most = usize::from(round == 0) + 1;
        assert!(issuer.look(|known| known.logins) <= before + at_most, "round {round}");
        let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
        let kill = Box::new(move || kill_process(pid, Signal::KILL).unwrap());
        let fault = if round % 2 == 0 { Fault::Before(kill) } else { Fault::After(kill) };
        issuer.look(|known| known.fault = Some(fault));
        assert!(!child.wait().await.unwrap().success(), "it was killed");
    }
    let before = issuer.look(|known| known.logins);
    let mut child = start(&issuer, &folder, 1, 4);
    until_ready(&mut child).await;
    assert!(end(child).await.starts_with("0 of "));
    assert!(issuer.look(|known| known.logins) <= before + 1);
}

#[tokio::test]
async fn a_hub_opens_no_browser_and_names_the_command_to_type() {
    let (issuer, folder) = (Issuer::start(Duration::from_secs(60)).await, Folder::new("hub"));
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("mcp.json");
    let entry = serde_json::json!({"mcpServers": {"notes": {"url": issuer.url(), "oauth": {}}}});
    std::fs::write(&file, entry.to_string()).unwrap();
    let mut command = fixture();
    command.arg(&file).env("HOME", &folder.0).env("XDG_DATA_HOME", &folder.0).env("LOCALAPPDATA", &folder.0);
    let output = command.output().await.unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains(&format!("toolway login notes --config {}", file.display())), "{shown}");
    assert_eq!(issuer.look(|known| known.logins), 0);
}
