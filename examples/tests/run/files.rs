//! Does the example `files` show its directory, and nothing else?

use std::fs;
use std::path::Path;

use super::{Child, Client, spawn};

#[tokio::test]
async fn files_below_the_directory_are_listed_and_read() {
    let place = Place::new("shown");
    let (client, _child) = place.serve().await;
    let mut listed: Vec<(String, String)> = Vec::new();
    for resource in client.resources().await.unwrap() {
        let read = client.read_resource(&resource.uri).await.unwrap().contents.remove(0);
        assert_eq!(read.uri, resource.uri);
        listed.push((resource.name, read.text.unwrap_or_else(|| read.blob.unwrap())));
    }
    let expected = [
        ("100%25.txt", "percent"),
        ("a b.txt", "space"),
        ("bytes", "/wA="),
        ("page.md", "# Page"),
        ("ports?#.txt", "signs"),
        ("sub/deep.txt", "deep"),
        ("text.txt", "text"),
        ("ü.txt", "umlaut"),
    ];
    assert_eq!(listed, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));

    let page = client.read_resource("file:///page.md").await.unwrap().contents.remove(0);
    assert_eq!(page.mime_type.as_deref(), Some("text/markdown"));
    // Content that is not text is sent as a blob, with its media type.
    let bytes = client.read_resource("file:///bytes").await.unwrap().contents.remove(0);
    assert_eq!(bytes.mime_type.as_deref(), Some("application/octet-stream"));
    assert_eq!(bytes.text, None);
    // A link that stays inside the directory works.
    assert_eq!(client.read_resource("file:///inner-link").await.unwrap().text(), Some("text"));
}

#[tokio::test]
async fn nothing_outside_of_the_directory_is_read() {
    let place = Place::new("hidden");
    let (client, _child) = place.serve().await;
    let absolute = place.root.join("secret.txt").to_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "secret");
    let encoded = absolute.replace('/', "%2F");
    let uris = [
        "file:///../secret.txt",
        "file:///sub/../../secret.txt",
        "file:///%2e%2e/secret.txt",
        "file:///%2E%2E%2Fsecret.txt",
        "file:///..%2fsecret.txt",
        "file:///%252e%252e/secret.txt",
        "file:///..%5Csecret.txt",
        "file:///sub%2F..%2F..%2Fsecret.txt",
        // Absolute paths, plain and encoded.
        &format!("file:///{absolute}"),
        &format!("file:///{encoded}"),
        &format!("file://{absolute}"),
        "file:////proc/self/environ",
        // Links to a file and to a directory outside, also behind a directory inside.
        "file:///link.txt",
        "file:///link-to-parent/secret.txt",
        "file:///sub/link-up/secret.txt",
        "file:///absolute-link.txt",
        // Paths that are not files.
        "file:///",
        "file:///sub",
        "file:///sub/",
        "file:///missing.txt",
        "file:///text.txt/more",
        "file:///text.txt%00",
        "file:///%FF",
        "file:///%",
        "file:///fifo",
    ];
    for uri in uris {
        let refused = client.read_resource(uri).await.unwrap_err();
        let refused = refused.rpc().unwrap();
        assert_eq!((refused.code.0, &*refused.message), (-32602, "no such resource"), "{uri}");
    }
    // The server still works after all of that.
    assert_eq!(client.read_resource("file:///text.txt").await.unwrap().text(), Some("text"));
}

#[tokio::test]
async fn a_directory_of_many_files_is_listed_in_pages() {
    let place = Place::new("many");
    for number in 0..250 {
        fs::write(place.root.join(format!("shown/sub/{number:03}")), "").unwrap();
    }
    let (client, _child) = place.serve().await;
    let names: Vec<String> = client.resources().await.unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names.len(), 8 + 250);
    assert!(names.is_sorted());
}

/// A directory `shown` with a secret file beside it.
struct Place {
    root: std::path::PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        // In the build's temporary directory; files of an earlier run are removed.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        let place = Self { root };
        fs::create_dir_all(place.root.join("shown/sub")).unwrap();
        for (path, contents) in [
            ("secret.txt", &b"secret"[..]),
            ("shown/text.txt", b"text"),
            ("shown/page.md", b"# Page"),
            ("shown/sub/deep.txt", b"deep"),
            ("shown/a b.txt", b"space"),
            ("shown/ü.txt", "umlaut".as_bytes()),
            ("shown/100%25.txt", b"percent"),
            ("shown/ports?#.txt", b"signs"),
            ("shown/bytes", &[0xFF, 0]),
        ] {
            fs::write(place.root.join(path), contents).unwrap();
        }
        place.link("../secret.txt", "shown/link.txt");
        place.link("..", "shown/link-to-parent");
        place.link("../..", "shown/sub/link-up");
        place.link(place.root.join("secret.txt"), "shown/absolute-link.txt");
        place.link("text.txt", "shown/inner-link");
        let fifo = std::process::Command::new("mkfifo").arg(place.root.join("shown/fifo")).status();
        assert!(fifo.unwrap().success());
        place
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.root.join(name)).unwrap();
    }

    async fn serve(&self) -> (Client, Child) {
        let mut child = spawn("files", [self.root.join("shown")]);
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        (Client::connect_io(stdout, stdin).await.unwrap(), child)
    }
}
