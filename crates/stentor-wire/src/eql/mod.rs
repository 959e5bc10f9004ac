//! EQL: queries written as EDN (section 12.1 of the psi reference).
//!
//! ```
//! use stentor_wire::eql::{self, Element};
//!
//! let query = eql::parse("[:a {:b [:c]}]").unwrap();
//! assert_eq!(query.len(), 2);
//! assert!(matches!(&query[1], Element::Join { .. }));
//! ```

#[cfg(test)]
mod tests;

use crate::edn::{self, Map, ReadError, Value};

/// What is asked for, in the order in which it is asked.
pub type Query = Vec<Element>;

/// One element of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// An attribute, by its name without the colon.
    Attribute {
        name: String,
        params: Option<Params>,
    },
    /// An attribute of an entity named on the spot: `[attr value]`.
    Ident { ident: Ident },
    /// Parts of an attribute's value, which is a map or a vector of maps.
    Join {
        name: String,
        params: Option<Params>,
        parts: Query,
    },
    /// Parts of an entity named on the spot.
    IdentJoin { ident: Ident, parts: Query },
    /// Something to be done: a list whose head is a symbol.
    Mutation { name: String, params: Params },
}

/// The parameters of an attribute or a mutation.
pub type Params = Map<'static>;

/// An attribute and the value it must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Ident {
    pub attribute: String,
    pub value: Value<'static>,
}

/// Why a text is not a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query is not EDN: {0}")]
    NotEdn(ReadError),
    #[error("the query must be a vector, found {0}")]
    NotAVector(&'static str),
    #[error("{0} is not an element of a query; {1}")]
    NotAnElement(&'static str, &'static str),
}

const JOIN: &str = "a join is a map with one attribute and a vector: {:attr [:part]}";
const CALL: &str = "a list is an attribute or a symbol with a map of parameters: (:attr {:k 1})";

/// Reads a query.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let form = edn::read_one(text).map_err(QueryError::NotEdn)?;
    let Value::Vector(items) = form else {
        return Err(QueryError::NotAVector(form.kind()));
    };
    elements(items)
}

/// Reads an entity: a map of attributes and their values. Anything else is none.
pub fn parse_entity(text: &str) -> Option<Map<'static>> {
    match edn::read_one(text).ok()?.into_owned() {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

fn elements(items: Vec<Value<'_>>) -> Result<Query, QueryError> {
    items.into_iter().map(element).collect()
}

fn element(form: Value<'_>) -> Result<Element, QueryError> {
    let kind = form.kind();
    match form {
        Value::Keyword(name) => Ok(Element::Attribute {
            name: name.into_owned(),
            params: None,
        }),
        Value::Vector(items) => Ok(Element::Ident {
            ident: ident(items)?,
        }),
        Value::Map(map) => join(map),
        Value::List(items) => call(items),
        _ => Err(QueryError::NotAnElement(
            kind,
            "use attributes, joins and calls",
        )),
    }
}

fn ident(items: Vec<Value<'_>>) -> Result<Ident, QueryError> {
    let mut items = items.into_iter();
    match (items.next(), items.next(), items.next()) {
        (Some(Value::Keyword(attribute)), Some(value), None) => Ok(Ident {
            attribute: attribute.into_owned(),
            value: value.into_owned(),
        }),
        _ => Err(QueryError::NotAnElement(
            "a vector",
            "an ident is an attribute and a value: [:attr 1]",
        )),
    }
}

fn join(map: Map<'_>) -> Result<Element, QueryError> {
    let wrong = || QueryError::NotAnElement("a map", JOIN);
    let mut entries = map.into_iter();
    let (Some((head, Value::Vector(parts))), None) = (entries.next(), entries.next()) else {
        return Err(wrong());
    };
    let parts = elements(parts)?;
    match head {
        Value::Keyword(name) => Ok(Element::Join {
            name: name.into_owned(),
            params: None,
            parts,
        }),
        Value::Vector(items) => Ok(Element::IdentJoin {
            ident: ident(items)?,
            parts,
        }),
        Value::List(items) => match call(items)? {
            Element::Attribute { name, params } => Ok(Element::Join {
                name,
                params,
                parts,
            }),
            // The result of a mutation is given whole.
            Element::Mutation { name, params } => Ok(Element::Mutation { name, params }),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn call(items: Vec<Value<'_>>) -> Result<Element, QueryError> {
    let wrong = || QueryError::NotAnElement("a list", CALL);
    let mut items = items.into_iter();
    let head = items.next().ok_or_else(wrong)?;
    let params = match items.next() {
        None => Map::default(),
        Some(params) => match params.into_owned() {
            Value::Map(params) => params,
            _ => return Err(wrong()),
        },
    };
    if items.next().is_some() {
        return Err(wrong());
    }
    match head {
        Value::Keyword(name) => Ok(Element::Attribute {
            name: name.into_owned(),
            params: Some(params),
        }),
        Value::Symbol(name) => Ok(Element::Mutation {
            name: name.into_owned(),
            params,
        }),
        Value::Map(map) => match join(map)? {
            Element::Join { name, parts, .. } => Ok(Element::Join {
                name,
                params: Some(params),
                parts,
            }),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}
