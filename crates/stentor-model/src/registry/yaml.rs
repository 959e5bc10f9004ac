//! YAML as JSON, within bounds.
//!
//! An alias repeats what its anchor stands for, so a few lines can stand for more than any machine
//! holds. How much a text stands for is counted first, without building any of it.

use std::collections::HashMap;

use serde_json::{Map, Value};
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::{ScanError, Yaml, YamlLoader};

/// Deeper than this is no list of models.
const DEEPEST: usize = 32;
/// More values than this, with every alias replaced, are no list of models.
const MOST_VALUES: usize = 100_000;

/// Why a text is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum YamlError {
    #[error("{0}")]
    Syntax(#[from] ScanError),
    #[error("it is nested more than {DEEPEST} levels deep")]
    TooDeep,
    #[error("it expands to more than {MOST_VALUES} values")]
    TooMuch,
}

/// The last document of a text.
pub(super) fn read_yaml(text: &str) -> Result<Value, YamlError> {
    check(text)?;
    let mut documents = YamlLoader::load_from_str(text)?;
    match documents.pop() {
        Some(document) => to_json(document, 0),
        None => Ok(Value::Object(Map::new())),
    }
}

/// Counts what a text stands for. The loader calls itself for each level, so the depth is looked
/// at here as well.
fn check(text: &str) -> Result<(), YamlError> {
    let mut parser = Parser::new_from_str(text);
    // The values that each anchor stands for.
    let mut of_anchor: HashMap<usize, usize> = HashMap::new();
    // The anchor of each collection that is open, and the values before it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut values = 0_usize;
    loop {
        let (event, _) = parser.next_token()?;
        match event {
            Event::StreamEnd => return Ok(()),
            Event::Scalar(_, _, anchor, _) => {
                values += 1;
                of_anchor.insert(anchor, 1);
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((anchor, values));
                values += 1;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some((anchor, before)) = open.pop() {
                    of_anchor.insert(anchor, values - before);
                }
            }
            Event::Alias(anchor) => {
                let repeated = of_anchor.get(&anchor).copied().unwrap_or(1);
                values = values.saturating_add(repeated);
            }
            Event::Nothing | Event::StreamStart | Event::DocumentStart | Event::DocumentEnd => {}
        }
        if open.len() > DEEPEST {
            return Err(YamlError::TooDeep);
        }
        if values > MOST_VALUES {
            return Err(YamlError::TooMuch);
        }
    }
}

fn to_json(yaml: Yaml, depth: usize) -> Result<Value, YamlError> {
    if depth > DEEPEST {
        return Err(YamlError::TooDeep);
    }
    Ok(match yaml {
        Yaml::Real(text) => text.parse::<f64>().map_or(Value::Null, Value::from),
        Yaml::Integer(number) => number.into(),
        Yaml::String(text) => text.into(),
        Yaml::Boolean(value) => value.into(),
        Yaml::Array(list) => {
            let list = list.into_iter().map(|one| to_json(one, depth + 1));
            list.collect::<Result<_, _>>()?
        }
        Yaml::Hash(entries) => {
            let mut map = Map::new();
            for (name, value) in entries {
                let name = match name {
                    Yaml::String(name) => name,
                    Yaml::Integer(number) => number.to_string(),
                    _ => continue,
                };
                map.insert(name, to_json(value, depth + 1)?);
            }
            Value::Object(map)
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_repeats_its_anchor() {
        let text = "a: &x {n: 1}\nb: *x\n";
        let expected = serde_json::json!({"a": {"n": 1}, "b": {"n": 1}});
        assert_eq!(read_yaml(text).unwrap(), expected);
    }

    #[test]
    fn a_few_lines_cannot_stand_for_everything() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(matches!(read_yaml(&text), Err(YamlError::TooMuch)));
        let deep = "[".repeat(100_000);
        assert!(read_yaml(&deep).is_err());
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        assert!(matches!(read_yaml(&deep), Err(YamlError::TooDeep)));
    }
}
