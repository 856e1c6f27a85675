//! Which HTTP status goes with an error in the stateless era? (In the handshake era the status is 200, and the error
//! is in the body.)

use crate::jsonrpc::Code;

/// Returns the HTTP status for an error code that a handler or the router produced.
///
/// ```
/// use toolway_protocol::{http::status::for_code, jsonrpc::Code};
///
/// assert_eq!(for_code(Code::METHOD_NOT_FOUND), 404);
/// assert_eq!(for_code(Code::INVALID_PARAMS), 200);
/// ```
pub fn for_code(code: Code) -> u16 {
    match code {
        Code::METHOD_NOT_FOUND => 404,
        Code::PARSE_ERROR
        | Code::INVALID_REQUEST
        | Code::HEADER_MISMATCH
        | Code::MISSING_CAPABILITY
        | Code::UNSUPPORTED_VERSION => 400,
        _ => 200,
    }
}
