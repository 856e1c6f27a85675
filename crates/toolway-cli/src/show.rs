//! How is a result shown to a person?

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use toolway::RawJson;
use toolway::types::{CallToolResult, Content, GetPromptResult, ResourceContents};

use crate::failure::{Failure, Result};
use crate::json;

/// Saves the images, audio and files of a result.
#[derive(Debug)]
pub(crate) struct Saver {
    directory: Option<PathBuf>,
    number: usize,
}

impl Saver {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory, number: 0 }
    }

    /// Returns the text that replaces binary data: where the data was saved, or its type and size.
    fn save(&mut self, data: &str, mime_type: Option<&str>) -> Result<String> {
        let kind = mime_type.unwrap_or("application/octet-stream");
        let Ok(bytes) = decode_base64(data) else { return Ok(format!("[{kind}, invalid Base64]")) };
        let size = format_size(bytes.len() as u64);
        let Some(directory) = &self.directory else { return Ok(format!("[{kind}, {size}]")) };
        std::fs::create_dir_all(directory).map_err(|error| write_failure(directory, &error))?;
        // The file name is generated: a name from a server could lead anywhere.
        loop {
            self.number += 1;
            let path = directory.join(format!("{}.{}", self.number, extension(kind)));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    file.write_all(&bytes).map_err(|error| write_failure(&path, &error))?;
                    return Ok(format!("[{kind}, {size}: {}]", path.display()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(write_failure(&path, &error)),
            }
        }
    }
}

pub(crate) fn write_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be written: {error}", path.display()))
}

/// Decodes Base64 data from a server.
pub(crate) fn decode_base64(data: &str) -> Result<Vec<u8>, base64_simd::Error> {
    base64_simd::STANDARD.decode_to_vec(data)
}

/// Formats the result of a tool.
pub(crate) fn tool_result(result: &CallToolResult, saver: &mut Saver) -> Result<String> {
    let mut text = format_blocks(&result.content, saver)?;
    let has_text = result.content.iter().any(|block| block.as_text().is_some());
    if let Some(structured) = &result.structured_content
        && !has_text
    {
        text.push_str(&json::pretty(structured));
        text.push('\n');
    }
    Ok(text)
}

/// Formats the messages of a prompt.
pub(crate) fn prompt(result: &GetPromptResult, saver: &mut Saver) -> Result<String> {
    let mut text = String::new();
    for message in &result.messages {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "[{}]", message.role.as_str());
        text.push_str(&format_blocks(std::slice::from_ref(&message.content), saver)?);
    }
    Ok(text)
}

fn format_blocks(content: &[Content], saver: &mut Saver) -> Result<String> {
    let mut text = String::new();
    for block in content {
        let shown = match block {
            Content::Text(block) => block.text.clone(),
            Content::Image(block) => saver.save(&block.data, Some(&block.mime_type))?,
            Content::Audio(block) => saver.save(&block.data, Some(&block.mime_type))?,
            Content::Resource(block) => format_contents(&block.resource, saver)?,
            Content::Link(link) => format!("[{}]({})", link.display_name(), link.uri),
            other => json::pretty(&RawJson::encoded(other, toolway::ProtocolVersion::LATEST)),
        };
        text.push_str(&shown);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

/// Formats the contents of a resource.
fn format_contents(contents: &ResourceContents, saver: &mut Saver) -> Result<String> {
    match (&contents.text, &contents.blob) {
        (None, Some(blob)) => saver.save(blob, contents.mime_type.as_deref()),
        (text, _) => Ok(text.clone().unwrap_or_default()),
    }
}

/// Formats a size such as `12 KiB`.
pub(crate) fn format_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1_048_576)),
    }
}

/// Returns the file extension of a media type.
fn extension(mime_type: &str) -> &'static str {
    match mime_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/plain" => "txt",
        _ => "bin",
    }
}
