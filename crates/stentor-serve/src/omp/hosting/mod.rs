//! Tools that the client runs and addresses that it resolves (section 21).

mod calls;
mod tools;
mod uris;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use stentor_agent::tool::Tool;
use stentor_wire::omp::command::{
    HostTool, HostToolResult, HostToolUpdate, HostUriResult, HostUriScheme,
};

use super::dialect::OmpDialect;
use super::limits;
use super::reply::CommandFailure;

use calls::{HostCallWaiter, HostCalls};
use tools::{HostToolRunner, output_of};
use uris::{HostUris, Scheme};

/// What the client offers, and what it has been asked and has not answered.
#[derive(Default)]
pub(super) struct Hosting {
    offers: Mutex<ClientOffers>,
    calls: HostCalls,
}

#[derive(Default)]
struct ClientOffers {
    tools: Vec<HostTool>,
    schemes: Vec<Scheme>,
}

impl Hosting {
    /// Replaces the client's tools. Returns their names.
    pub fn set_tools(&self, tools: Vec<HostTool>) -> Result<Vec<String>, CommandFailure> {
        if tools.len() > limits::HOST_OFFERS {
            return Err(CommandFailure::new(format!(
                "too many host tools: {} at most",
                limits::HOST_OFFERS
            )));
        }
        let mut names = HashSet::new();
        for tool in &tools {
            let name = &tool.name;
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
                return Err(CommandFailure::new(format!(
                    "Invalid host tool name \"{name}\": use 1 to 64 letters, digits, _ and -"
                )));
            }
            if tool.description.trim().is_empty() {
                return Err(CommandFailure::new(format!(
                    "Host tool \"{name}\" must have a description"
                )));
            }
            if !names.insert(name.clone()) {
                return Err(CommandFailure::new(format!(
                    "Host tool \"{name}\" is given twice"
                )));
            }
        }
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        self.offers().tools = tools;
        Ok(names)
    }

    /// Replaces the client's kinds of addresses. Returns their names.
    pub fn set_schemes(&self, schemes: Vec<HostUriScheme>) -> Result<Vec<String>, CommandFailure> {
        if schemes.len() > limits::HOST_OFFERS {
            return Err(CommandFailure::new(format!(
                "too many host URI schemes: {} at most",
                limits::HOST_OFFERS
            )));
        }
        let mut checked: Vec<Scheme> = Vec::with_capacity(schemes.len());
        for scheme in schemes {
            let scheme = Scheme::check(scheme)?;
            if checked.iter().any(|have| have.name == scheme.name) {
                return Err(CommandFailure::new(format!(
                    "Host URI scheme \"{}\" is given twice",
                    scheme.name
                )));
            }
            checked.push(scheme);
        }
        let names = checked.iter().map(|scheme| scheme.name.clone()).collect();
        self.offers().schemes = checked;
        Ok(names)
    }

    /// Gives the conversation its own tools and what the client offers on top.
    pub async fn equip(&self, dialect: &OmpDialect) {
        let live = dialect.live();
        if live.session.is_joined() && !self.has_offers() {
            // It has its tools from who opened it.
            return;
        }
        let tools = self.tools(&live.tools, &dialect.me());
        live.session.set_tools(tools).await.ok();
    }

    /// Takes what the client offers out of a conversation that goes on without it.
    pub async fn unequip(&self, dialect: &OmpDialect) {
        let live = dialect.live();
        if live.session.is_shared() && self.has_offers() {
            live.session.set_tools(live.tools.to_vec()).await.ok();
        }
    }

    fn has_offers(&self) -> bool {
        let offers = self.offers();
        !offers.tools.is_empty() || !offers.schemes.is_empty()
    }

    /// `own` tools with what the client offers on top. A tool of the client replaces one of the
    /// same name.
    pub fn tools(&self, own: &[Arc<dyn Tool>], dialect: &Weak<OmpDialect>) -> Vec<Arc<dyn Tool>> {
        let offers = self.offers();
        let replaced = |name: &str| offers.tools.iter().any(|tool| tool.name == name);
        let mut tools: Vec<Arc<dyn Tool>> = own
            .iter()
            .filter(|tool| !replaced(&tool.spec().name))
            .map(|tool| HostUris::wrap(Arc::clone(tool), &offers.schemes, dialect))
            .collect();
        for tool in &offers.tools {
            tools.push(Arc::new(HostToolRunner::new(tool, dialect.clone())));
        }
        tools
    }

    /// A running call of a client's tool tells how far it is.
    pub fn tool_update(&self, update: HostToolUpdate) {
        self.calls
            .progress(&update.id, output_of(update.partial_result, None));
    }

    /// A call of a client's tool has ended.
    pub fn tool_result(&self, result: HostToolResult) {
        if let Some(HostCallWaiter::Tool { done, .. }) = self.calls.take_tool(&result.id) {
            // A call that was given up meanwhile needs no result.
            done.send(output_of(result.result, result.is_error)).ok();
        }
    }

    /// A client's address was resolved.
    pub fn uri_result(&self, result: HostUriResult) {
        if let Some(HostCallWaiter::Uri(done)) = self.calls.take_uri(&result.id) {
            done.send(result).ok();
        }
    }

    /// The client is gone: what it was asked is never answered.
    pub fn close(&self) {
        self.calls.close();
    }

    fn offers(&self) -> MutexGuard<'_, ClientOffers> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> HostTool {
        serde_json::from_value(json!({
            "name": name, "description": description, "parameters": {"type": "object"},
        }))
        .unwrap()
    }

    #[test]
    fn tools_need_a_name_models_accept_a_description_and_no_double() {
        let hosting = Hosting::default();
        assert_eq!(
            hosting.set_tools(vec![tool("echo_host", "Echo")]).unwrap(),
            ["echo_host"]
        );
        for (tools, problem) in [
            (vec![tool("", "d")], "Invalid host tool name"),
            (vec![tool("a b", "d")], "Invalid host tool name"),
            (vec![tool("a", " ")], "must have a description"),
            (vec![tool("a", "d"), tool("a", "d")], "given twice"),
        ] {
            let error = hosting.set_tools(tools).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert_eq!(
            hosting.offers().tools.len(),
            1,
            "a refused set changes nothing"
        );
    }

    #[test]
    fn schemes_are_lower_cased_and_those_that_mean_something_already_are_reserved() {
        let hosting = Hosting::default();
        let scheme = |name: &str| serde_json::from_value(json!({ "scheme": name })).unwrap();
        assert_eq!(
            hosting
                .set_schemes(vec![scheme("Issue"), scheme("x+y.z")])
                .unwrap(),
            ["issue", "x+y.z"]
        );
        for bad in ["", "1a", "a b", "file", "HTTPS"] {
            assert!(hosting.set_schemes(vec![scheme(bad)]).is_err(), "{bad}");
        }
        assert!(hosting.set_schemes(vec![scheme("a"), scheme("A")]).is_err());
    }
}
