//! Asking the servers of a login, which may be anybody: bounded in time and size, and no further than
//! their own host.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use stentor_http::deepest;
use tokio::time::timeout;

use super::error::OAuthError;

/// How long an answer may take, all of it.
const LIMIT: Duration = Duration::from_secs(30);
/// The longest answer. What describes a server has a few kilobytes.
const ANSWER_BYTES: usize = 256 * 1024;

/// An answer that was read whole.
pub(super) struct FetchedAnswer {
    pub what: &'static str,
    pub status: StatusCode,
    pub body: Vec<u8>,
}

/// Sends a request and reads the answer. `what` is who answers, for people.
pub(super) async fn ask(
    request: RequestBuilder,
    what: &'static str,
) -> Result<FetchedAnswer, OAuthError> {
    let unreachable = |why: String| OAuthError::Unreachable { what, why };
    let answered = timeout(LIMIT, async {
        let response = request.header("accept", "application/json").send().await;
        let response = response.map_err(|error| unreachable(deepest(&error)))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(OAuthError::Redirected { what, status });
        }
        let body = body(response, what).await?;
        Ok(FetchedAnswer { what, status, body })
    });
    let late = |_| unreachable(format!("no answer within {} s", LIMIT.as_secs()));
    answered.await.map_err(late)?
}

async fn body(mut response: Response, what: &'static str) -> Result<Vec<u8>, OAuthError> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| OAuthError::Unreachable {
            what,
            why: deepest(&error),
        })?;
        match chunk {
            None => return Ok(body),
            Some(chunk) if body.len() + chunk.len() > ANSWER_BYTES => {
                return Err(OAuthError::TooLarge {
                    what,
                    limit_kib: ANSWER_BYTES >> 10,
                });
            }
            Some(chunk) => body.extend_from_slice(&chunk),
        }
    }
}

impl FetchedAnswer {
    /// What is in it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, OAuthError> {
        serde_json::from_slice(&self.body).map_err(|error| OAuthError::Unreadable {
            what: self.what,
            line: error.line(),
            column: error.column(),
        })
    }

    /// The answer, if it is one to what was asked.
    pub fn successful(self) -> Result<Self, OAuthError> {
        match self.status.is_success() {
            true => Ok(self),
            false => Err(OAuthError::Status {
                what: self.what,
                status: self.status,
            }),
        }
    }
}
