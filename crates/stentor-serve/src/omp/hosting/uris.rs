//! Addresses that the client resolves: `read` and `write` ask it instead of the disk.

use std::path::Path;
use std::sync::{Arc, Weak};

use serde_json::{Map, Value};
use stentor_agent::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, Touches};
use stentor_wire::omp::command::HostUriScheme;
use stentor_wire::omp::frame::Frame;
use tokio::sync::oneshot;

use super::calls::{HostCallWaiter, HostNotAsked};
use crate::omp::dialect::OmpDialect;
use crate::omp::framing::AgentFrame;
use crate::omp::reply::CommandFailure;

/// Lines of an address that are read when the model does not say how many.
const DEFAULT_LINES: usize = 2000;

/// Schemes that mean something already.
const RESERVED: [&str; 4] = ["file", "http", "https", "data"];

/// A kind of address the client resolves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheme {
    /// In lower case.
    pub name: String,
    description: Option<String>,
    writable: bool,
}

impl Scheme {
    /// Takes an offer if it is sound.
    pub fn check(offer: HostUriScheme) -> Result<Self, CommandFailure> {
        let name = offer.scheme.to_ascii_lowercase();
        let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
        if !starts_well || !name.bytes().all(plain) {
            return Err(CommandFailure::new(format!(
                "Invalid host URI scheme \"{}\": a letter, then letters, digits, +, . and -",
                offer.scheme
            )));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(CommandFailure::new(format!(
                "Host URI scheme \"{name}\" is reserved"
            )));
        }
        Ok(Self {
            name,
            description: offer.description,
            writable: offer.writable.unwrap_or(false),
        })
    }
}

/// A tool that asks the client when its path is one of the client's addresses.
pub(super) struct HostUris {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    schemes: Vec<Scheme>,
    operation: Operation,
    dialect: Weak<OmpDialect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
}

impl HostUris {
    /// `tool`, able to deal with the client's addresses if it can deal with any.
    pub fn wrap(
        tool: Arc<dyn Tool>,
        schemes: &[Scheme],
        dialect: &Weak<OmpDialect>,
    ) -> Arc<dyn Tool> {
        let operation = match tool.spec().name.as_str() {
            "read" => Operation::Read,
            "write" => Operation::Write,
            _ => return tool,
        };
        let usable: Vec<Scheme> = schemes
            .iter()
            .filter(|scheme| operation == Operation::Read || scheme.writable)
            .cloned()
            .collect();
        if usable.is_empty() {
            return tool;
        }
        let mut spec = tool.spec().clone();
        spec.description
            .push_str(" The path may also be one of these addresses:");
        for scheme in &usable {
            spec.description.push_str(&format!(" {}://", scheme.name));
            if let Some(description) = &scheme.description {
                spec.description.push_str(&format!(" ({description})"));
            }
        }
        Arc::new(Self {
            spec,
            inner: tool,
            schemes: schemes.to_vec(),
            operation,
            dialect: dialect.clone(),
        })
    }

    /// The address in the arguments, if it is one of the client's.
    fn address<'a>(&self, arguments: &'a Map<String, Value>) -> Option<(&'a str, &Scheme)> {
        let url = arguments.get("path")?.as_str()?;
        let (name, _) = url.split_once("://")?;
        let scheme = self
            .schemes
            .iter()
            .find(|scheme| scheme.name.eq_ignore_ascii_case(name))?;
        Some((url, scheme))
    }
}

impl Tool for HostUris {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        match self.address(arguments) {
            Some(_) => Touches::default(),
            None => self.inner.touches(arguments, cwd),
        }
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        let Some((url, scheme)) = self.address(&arguments) else {
            return Arc::clone(&self.inner).run(arguments, context);
        };
        if self.operation == Operation::Write && !scheme.writable {
            let text = format!("{}:// cannot be written to", scheme.name);
            return Box::pin(std::future::ready(ToolOutput::error(text)));
        }
        let url = url.to_owned();
        Box::pin(async move {
            let Some(dialect) = self.dialect.upgrade() else {
                return ToolOutput::error(NotResolved::ClientGone.to_string());
            };
            match self.operation {
                Operation::Read => match ask(&dialect, "read", &url, None, &context).await {
                    Ok(text) => ToolOutput::text(window(&text, &arguments)),
                    Err(why) => ToolOutput::error(why.to_string()),
                },
                Operation::Write => {
                    let content = arguments.get("content").and_then(Value::as_str);
                    let content = content.unwrap_or_default();
                    match ask(&dialect, "write", &url, Some(content), &context).await {
                        Ok(_) => ToolOutput::text(format!(
                            "Successfully wrote {} bytes to {url}",
                            content.len()
                        )),
                        Err(why) => ToolOutput::error(why.to_string()),
                    }
                }
            }
        })
    }
}

/// Why an address is not resolved, in words for a model.
#[derive(Debug, thiserror::Error)]
enum NotResolved {
    #[error(transparent)]
    NotAsked(#[from] HostNotAsked),
    #[error("The client that resolves this address is gone.")]
    ClientGone,
    #[error("Command aborted")]
    Aborted,
    /// The client says why.
    #[error("{0}")]
    Refused(String),
}

async fn ask(
    dialect: &OmpDialect,
    operation: &str,
    url: &str,
    content: Option<&str>,
    context: &ToolContext,
) -> Result<String, NotResolved> {
    let (done, answer) = oneshot::channel();
    let calls = &dialect.hosting.calls;
    let id = calls.open(HostCallWaiter::Uri(done))?;
    let frame: AgentFrame<'_> = Frame::HostUriRequest {
        id: &id,
        operation,
        url,
        content,
    };
    let asked = async {
        dialect.send_frame("host_uri_request", &frame).await;
        answer.await
    };
    tokio::select! {
        result = asked => {
            let result = result.map_err(|_| NotResolved::ClientGone)?;
            if result.is_error.unwrap_or(false) || result.error.is_some() {
                let why = result.error.or(result.content);
                let why = why.unwrap_or_else(|| format!("{url} could not be resolved"));
                return Err(NotResolved::Refused(why));
            }
            Ok(result.content.unwrap_or_default())
        }
        () = context.cancel.cancelled() => {
            calls.forget(&id);
            let cancel_id = calls.id();
            let frame: AgentFrame<'_> = Frame::HostUriCancel { id: &cancel_id, target_id: &id };
            dialect.send_frame("host_uri_cancel", &frame).await;
            Err(NotResolved::Aborted)
        }
    }
}

/// The lines that `offset` (from one) and `limit` ask for.
fn window(text: &str, arguments: &Map<String, Value>) -> String {
    let number = |key: &str| {
        let number = arguments.get(key).and_then(Value::as_u64);
        number.and_then(|number| usize::try_from(number).ok())
    };
    let skipped = number("offset").unwrap_or(1).saturating_sub(1);
    let wanted = number("limit").unwrap_or(DEFAULT_LINES);
    let mut rest = text.split_inclusive('\n').skip(skipped);
    let mut shown: String = rest.by_ref().take(wanted).collect();
    let left = rest.count();
    if left > 0 {
        let next = skipped + wanted + 1;
        shown.push_str(&format!(
            "\n[{left} more lines. Use offset={next} to continue.]"
        ));
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_read_by_lines_like_a_file() {
        let arguments = |value: Value| value.as_object().unwrap().clone();
        let text = "a\nb\nc\nd";
        assert_eq!(window(text, &arguments(json!({}))), text);
        assert_eq!(
            window(text, &arguments(json!({"offset": 2, "limit": 2}))),
            "b\nc\n\n[1 more lines. Use offset=4 to continue.]"
        );
        assert_eq!(window(text, &arguments(json!({"offset": 9}))), "");
    }
}
