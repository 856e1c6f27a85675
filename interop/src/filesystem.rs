//! Does our client work with `@modelcontextprotocol/server-filesystem`?
//!
//! The server uses the TypeScript SDK 1 and has only tools. It works in the folders given on its command line or by the
//! client's roots.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use toolway::ErrorKind;
use toolway::types::{Content, Root, Tool, ToolAnnotations};

use crate::check::{Report, holds, same, says};
use crate::server::Server;
use crate::talk::{Talk, patient};

/// The structured content that most of its tools return besides text.
#[derive(Debug, Deserialize)]
struct Text {
    content: String,
}

pub(crate) async fn play(talk: &Talk, server: &Server, report: &mut Report) {
    let client = &talk.client;
    let path = |name: &str| server.folder().join(name).display().to_string();
    let text = "first line\n\"zweite\" Zeile: Grüße 🦀\nlast line\n";
    report
        .check("info", "name, and tools alone", async {
            same(&client.server_info().map(|info| info.name).as_deref(), &Some("secure-filesystem-server"))?;
            let can = client.server_capabilities();
            same(
                &[can.tools.is_some(), can.resources.is_some(), can.prompts.is_some()],
                &[true, false, false],
            )
        })
        .await;
    report
        .check("tools", "names and hints", async {
            let tools = client.tools().await?;
            let read = tools.get("read_text_file").ok_or("there is no read_text_file")?;
            let edit = tools.get("edit_file").ok_or("there is no edit_file")?;
            let hints = |tool: &Tool| tool.annotations.as_ref().map(ToolAnnotations::is_read_only);
            same(&(hints(read), hints(edit)), &(Some(true), Some(false)))
        })
        .await;
    report
        .check("calls", "a file is written, read and found", async {
            let write = json!({"path": path("a.txt"), "content": text});
            says(&talk.text("write_file", write).await?, "Successfully wrote")?;
            same(fs::read_to_string(path("a.txt"))?.as_str(), text)?;
            let read = client.call("read_text_file", json!({"path": path("a.txt")})).await?;
            same(&read.text()?, text)?;
            same(&read.decode::<Text>()?.content, text)?;
            let head = talk.text("read_text_file", json!({"path": path("a.txt"), "head": 1})).await?;
            same(head.trim_end(), "first line")?;
            let search = json!({"path": path(""), "pattern": "*.txt"});
            says(&talk.text("search_files", search).await?, &path("a.txt"))
        })
        .await;
    report
        .check("calls", "a list of objects as argument", async {
            let edits = json!([{"oldText": "first line", "newText": "another line"}]);
            let edit = json!({"path": path("a.txt"), "edits": edits});
            says(&talk.text("edit_file", edit).await?, "+another line")?;
            says(&fs::read_to_string(path("a.txt"))?, "another line\n")
        })
        .await;
    report
        .check("calls", "a picture of a megabyte", async {
            // The server looks at the name of the file, not at its content.
            fs::write(path("b.png"), vec![7; 1 << 20])?;
            let read = client.call("read_media_file", json!({"path": path("b.png")})).await?;
            let Some(Content::Image(image)) = read.content.first() else {
                return Err("no image came".into());
            };
            same(
                &(image.mime_type.as_str(), image.data.len()),
                &("image/png", (1usize << 20).div_ceil(3) * 4),
            )
        })
        .await;
    report
        .check("calls", "a text of three megabytes, there and back", async {
            let lines = |count| "0123456789abcde\n".repeat(count);
            talk.text("write_file", json!({"path": path("c.txt"), "content": lines(3 << 16)})).await?;
            // The server sends its content twice, as text and as JSON, so only a part of the file is requested. The
            // empty text after the last line end counts as a line.
            let tail = talk.text("read_text_file", json!({"path": path("c.txt"), "tail": 65536})).await?;
            same(&tail, &lines(65535))
        })
        .await;
    report
        .check("calls", "outside of its folder nothing is read", async {
            let result = client.call("read_text_file", json!({"path": "/etc/passwd"})).await?;
            let error = result.text().err().ok_or("it was read")?;
            same(&error.kind(), &ErrorKind::ToolFailed)?;
            says(&error.to_string(), "Access denied")
        })
        .await;
    report
        .check("calls", "a file that is not there", async {
            let result = client.call("read_text_file", json!({"path": path("nothing.txt")})).await?;
            holds(result.is_error(), "it was read")
        })
        .await;
    report
        .check("ask", "the roots of a client are where it works", async {
            let other = server.folder().join("root of another");
            fs::create_dir_all(&other)?;
            let root = Root::new(format!("file://{}", other.display().to_string().replace(' ', "%20")));
            let second = talk.era.dress(patient().roots([root])).connect(server.target()?).await?;
            // The server requests the roots after the handshake, and does not report when it has them.
            loop {
                let allowed = second.call("list_allowed_directories", json!({})).await?.text()?;
                if is_only(&allowed, &other) {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Ok(second.close().await?)
        })
        .await;
}

/// Returns whether the list contains only this folder; its first line is a heading.
fn is_only(allowed: &str, folder: &Path) -> bool {
    allowed.lines().skip(1).eq([folder.display().to_string()])
}
