//! How is a resource read?

use std::io::{self, IsTerminal};
use std::path::Path;

use toolway::types::{ReadResourceResult, ResourceContents};
use toolway::{Client, Code, Error, RawJson};

use super::{CommandContext, expect_no_more_words};
use crate::args::{Read, TargetKind};
use crate::closest::closest;
use crate::console::Console;
use crate::failure::{Failure, Fault, Result};
use crate::location::Find;
use crate::show::{decode_base64, format_size, write_failure};

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    read: Read<K>,
) -> Result<()> {
    let Read { output, target } = read;
    here.with_server(target, async |session| {
        let (uri, rest) = session.words.split_first().ok_or_else(|| here.missing_word("URI"))?;
        expect_no_more_words(rest)?;
        let (client, console) = (&session.client, &session.console);
        if client.server_capabilities().resources.is_none() {
            return Err(Failure::not_found("the server has no resources"));
        }
        let result = match client.read_resource(uri).on_progress(session.progress()).await {
            Ok(result) => result,
            Err(error) if is_not_found(&error) => return Err(not_found(client, uri, &error).await),
            Err(error) => return Err(error.into()),
        };
        let json = || session.to_json_line(|version| RawJson::encoded(&result, version));
        match (session.wants_json, output) {
            (true, Some(file)) => write(&file, json().as_bytes()),
            (true, None) => console.write_result(&json()),
            (false, Some(file)) => write(&file, &all_bytes(&result)?),
            (false, None) => show(&result, console),
        }
    })
    .await
}

/// Returns whether the error may mean that the resource does not exist. Protocol revisions use different error codes
/// for an unknown resource.
fn is_not_found(error: &Error) -> bool {
    error.code().is_some_and(|code| code == Code::RESOURCE_NOT_FOUND || code == Code::INVALID_PARAMS)
}

async fn not_found(client: &Client, uri: &str, error: &Error) -> Failure {
    let failure = Failure::new(Fault::NotFound, format!("`{uri}` cannot be read: {error}"));
    let known = client.resources().await.unwrap_or_default();
    if let Some(meant) = closest(uri, known.iter().map(|resource| &*resource.uri)) {
        return failure.hint(format!("did you mean `{meant}`?"));
    }
    let templates = client.resource_templates().await.unwrap_or_default();
    match templates.first() {
        Some(template) => failure.hint(format!("the server has resources such as {}", template.uri_template)),
        None => failure,
    }
}

fn bytes(contents: &ResourceContents) -> Result<Vec<u8>> {
    match (&contents.text, &contents.blob) {
        (Some(text), _) => Ok(text.clone().into_bytes()),
        (None, Some(blob)) => decode_base64(blob).map_err(|_| {
            Failure::new(
                Fault::Unreachable,
                format!("the content that the server sent for `{}` is not valid Base64", contents.uri),
            )
        }),
        (None, None) => Ok(Vec::new()),
    }
}

fn all_bytes(result: &ReadResourceResult) -> Result<Vec<u8>> {
    let all: Result<Vec<_>> = result.contents.iter().map(bytes).collect();
    Ok(all?.concat())
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(file, bytes).map_err(|error| write_failure(file, &error))
}

fn show(result: &ReadResourceResult, console: &Console) -> Result<()> {
    for contents in &result.contents {
        match &contents.text {
            Some(text) => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                console.write_result(&format!("{text}{end}"))?;
            }
            None => {
                let bytes = bytes(contents)?;
                if io::stdout().is_terminal() {
                    let kind = contents.mime_type.as_deref().unwrap_or("bytes of unknown kind");
                    let size = format_size(bytes.len() as u64);
                    return Err(Failure::usage(format!("`{}` is not text ({kind}, {size})", contents.uri))
                        .hint("write it to a file with --output FILE, or pipe it to another program"));
                }
                console.write_bytes(&bytes)?;
            }
        }
    }
    Ok(())
}
