//! Error codes (section 1.5).

/// The line is not JSON, or not UTF-8.
pub const PARSE_ERROR: i64 = -32700;
/// Not a 2.0 envelope, a batch, or parameters that are not an object.
pub const INVALID_REQUEST: i64 = -32600;
/// An unknown method, or one that was not advertised.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// A field is missing or has a value that makes no sense.
pub const INVALID_PARAMS: i64 = -32602;
/// Our own fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// The answer to a request that the client cancelled.
pub const REQUEST_CANCELLED: i64 = -32800;
/// Log in first.
pub const AUTH_REQUIRED: i64 = -32000;
/// An unknown session or a missing file.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Draft protocol version 2 only.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// The usual message for a code, for errors that have nothing more to say.
pub fn message(code: i64) -> &'static str {
    match code {
        PARSE_ERROR => "Parse error",
        INVALID_REQUEST => "Invalid Request",
        METHOD_NOT_FOUND => "Method not found",
        INVALID_PARAMS => "Invalid params",
        INTERNAL_ERROR => "Internal error",
        REQUEST_CANCELLED => "Request cancelled",
        AUTH_REQUIRED => "Authentication required",
        RESOURCE_NOT_FOUND => "Resource not found",
        UNSUPPORTED_PROTOCOL_VERSION => "Unsupported protocol version",
        _ => "Error",
    }
}
