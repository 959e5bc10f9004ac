//! What the proxy knows of the dialect: which requests open a session, what a connection has set up,
//! and what is under way. Events are numbered anew, because their numbers only grow over the life of
//! a connection (section 3), and each node counts from one.

use std::collections::HashMap;
use std::io::Write as _;

use memchr::memmem;
use stentor_wire::edn::{self, EdnWriter, Fields, Keyword, Map, Value, WriteEdn};
use stentor_wire::psi::frame::{self, ErrorContext};
use stentor_wire::psi::{ErrorCode, Op, Request};

use super::params::{either, word_of};
use super::slash::SELECT_STORED;
use crate::proxy::{
    FirstSession, FromClient, GoesOn, OWN_ID, Preparation, ProxiedDialect, UpstreamStart,
    session_flags,
};

const SESSION_FLAGS: [&str; 1] = ["--resume"];

/// Subscriptions that are repeated on another node; of more, the last ones.
const MAX_SUBSCRIPTIONS: usize = 64;

/// Requests that are tracked. The dialect takes no more at once.
const MAX_TRACKED: usize = 1024;

/// The number of an event and its time are its last fields, and shorter than this.
const STAMP_BYTES: usize = 96;

/// A frontend of psi.
#[derive(Default)]
pub(crate) struct PsiProxy {
    handshake: Option<Value<'static>>,
    /// Subscriptions and their ends, in their order.
    subscriptions: Vec<(Op, Value<'static>)>,
    /// What was set in the session, and what a new one has from it. The last of each counts.
    settings: Vec<(Op, Value<'static>)>,
    /// Requests without an answer: id to operation.
    requests: HashMap<String, String>,
    /// The number of the last event.
    seq: u64,
    /// Counts the proxy's own requests.
    count: u64,
    /// Its last request, whose answer has not come.
    waits_for: Option<String>,
    /// Its request for a session, whose events are the client's.
    arrives_by: Option<String>,
    /// Why one of its requests was refused: without its session the dialect serves on, and says so.
    failure: Option<String>,
}

impl PsiProxy {
    fn own_request(&mut self, lines: &mut Vec<u8>, op: Op, params: &Value<'_>) -> String {
        self.count += 1;
        let id = format!("{OWN_ID}{}", self.count);
        write_request(lines, &&*id, &op.as_str(), params);
        self.waits_for = Some(id.clone());
        id
    }

    fn note_set_up(&mut self, op: Op, params: Option<&Value<'_>>) {
        let params = params.cloned().map_or(Value::Nil, Value::into_owned);
        match op {
            Op::Handshake => self.handshake = Some(params),
            Op::Subscribe | Op::Unsubscribe => {
                if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
                    self.subscriptions.remove(0);
                }
                // Sessions are others on another node.
                let topics = params.get("topics").cloned();
                let topics = topics.map(|topics| ("topics", topics));
                self.subscriptions.push((op, Value::map(topics)));
            }
            Op::SetModel | Op::SetThinkingLevel => {
                self.settings.retain(|(of, _)| *of != op);
                self.settings.push((op, without_session(params)));
            }
            // It has its own.
            Op::SwitchSession => self.settings.clear(),
            _ => {}
        }
    }

    /// An event, with its number among all of the connection.
    fn event(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        let tail = line.len().saturating_sub(STAMP_BYTES);
        let stamp = memmem::rfind(line.get(tail..).unwrap_or_default(), b" :seq ");
        let Some(at) = stamp.map(|stamp| tail + stamp + b" :seq ".len()) else {
            return to_client.extend_from_slice(line);
        };
        let (head, rest) = line.split_at(at);
        if self.is_own_event(head) {
            return;
        }
        self.seq += 1;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        to_client.extend_from_slice(head);
        // Writing to a vector does not fail.
        write!(to_client, "{}", self.seq).ok();
        to_client.extend_from_slice(rest.get(digits..).unwrap_or_default());
    }

    /// True when one of the proxy's own requests caused it, and not the one for a session.
    fn is_own_event(&self, head: &[u8]) -> bool {
        if self.count == 0 {
            return false;
        }
        let tail = head.len().saturating_sub(STAMP_BYTES);
        let tail = head.get(tail..).unwrap_or_default();
        let cause = format!(" :id \"{OWN_ID}");
        let Some(at) = memmem::rfind(tail, cause.as_bytes()) else {
            return false;
        };
        let id = tail.get(at + " :id \"".len()..).unwrap_or_default();
        let arrives_by = self.arrives_by.as_deref().unwrap_or("-");
        !id.starts_with(format!("{arrives_by}\"").as_bytes())
    }

    /// An answer. False when it is the proxy's own.
    fn is_clients_answer(&mut self, line: &[u8]) -> bool {
        let text = std::str::from_utf8(line).unwrap_or_default();
        let Ok(form) = edn::read_one(text) else {
            return true;
        };
        let id = form.get("id").and_then(Value::as_str).unwrap_or_default();
        self.requests.remove(id);
        if self.waits_for.as_deref() == Some(id) {
            self.waits_for = None;
        }
        let is_own = id.starts_with(OWN_ID);
        if is_own && let Some(why) = form.get("error-message").and_then(Value::as_str) {
            self.failure = Some(why.to_owned());
        }
        !is_own
    }
}

impl ProxiedDialect for PsiProxy {
    fn named_by(&self, flags: &[String]) -> Option<String> {
        session_flags::named(flags, &SESSION_FLAGS)
    }

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        let request = read_request(line);
        let Some((id, op)) = request.as_ref().and_then(|request| request.names().ok()) else {
            return FromClient::Pass;
        };
        if self.requests.len() < MAX_TRACKED {
            self.requests.insert(id.to_owned(), op.to_owned());
        }
        let Some(op) = Op::parse(op) else {
            return FromClient::Pass;
        };
        let params = request.as_ref().and_then(|request| request.params.as_ref());
        self.note_set_up(op, params);
        match params.and_then(|params| opened(op, params)) {
            Some(named) => FromClient::Opens(named.to_owned()),
            None if begins(op, params) => FromClient::Begins(None),
            None => FromClient::Pass,
        }
    }

    fn line_elsewhere(&self, line: Vec<u8>, _folder: Option<&str>) -> Vec<u8> {
        let Some(Request { id, op, params }) = read_request(&line) else {
            return line;
        };
        // The session that it names is not there.
        let params = params.map_or(Value::Nil, |params| without_session(params.into_owned()));
        let mut written = Vec::new();
        write_request(&mut written, &id, &op, &params);
        written
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        if line.starts_with(b"{:kind :event") {
            self.event(line, to_client);
        } else if self.is_clients_answer(line) {
            to_client.extend_from_slice(line);
        }
    }

    fn arrival(&self, flags: &[String], named: Option<&str>) -> UpstreamStart {
        let (flags, first) = match named {
            Some(named) => (self.flags_in(flags, named), FirstSession::AsFlagged),
            None => {
                let flags = session_flags::without(flags, &SESSION_FLAGS);
                (flags, FirstSession::None)
            }
        };
        UpstreamStart { flags, first }
    }

    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String> {
        let mut flags = session_flags::without(flags, &SESSION_FLAGS);
        flags.extend(["--resume".to_owned(), session.to_owned()]);
        flags
    }

    fn prologue(&mut self, goes_on: GoesOn<'_>) -> Vec<u8> {
        let mut lines = Vec::new();
        (self.arrives_by, self.failure) = (None, None);
        let Some(handshake) = self.handshake.clone() else {
            // Nothing was asked, and nothing is answered before it.
            return lines;
        };
        self.own_request(&mut lines, Op::Handshake, &handshake);
        for (op, params) in self.subscriptions.clone() {
            self.own_request(&mut lines, op, &params);
        }
        if goes_on == GoesOn::WithNew {
            for (op, params) in self.settings.clone() {
                self.own_request(&mut lines, op, &params);
            }
        }
        if let GoesOn::With(session) = goes_on {
            let named = Value::map([("session-id", Value::from(session))]);
            let id = self.own_request(&mut lines, Op::SwitchSession, &named);
            self.arrives_by = Some(id);
        }
        // Requests are answered in their order: when this one is, all are.
        self.own_request(&mut lines, Op::Ping, &Value::map([("", Value::Nil); 0]));
        lines
    }

    fn preparation(&mut self) -> Preparation {
        match (&self.waits_for, self.failure.take()) {
            (_, Some(why)) => Preparation::Failed(why),
            (Some(_), None) => Preparation::Waits,
            (None, None) => Preparation::Done,
        }
    }

    fn refuse(&mut self, line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        self.waits_for = None;
        let Some(request) = read_request(line) else {
            return;
        };
        let refused = request.refused(ErrorCode::Failed, why);
        self.requests.remove(refused.id.as_deref().unwrap_or(""));
        frame::refusal(to_client, &refused);
    }

    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>) {
        for (id, op) in self.requests.drain() {
            let context = ErrorContext {
                id: Some(&id),
                op: Some(&op),
                data: None,
            };
            frame::error(to_client, ErrorCode::Failed, why, context);
        }
        self.give_up(why, to_client);
    }

    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>) {
        frame::error(to_client, ErrorCode::Failed, why, ErrorContext::default());
    }
}

/// The request in a line of the client.
fn read_request(line: &[u8]) -> Option<Request<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    Request::read(text.trim_end()).ok()
}

fn write_request(lines: &mut Vec<u8>, id: &dyn WriteEdn, op: &dyn WriteEdn, params: &Value<'_>) {
    let kind = Keyword("request");
    let frame = Fields(&[("id", id), ("kind", &kind), ("op", op), ("params", params)]);
    frame.write_edn(&mut EdnWriter::new(lines));
    lines.push(b'\n');
}

/// True for a request that begins a new session.
fn begins(op: Op, params: Option<&Value<'_>>) -> bool {
    let text = || params?.get("text")?.as_str();
    match op {
        Op::NewSession => true,
        Op::Command => text().is_some_and(|text| text.trim() == "/new"),
        _ => false,
    }
}

/// Parameters for whichever session the connection is in.
fn without_session(params: Value<'static>) -> Value<'static> {
    let Some(entries) = params.as_map() else {
        return params;
    };
    let mut others = Map::default();
    for (key, value) in entries.iter() {
        if key.as_keyword() != Some("session-id") {
            others.push(key.clone(), value.clone());
        }
    }
    Value::Map(others)
}

/// The session that a request opens, by its file or id.
fn opened<'v>(op: Op, params: &'v Value<'_>) -> Option<&'v str> {
    let text = |key| params.get(key).and_then(Value::as_str);
    match op {
        Op::SwitchSession => text("session-id").or_else(|| text("session-path")),
        Op::Command => {
            let path = text("text")?.trim().strip_prefix("/resume ")?.trim();
            Some(path).filter(|path| !path.is_empty())
        }
        Op::FrontendActionResult => {
            let echoed = params.get("ui/action");
            let inside = echoed.and_then(|action| action.get("ui/action-name"));
            let name = inside.or_else(|| params.get("action-name"));
            let is_choice = name.and_then(word_of) == Some(SELECT_STORED);
            let value = either(params, "value").filter(|_| is_choice);
            value.and_then(word_of)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(proxy: &mut PsiProxy, line: &str) -> String {
        let mut out = Vec::new();
        proxy.upstream_line(format!("{line}\n").as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn events_are_numbered_over_all_nodes_and_the_proxys_own_are_left_out() {
        let mut proxy = PsiProxy::default();
        let event = |cause: &str, seq: u64| {
            format!(
                "{{:kind :event :event \"e\" :data {{:text \" :seq 9 \"}}{cause} :seq {seq} :ts \"2026-05-02T15:00:00Z\"}}"
            )
        };
        assert_eq!(passed(&mut proxy, &event("", 1)), event("", 1) + "\n");
        proxy.client_line(b"{:id \"h\" :kind :request :op \"handshake\" :params {}}\n");
        let prologue = String::from_utf8(proxy.prologue(GoesOn::With("s1"))).unwrap();
        assert_eq!(
            prologue,
            "{:id \"stentor-proxy-1\" :kind :request :op \"handshake\" :params {}}\n\
             {:id \"stentor-proxy-2\" :kind :request :op \"switch_session\" :params {:session-id \"s1\"}}\n\
             {:id \"stentor-proxy-3\" :kind :request :op \"ping\" :params {}}\n"
        );
        assert_eq!(
            passed(&mut proxy, &event(" :id \"stentor-proxy-1\"", 1)),
            ""
        );
        let arrival = event(" :id \"stentor-proxy-2\"", 2);
        assert_eq!(passed(&mut proxy, &arrival), arrival.clone() + "\n");
        assert_eq!(proxy.preparation(), Preparation::Waits);
        let pong = "{:id \"stentor-proxy-3\" :kind :response :op \"ping\" :ok true}";
        assert_eq!(passed(&mut proxy, pong), "");
        assert_eq!(proxy.preparation(), Preparation::Done);
        assert_eq!(passed(&mut proxy, &event("", 1)), event("", 3) + "\n");
    }

    #[test]
    fn what_opens_a_session_is_known() {
        let mut proxy = PsiProxy::default();
        for (line, opens) in [
            (
                r#"{:op "switch_session" :params {:session-path "/a.jsonl"}"#,
                Some("/a.jsonl"),
            ),
            (
                r#"{:op "switch_session" :params {:session-id "s"}"#,
                Some("s"),
            ),
            (
                r#"{:op "command" :params {:text "/resume /a b"}"#,
                Some("/a b"),
            ),
            (r#"{:op "command" :params {:text "/resume"}"#, None),
            (
                r#"{:op "frontend_action_result" :params {:action-name "select-resume-session" :value "/a"}"#,
                Some("/a"),
            ),
            (r#"{:op "get_state" :params {:session-id "s"}"#, None),
        ] {
            let line = format!("{line} :id \"1\" :kind :request}}\n");
            let expected = opens.map_or(FromClient::Pass, |name| FromClient::Opens(name.into()));
            assert_eq!(proxy.client_line(line.as_bytes()), expected, "{line}");
        }
    }
}
