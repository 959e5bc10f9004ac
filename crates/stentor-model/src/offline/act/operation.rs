//! What can be done with the tools at hand. Where the proper tool is missing, a shell will do.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolSpec;

/// A tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: &'static str,
    pub arguments: Map<String, Value>,
}

/// The tools a request offers.
pub struct Toolbox<'a> {
    tools: &'a [ToolSpec],
}

/// Folders whose content is nobody's own work.
const SKIPPED: &str = "-not -path '*/.git/*' -not -path '*/node_modules/*' -not -path '*/target/*'";

/// Results of a search that are worth having; a report shows only the first of them.
const MAX_MATCHES: u64 = 500;

impl<'a> Toolbox<'a> {
    pub fn new(tools: &'a [ToolSpec]) -> Self {
        Self { tools }
    }

    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    pub fn list(&self, path: Option<&str>) -> Option<Call> {
        let mut arguments = json!({});
        set(&mut arguments, "path", path);
        self.call("ls", arguments)
            .or_else(|| self.run(&format!("ls -1Ap -- {}", quoted_path(path.unwrap_or(".")))))
    }

    pub fn read(&self, path: &str, offset: Option<u64>, limit: Option<u64>) -> Option<Call> {
        let mut arguments = json!({ "path": path });
        set(&mut arguments, "offset", offset);
        set(&mut arguments, "limit", limit);
        self.call("read", arguments).or_else(|| {
            let first = offset.unwrap_or(1).max(1);
            let last = limit.map_or_else(
                || "$".to_owned(),
                |limit| (first + limit).saturating_sub(1).to_string(),
            );
            self.run(&format!(
                "sed -n '{first},{last}p' -- {}",
                quoted_path(path)
            ))
        })
    }

    pub fn tail(&self, path: &str, count: u64) -> Option<Call> {
        self.run(&format!("tail -n {count} -- {}", quoted_path(path)))
    }

    /// Lower-case words are looked for in any case, as people expect.
    pub fn search(&self, text: &str, path: Option<&str>) -> Option<Call> {
        let any_case = !text.chars().any(char::is_uppercase);
        let literal = text
            .chars()
            .any(|char| !(char.is_alphanumeric() || matches!(char, '_' | ' ' | '-')));
        let mut arguments = json!({ "pattern": text });
        set(&mut arguments, "path", path);
        set(&mut arguments, "ignoreCase", any_case.then_some(true));
        set(&mut arguments, "literal", literal.then_some(true));
        set(&mut arguments, "limit", Some(MAX_MATCHES));
        self.call("grep", arguments).or_else(|| {
            let any_case = if any_case { "i" } else { "" };
            // No match is an answer, not a failure.
            self.run(&format!(
                "grep -rnIF{any_case} --exclude-dir=.git --exclude-dir=target --exclude-dir=node_modules -e {} -- {} || [ $? -eq 1 ]",
                quoted(text),
                quoted_path(path.unwrap_or("."))
            ))
        })
    }

    pub fn find(&self, pattern: &str, path: Option<&str>, limit: Option<u64>) -> Option<Call> {
        let mut arguments = json!({ "pattern": pattern });
        set(&mut arguments, "path", path);
        set(&mut arguments, "limit", limit);
        self.call("find", arguments).or_else(|| {
            let names: Vec<String> = alternatives(pattern)
                .iter()
                .map(|name| format!("-name {}", quoted(name)))
                .collect();
            let limit = limit.unwrap_or(MAX_MATCHES);
            self.run(&format!(
                "find {} -type f \\( {} \\) {SKIPPED} | head -n {limit}",
                quoted_path(path.unwrap_or(".")),
                names.join(" -o "),
            ))
        })
    }

    pub fn run(&self, command: &str) -> Option<Call> {
        self.call("bash", json!({ "command": command }))
    }

    pub fn write(&self, path: &str, content: &str) -> Option<Call> {
        self.call("write", json!({ "path": path, "content": content }))
            .or_else(|| {
                self.run(&format!(
                    "printf '%s' {} > {}",
                    quoted(content),
                    quoted_path(path)
                ))
            })
    }

    /// Adds whole lines, whatever the file ends with.
    pub fn append(&self, path: &str, content: &str) -> Option<Call> {
        let path = quoted_path(path);
        self.run(&format!(
            "if [ -s {path} ] && [ -n \"$(tail -c 1 -- {path})\" ]; then echo >> {path}; fi; printf '%s' {} >> {path}",
            quoted(content)
        ))
    }

    pub fn edit(&self, path: &str, old: &str, new: &str) -> Option<Call> {
        let edits = json!([{ "oldText": old, "newText": new }]);
        self.call("edit", json!({ "path": path, "edits": edits }))
    }

    pub fn count_lines(&self, path: Option<&str>) -> Option<Call> {
        match path {
            Some(path) => {
                let path = quoted_path(path);
                self.run(&format!(
                    "if [ -d {path} ]; then find {path} -type f {SKIPPED} -exec cat {{}} + | wc -l; else wc -l < {path}; fi"
                ))
            }
            None => self.run(&format!(
                "find . -type f {SKIPPED} -exec cat {{}} + | wc -l"
            )),
        }
    }

    pub fn plan(&self, items: &[String]) -> Option<Call> {
        let todos: Vec<Value> = items
            .iter()
            .map(|item| json!({ "content": item, "status": "pending" }))
            .collect();
        self.call("todo", json!({ "todos": todos }))
    }

    fn call(&self, tool: &'static str, arguments: Value) -> Option<Call> {
        match arguments {
            Value::Object(arguments) if self.has(tool) => Some(Call { tool, arguments }),
            _ => None,
        }
    }
}

fn set(arguments: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(arguments), Some(value)) = (arguments, value) {
        arguments.insert(name.to_owned(), value.into());
    }
}

/// `*.{yaml,yml}` as the names `find` understands.
fn alternatives(pattern: &str) -> Vec<String> {
    let parts = pattern
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (choices, after))) => choices
            .split(',')
            .map(|choice| format!("{before}{choice}{after}"))
            .collect(),
        None => vec![pattern.to_owned()],
    }
}

/// A path for the shell. A name that begins with a dash must not become an option.
fn quoted_path(path: &str) -> String {
    if path.starts_with('-') {
        quoted(&format!("./{path}"))
    } else {
        quoted(path)
    }
}

/// A word for the shell that means exactly `text`.
fn quoted(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@%+=".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_means_itself_to_the_shell() {
        for (text, word) in [
            ("a.txt", "a.txt"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
            ("~", "'~'"),
            ("-x", "-x"),
        ] {
            assert_eq!(quoted(text), word);
        }
        assert_eq!(quoted_path("-x"), "./-x");
    }
}
