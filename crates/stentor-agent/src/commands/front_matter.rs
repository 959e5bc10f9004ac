//! The few lines of facts at the top of a Markdown file, between two lines of three dashes.
//!
//! Of YAML only what such files use: `key: value`, quoted values, lists in one line or one item a
//! line, and text folded over indented lines. A line that is none of these is passed over: the
//! files are often written for another program, which may know more keys than we do.

/// The facts and the text below them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter<'a> {
    facts: Vec<(&'a str, FrontMatterValue)>,
    /// What follows, from its first line with text on.
    pub body: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
enum FrontMatterValue {
    Text(String),
    List(Vec<String>),
}

impl<'a> FrontMatter<'a> {
    /// Reads a file. `None` when it does not begin with facts.
    pub fn read(file: &'a str) -> Option<Self> {
        let file = file.strip_prefix('\u{feff}').unwrap_or(file);
        let (first, mut rest) = split_line(file)?;
        if first.trim_end() != "---" {
            return None;
        }
        let mut lines = Vec::new();
        loop {
            let (line, after) = split_line(rest)?;
            rest = after;
            if line.trim_end() == "---" {
                break;
            }
            lines.push(line.trim_end());
        }
        Some(Self {
            facts: facts(&lines),
            body: rest.trim_start_matches(['\r', '\n']),
        })
    }

    /// A fact as text.
    pub fn text(&self, key: &str) -> Option<String> {
        let text = match self.fact(key)? {
            FrontMatterValue::Text(text) => text.clone(),
            FrontMatterValue::List(items) => items.join(", "),
        };
        (!text.is_empty()).then_some(text)
    }

    /// A fact as a list; text is split at its commas.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        Some(match self.fact(key)? {
            FrontMatterValue::List(items) => items.clone(),
            FrontMatterValue::Text(text) => items(text),
        })
    }

    /// A fact that is yes or no; `None` when it is neither.
    pub fn is(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        }
    }

    fn fact(&self, key: &str) -> Option<&FrontMatterValue> {
        let found = self.facts.iter().find(|(name, _)| *name == key);
        found.map(|(_, fact)| fact)
    }
}

fn facts<'a>(lines: &[&'a str]) -> Vec<(&'a str, FrontMatterValue)> {
    let mut facts = Vec::new();
    let mut rest = lines;
    while let Some((line, later)) = rest.split_first() {
        rest = later;
        let is_indented = line.starts_with([' ', '\t', '-', '#']);
        let Some((key, value)) = line.split_once(':').filter(|_| !is_indented) else {
            continue;
        };
        let below = later
            .iter()
            .take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '-']))
            .count();
        let (indented, after) = later.split_at(below);
        rest = after;
        facts.push((key.trim(), fact(value.trim(), indented)));
    }
    facts
}

fn fact(value: &str, indented: &[&str]) -> FrontMatterValue {
    let lines = || indented.iter().map(|line| line.trim());
    let is_block = matches!(value, "" | "|" | ">" | "|-" | ">-" | "|+" | ">+");
    if value.is_empty() && lines().any(|line| line.starts_with("- ")) {
        let items = lines().filter_map(|line| line.strip_prefix("- "));
        return FrontMatterValue::List(
            items.map(|item| unquoted(item.trim()).to_owned()).collect(),
        );
    }
    if let Some(inside) = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return FrontMatterValue::List(items(inside));
    }
    let joint = if value.starts_with('|') { "\n" } else { " " };
    let mut text = if is_block {
        String::new()
    } else {
        unquoted(value).to_owned()
    };
    for line in lines().filter(|line| !line.is_empty()) {
        if !text.is_empty() {
            text.push_str(joint);
        }
        text.push_str(line);
    }
    FrontMatterValue::Text(text)
}

fn items(text: &str) -> Vec<String> {
    text.split(',')
        .map(|item| unquoted(item.trim()).to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inside) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inside;
        }
    }
    text
}

/// The first line without its end, and what follows. `None` at the end of the text.
fn split_line(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    Some(text.split_once('\n').unwrap_or((text, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Option<FrontMatter<'_>> {
        FrontMatter::read(file)
    }

    #[test]
    fn facts_are_read_in_every_form_such_files_use() {
        let file = "---\r\nname: reviewer\r\ndescription: \"Looks: closely\"\ntools: read, 'grep' , ls\n\
                    # a comment\nmodel:\n---\n\nBody: here\n---\nstill body\n";
        let matter = read(file).unwrap();
        assert_eq!(matter.text("name").as_deref(), Some("reviewer"));
        assert_eq!(
            matter.text("description").as_deref(),
            Some("Looks: closely")
        );
        assert_eq!(matter.list("tools").unwrap(), ["read", "grep", "ls"]);
        assert_eq!(matter.text("model"), None);
        assert_eq!(matter.body, "Body: here\n---\nstill body\n");
        assert_eq!(matter.is("name"), None);
    }

    #[test]
    fn lists_and_folded_text_may_take_several_lines() {
        for tools in [
            "tools:\n  - read\n  - \"grep\"",
            "tools:\n- read\n- grep",
            "tools: [read, grep]",
        ] {
            let file = format!("---\n{tools}\nname: x\n---\n");
            let matter = read(&file).unwrap();
            assert_eq!(matter.list("tools").unwrap(), ["read", "grep"], "{tools}");
            assert_eq!(matter.text("name").as_deref(), Some("x"));
        }
        let file = "---\ndescription: >\n  one\n  two\nnext: |\n  a\n  b\nplain: c\n  d\n---\nx";
        let matter = read(file).unwrap();
        assert_eq!(matter.text("description").as_deref(), Some("one two"));
        assert_eq!(matter.text("next").as_deref(), Some("a\nb"));
        assert_eq!(matter.text("plain").as_deref(), Some("c d"));
    }

    #[test]
    fn a_file_without_complete_front_matter_has_none() {
        for file in [
            "",
            "text",
            "---",
            "---\nname: x\n",
            " ---\n---\n",
            "----\n---\n",
        ] {
            assert_eq!(read(file), None, "{file:?}");
        }
        assert!(read("---\n---").is_some());
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_strange(file in "(---\n)?([a-z:\\-# \\[\\]\"'\n,>|]{0,80})(\n---\n)?.{0,20}") {
            if let Some(matter) = read(&file) {
                let _ = (matter.text("a"), matter.list("a"));
            }
        }
    }
}
