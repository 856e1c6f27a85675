//! Which prompts does the suite fill in?

use toolway::prelude::*;
use toolway::server::{Embedded, Image, Message, PromptEntry, user};

use super::DOT;

/// Every prompt.
pub(super) fn all() -> Vec<PromptEntry> {
    prompts![
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
    ]
}

/// One message.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// One message that shows its arguments.
#[prompt]
fn test_prompt_with_arguments(
    /// First argument.
    #[arg(complete = ["testValue1", "testValue2", "otherValue"])]
    arg1: &str,
    /// Second argument.
    arg2: &str,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A resource, contents and all, and what to do with it.
#[prompt]
#[expect(non_snake_case, reason = "the suite names the argument")]
fn test_prompt_with_embedded_resource(
    /// The resource to embed.
    resourceUri: &str,
) -> Message {
    let resource =
        Embedded::text(resourceUri, "Embedded resource content for testing.").with_mime_type("text/plain");
    user((resource, "Please process the embedded resource above."))
}

/// A picture, and what to do with it.
#[prompt]
fn test_prompt_with_image() -> Message {
    user((Image::png(DOT), "Please analyze the image above."))
}
