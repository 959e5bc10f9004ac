//! What an error frame says went wrong (annex A of the reference).

/// The code of an error frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    NotReady,
    InvalidFrame,
    MaxPendingExceeded,
    UnsupportedVersion,
    InvalidEnvelope,
    InvalidEventPayload,
    InvalidId,
    InvalidOp,
    InvalidParams,
    InvalidQuery,
    OpNotSupported,
    SessionNotIdle,
    NotFound,
    UnknownModel,
    UnsupportedModel,
    NoPendingLogin,
    NoActiveDialog,
    DialogIdMismatch,
    QueryFailed,
    Failed,
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::NotReady,
        Self::InvalidFrame,
        Self::MaxPendingExceeded,
        Self::UnsupportedVersion,
        Self::InvalidEnvelope,
        Self::InvalidEventPayload,
        Self::InvalidId,
        Self::InvalidOp,
        Self::InvalidParams,
        Self::InvalidQuery,
        Self::OpNotSupported,
        Self::SessionNotIdle,
        Self::NotFound,
        Self::UnknownModel,
        Self::UnsupportedModel,
        Self::NoPendingLogin,
        Self::NoActiveDialog,
        Self::DialogIdMismatch,
        Self::QueryFailed,
        Self::Failed,
    ];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "transport/not-ready",
            Self::InvalidFrame => "transport/invalid-frame",
            Self::MaxPendingExceeded => "transport/max-pending-exceeded",
            Self::UnsupportedVersion => "protocol/unsupported-version",
            Self::InvalidEnvelope => "protocol/invalid-envelope",
            Self::InvalidEventPayload => "protocol/invalid-event-payload",
            Self::InvalidId => "request/invalid-id",
            Self::InvalidOp => "request/invalid-op",
            Self::InvalidParams => "request/invalid-params",
            Self::InvalidQuery => "request/invalid-query",
            Self::OpNotSupported => "request/op-not-supported",
            Self::SessionNotIdle => "request/session-not-idle",
            Self::NotFound => "request/not-found",
            Self::UnknownModel => "request/unknown-model",
            Self::UnsupportedModel => "request/unsupported-model",
            Self::NoPendingLogin => "request/no-pending-login",
            Self::NoActiveDialog => "request/no-active-dialog",
            Self::DialogIdMismatch => "request/dialog-id-mismatch",
            Self::QueryFailed => "runtime/query-failed",
            Self::Failed => "runtime/failed",
        }
    }
}
