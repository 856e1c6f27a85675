//! How do several servers share their sessions?

use std::error::Error as _;

use toolway::server::ServerBuilder;
use toolway_redis::{Redis, SetupError};

use crate::failure::{Failure, Fault, Result, chain};

/// Gives the server the store at this URL. The failure never contains the URL, which may have a password.
pub(crate) async fn add(server: ServerBuilder, url: String) -> Result<ServerBuilder> {
    let store = Redis::connect(url).await.map_err(|error| describe(&error))?;
    Ok(server.store(store))
}

fn describe(error: &SetupError) -> Failure {
    let words = chain(error);
    let words = words.strip_prefix("url: ").unwrap_or(&words);
    // A cause is something that happened on the way to Redis; without one, the URL itself is wrong.
    let fault = match (error.setting(), error.source()) {
        ("url" | "user", None) => Fault::Usage,
        _ => Fault::CannotStart,
    };
    let failure = Failure::new(fault, format!("--store: {words}"));
    match error.setting() {
        "root_certificate" => failure.hint(CERTIFICATE_HINT),
        _ => failure,
    }
}

const CERTIFICATE_HINT: &str =
    "set the variable SSL_CERT_FILE to a file with the root certificate of this Redis";
