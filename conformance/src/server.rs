//! The fixtures that the suite asks a server for.

use toolway::prelude::*;

/// The server with every fixture that exists so far.
pub fn server() -> toolway::Result<Server> {
    Server::new("toolway-conformance", env!("CARGO_PKG_VERSION"))
        .tools(tools![test_simple_text, test_error_handling, add_numbers])
        .build()
}

/// Returns a simple text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Always fails.
#[tool]
fn test_error_handling() -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}

/// Adds two numbers.
#[tool]
fn add_numbers(
    /// First number.
    a: f64,
    /// Second number.
    b: f64,
) -> f64 {
    a + b
}
