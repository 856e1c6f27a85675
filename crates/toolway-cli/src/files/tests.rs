//! Is everything below the directory visible, and nothing else, whatever path a client uses?

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolway::prelude::*;

use super::{Access, server};

/// A directory with a secret file beside it.
struct Ground(PathBuf);

impl Ground {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("toolway-files-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(root.join("shown/deep/er")).unwrap();
        let ground = Self(root);
        ground.write("secret.txt", "SECRET");
        ground.write("shown/a.txt", "text of a");
        ground.write("shown/100%.md", "# percent");
        ground.write("shown/deep/b.png", "\u{89}PNG");
        ground.write("shown/deep/er/c.rs", "fn main() {}");
        ground.write("shown/.hidden/d.txt", "HIDDEN");
        ground.write("shown/.env", "HIDDEN");
        fs::write(ground.0.join("shown/deep/raw"), [0xff, 0xfe]).unwrap();
        ground
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn shown(&self) -> PathBuf {
        self.0.join("shown")
    }

    async fn client(&self, access: Access) -> Client {
        Client::connect(server(&self.shown(), false, access).unwrap().build().unwrap()).await.unwrap()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<String, String> {
    let result = client.call(tool, arguments).await.unwrap();
    result.text().map_err(|error| error.to_string())
}

#[tokio::test]
async fn files_are_listed_and_read() {
    let ground = Ground::new();
    let client = ground.client(Access::Read).await;
    let listed: Vec<_> = client.resources().await.unwrap();
    let shown: Vec<_> =
        listed.iter().map(|resource| (&*resource.uri, &*resource.name, resource.size)).collect();
    assert_eq!(
        shown,
        [
            ("files:///100%25.md", "100%.md", Some(9)),
            ("files:///a.txt", "a.txt", Some(9)),
            ("files:///deep/b.png", "deep/b.png", Some(5)),
            ("files:///deep/er/c.rs", "deep/er/c.rs", Some(12)),
            ("files:///deep/raw", "deep/raw", Some(2)),
        ]
    );
    for resource in &listed {
        client.read_resource(&resource.uri).await.unwrap();
    }
    let text = client.read_resource("files:///100%25.md").await.unwrap();
    assert_eq!(text.text(), Some("# percent"));
    assert_eq!(text.contents[0].mime_type.as_deref(), Some("text/markdown"));
    let picture = client.read_resource("files:///deep/b.png").await.unwrap();
    assert_eq!(picture.contents[0].mime_type.as_deref(), Some("image/png"));
    assert!(picture.contents[0].blob.is_some());
    assert_eq!(
        client.complete_resource("files:///{+path}", "path", "deep/", ()).await.unwrap().values.len(),
        3
    );

    assert_eq!(call(&client, "read_file", json!({"path": "./deep/er/c.rs"})).await.unwrap(), "fn main() {}");
    assert_eq!(
        call(&client, "read_file", json!({"path": "deep/raw"})).await.unwrap_err(),
        "the tool failed: `deep/raw`: it is not text; read the resource files:///deep/raw to get its bytes"
    );
    let found: Value =
        client.call("search_files", json!({"pattern": "**/*.rs"})).await.unwrap().decode().unwrap();
    assert_eq!(found, json!({"paths": ["deep/er/c.rs"], "more": false}));
    let listing: Value = client.call("list_directory", json!({})).await.unwrap().decode().unwrap();
    assert_eq!(
        listing,
        json!({"entries": [
            {"name": "100%.md", "kind": "file", "size": 9},
            {"name": "a.txt", "kind": "file", "size": 9},
            {"name": "deep", "kind": "directory"},
        ]})
    );
    let names: Vec<_> = client.tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["list_directory", "read_file", "search_files"], "nothing writes");
}

/// Returns paths with which a client might try to leave the directory.
fn attacks(root: &Path) -> Vec<String> {
    let mut paths: Vec<String> = [
        "../secret.txt",
        "deep/../../secret.txt",
        "./../secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "...",
        "../shown/a.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "%252e%252e%252fsecret.txt",
        "..\\secret.txt",
        "a.txt/../../secret.txt",
        "a.txt\0",
        "\0",
        "a.txt%00.png",
        ".env",
        ".hidden/d.txt",
        "deep/../.env",
        "link-out",
        "link-up/secret.txt",
        "link-absolute",
        "link-loop",
        "link-hidden",
        "link-hidden/d.txt",
        "link-env",
        "deep/link-hidden/d.txt",
        "link-twice/d.txt",
        "link-chain/d.txt",
        "link-back/.env",
        "link-back/link-env",
        "\u{2025}/secret.txt",
        "～/secret.txt",
        "~/secret.txt",
        "C:\\secret.txt",
        "nowhere",
        "deep",
    ]
    .map(str::to_owned)
    .into();
    paths.push(root.join("secret.txt").to_str().unwrap().to_owned());
    paths.push(root.join("shown/a.txt").to_str().unwrap().to_owned());
    paths.push("a/".repeat(5000) + "x");
    paths.push("../".repeat(500) + "etc/passwd");
    paths.push("x".repeat(100_000));
    paths
}

#[cfg(unix)]
fn links(root: &Path) {
    use std::os::unix::fs::symlink;
    let shown = root.join("shown");
    symlink("../secret.txt", shown.join("link-out")).unwrap();
    symlink("..", shown.join("link-up")).unwrap();
    symlink(root.join("secret.txt"), shown.join("link-absolute")).unwrap();
    symlink("link-loop", shown.join("link-loop")).unwrap();
    symlink("a.txt", shown.join("link-inside")).unwrap();
    symlink("deep/er", shown.join("link-deeper")).unwrap();
    symlink("../link-inside", shown.join("deep/link-round")).unwrap();
    // The names of these links are not hidden, but the names that they lead to are.
    symlink(".hidden", shown.join("link-hidden")).unwrap();
    symlink(".env", shown.join("link-env")).unwrap();
    symlink("../.hidden", shown.join("deep/link-hidden")).unwrap();
    symlink("link-hidden", shown.join("link-twice")).unwrap();
    symlink("deep/../link-hidden/.", shown.join("link-chain")).unwrap();
    symlink("deep/..", shown.join("link-back")).unwrap();
}

#[cfg(not(unix))]
fn links(_root: &Path) {}

#[tokio::test]
async fn a_directory_is_served_and_nothing_outside_of_it() {
    let ground = Ground::new();
    links(&ground.0);
    let client = ground.client(Access::Write).await;
    for path in attacks(&ground.0) {
        let shown = &path[..path.len().min(60)];
        // The reply is the same whether the file exists or not.
        let read = call(&client, "read_file", json!({"path": path})).await.unwrap_err();
        assert_eq!(read, format!("the tool failed: `{path}`: there is no such file"), "{shown}");
        if path != "deep" {
            let listed = call(&client, "list_directory", json!({"path": path})).await.unwrap_err();
            assert_eq!(listed, format!("the tool failed: `{path}`: there is no such directory"), "{shown}");
        }
        for uri in [format!("files:///{path}"), format!("files://{path}"), format!("file:///{path}")] {
            let error = client.read_resource(&uri).await.expect_err(shown);
            let words = format!("{error:?}");
            assert!(!words.contains("SECRET") && !words.contains("HIDDEN"), "{shown}: {words}");
        }
    }
    let listed: Vec<_> =
        client.resources().await.unwrap().into_iter().map(|resource| resource.name).collect();
    assert_eq!(
        listed,
        ["100%.md", "a.txt", "deep/b.png", "deep/er/c.rs", "deep/raw"],
        "no links, nothing hidden"
    );
    let found = call(&client, "search_files", json!({"pattern": "**"})).await.unwrap();
    assert!(!found.contains("secret") && !found.contains("env") && !found.contains("link"), "{found}");
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_outside_and_nothing_by_accident() {
    let ground = Ground::new();
    links(&ground.0);
    let before = fs::read_dir(&ground.0).unwrap().count();
    let client = ground.client(Access::Write).await;
    for path in attacks(&ground.0) {
        let shown = &path[..path.len().min(60)];
        // These paths are valid file names inside the directory, so they may be written.
        if ["...", "nowhere", "\u{2025}/secret.txt", "～/secret.txt", "~/secret.txt"].contains(&&*path)
            || path.contains(['%', '\\'])
        {
            continue;
        }
        for overwrite in [false, true] {
            let arguments = json!({"path": path, "content": "OWNED", "overwrite": overwrite});
            let written = call(&client, "write_file", arguments).await;
            assert!(written.is_err(), "{shown}: {written:?}");
        }
    }
    assert_eq!(fs::read_to_string(ground.0.join("secret.txt")).unwrap(), "SECRET");
    assert_eq!(fs::read_dir(&ground.0).unwrap().count(), before);
    assert_eq!(fs::read_to_string(ground.shown().join(".env")).unwrap(), "HIDDEN");
    assert_eq!(fs::read_dir(ground.shown().join(".hidden")).unwrap().count(), 1);

    let write = async |path: &str, content: &str, overwrite: bool| {
        call(&client, "write_file", json!({"path": path, "content": content, "overwrite": overwrite})).await
    };
    assert_eq!(write("new/dir/x.txt", "one", false).await.unwrap(), "wrote 3 bytes to `new/dir/x.txt`");
    assert_eq!(
        write("new/dir/x.txt", "two", false).await.unwrap_err(),
        "the tool failed: `new/dir/x.txt`: it exists already; set `overwrite` to replace it"
    );
    assert_eq!(fs::read_to_string(ground.shown().join("new/dir/x.txt")).unwrap(), "one");
    write("new/dir/x.txt", "two", true).await.unwrap();
    assert_eq!(fs::read_to_string(ground.shown().join("new/dir/x.txt")).unwrap(), "two");
    assert_eq!(fs::read_dir(ground.shown().join("new/dir")).unwrap().count(), 1, "nothing is left over");
    assert_eq!(
        write("big", &"x".repeat(3 << 20), false).await.unwrap_err(),
        "the tool failed: `big`: it is longer than 2 MiB"
    );
    assert_eq!(
        write("a.txt/x", "", false).await.unwrap_err(),
        "the tool failed: `a.txt/x`: there is no such directory"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_inside_is_followed_and_a_pipe_is_not_waited_for() {
    let ground = Ground::new();
    links(&ground.0);
    let status = std::process::Command::new("mkfifo").arg(ground.shown().join("pipe")).status().unwrap();
    assert!(status.success());
    let client = ground.client(Access::Read).await;
    for (path, text) in [
        ("link-inside", "text of a"),
        ("link-back/a.txt", "text of a"),
        ("deep/link-round", "text of a"),
        ("link-deeper/c.rs", "fn main() {}"),
    ] {
        assert_eq!(call(&client, "read_file", json!({"path": path})).await.unwrap(), text, "{path}");
    }
    let listed = call(&client, "list_directory", json!({"path": "link-deeper"})).await.unwrap();
    assert!(listed.contains("c.rs"), "{listed}");
    let pipe = call(&client, "read_file", json!({"path": "pipe"})).await.unwrap_err();
    assert_eq!(pipe, "the tool failed: `pipe`: there is no such file");
}

#[tokio::test]
async fn long_files_are_refused_and_hidden_ones_shown_when_asked_for() {
    let ground = Ground::new();
    ground.write("shown/long.txt", &"x".repeat((2 << 20) + 1));
    let client = ground.client(Access::Read).await;
    let long = call(&client, "read_file", json!({"path": "long.txt"})).await.unwrap_err();
    assert_eq!(long, "the tool failed: `long.txt`: it is longer than 2 MiB");
    let error = client.read_resource("files:///long.txt").await.unwrap_err().to_string();
    assert!(error.contains("it is longer than 2 MiB"), "{error}");

    #[cfg(unix)]
    links(&ground.0);
    let all =
        Client::connect(server(&ground.shown(), true, Access::Read).unwrap().build().unwrap()).await.unwrap();
    #[cfg(unix)]
    assert_eq!(call(&all, "read_file", json!({"path": "link-hidden/d.txt"})).await.unwrap(), "HIDDEN");
    assert_eq!(call(&all, "read_file", json!({"path": ".hidden/d.txt"})).await.unwrap(), "HIDDEN");
    let names: Vec<_> = all.resources().await.unwrap().into_iter().map(|resource| resource.name).collect();
    assert!(names.contains(&".env".to_owned()), "{names:?}");
}

/// A directory that is replaced by a link while clients read does not lead to where the link leads.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_judged_as_it_is_opened() {
    use std::os::unix::fs::symlink;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    let ground = Ground::new();
    ground.write("shown/swap/d.txt", "SHOWN");
    ground.write("shown/swap/.d", "");
    symlink(".hidden", ground.shown().join("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (shown, is_over) = (ground.shown(), stop.clone());
    let swapping = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            fs::rename(shown.join("swap"), shown.join(".swap")).unwrap();
            fs::rename(shown.join("link"), shown.join("swap")).unwrap();
            fs::rename(shown.join("swap"), shown.join("link")).unwrap();
            fs::rename(shown.join(".swap"), shown.join("swap")).unwrap();
        }
    });
    let client = ground.client(Access::Read).await;
    for _ in 0..300 {
        for path in ["swap/d.txt", "link/d.txt"] {
            if let Ok(text) = call(&client, "read_file", json!({"path": path})).await {
                assert_eq!(text, "SHOWN");
            }
        }
        let found = call(&client, "search_files", json!({"pattern": "**"})).await.unwrap();
        assert!(!found.contains(".d"), "{found}");
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}

#[tokio::test]
async fn many_files_come_in_pages_that_hold_while_files_come_and_go() {
    let ground = Ground::new();
    let mut expected = Vec::new();
    for number in 0..250 {
        // A directory and a file with a common prefix must not break the order.
        let path = if number % 3 == 0 { format!("many{number}/x.txt") } else { format!("many{number}.txt") };
        ground.write(&format!("shown/{path}"), "");
        expected.push(path);
    }
    let client = ground.client(Access::Read).await;
    let mut pages = client.list_resources();
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next_page().await {
        let page = page.unwrap();
        sizes.push(page.len());
        seen.extend(page.into_iter().map(|resource| resource.name));
        // Files that are added before the cursor do not move the others.
        ground.write("shown/0-new.txt", "");
    }
    assert_eq!(sizes, [100, 100, 55]);
    let mut sorted = seen.clone();
    sorted.sort_by(|a, b| Path::new(a).cmp(Path::new(b)));
    assert_eq!(seen, sorted);
    seen.retain(|path| path.starts_with("many"));
    expected.sort_by(|a, b| Path::new(a).cmp(Path::new(b)));
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn overwriting_stands_in_nobodys_way() {
    let ground = Ground::new();
    let client = ground.client(Access::Write).await;
    let write = |text: &str| {
        let arguments = json!({"path": "a.txt", "content": text, "overwrite": true});
        let client = client.clone();
        tokio::spawn(async move { call(&client, "write_file", arguments).await })
    };
    // A file that a crash left behind is not touched.
    ground.write("shown/a.txt.toolway-part", "half");
    write("after").await.unwrap().unwrap();
    assert_eq!(fs::read_to_string(ground.shown().join("a.txt")).unwrap(), "after");
    let writing: Vec<_> = (0..32).map(|number| write(&"x".repeat(number * 1000))).collect();
    for written in writing {
        written.await.unwrap().unwrap();
    }
    let names = fs::read_dir(ground.shown()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains("toolway-part")).collect();
    assert_eq!(left, ["a.txt.toolway-part"]);
}

#[cfg(unix)]
#[tokio::test]
async fn overwriting_keeps_who_may_do_what() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let client = ground.client(Access::Write).await;
    let file = ground.shown().join("a.txt");
    for mode in [0o600, 0o755, 0o640, 0o400] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let arguments = json!({"path": "a.txt", "content": "new", "overwrite": true});
        call(&client, "write_file", arguments).await.unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, mode, "{mode:o}");
    }
}
