//! Queries over what the program knows (section 12).
//!
//! What is known stands in tables of facts ([`table`]), one for each resolver; [`graph`] derives from
//! them who knows what. The [`Engine`] looks an attribute up in the entity it is asked of, else asks
//! the resolver that knows it, once per query and session. What nobody knows is left out of the
//! result.

pub(super) mod graph;
mod program;
pub(super) mod table;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use stentor_agent::memory::MemoryError;
use stentor_agent::session::SessionError;
use stentor_journal::store::StoreError;
use stentor_wire::edn::{Map, Value};
use stentor_wire::eql::{Element, Ident, Params, Query};

use super::live::PsiSession;
use super::shared::PsiShared;

use graph::{AskedOf, OF_SESSION, OF_STORED, Resolver, STORED_PATH, resolver_of};
use table::AttributeLookup;

/// The attribute that says which session something is asked of.
const SESSION_ID: &str = "psi.agent-session/session-id";

/// The attribute by which lists of sessions name them.
const LISTED_ID: &str = "psi.session-info/id";

/// How deep joins may nest.
const MAX_DEPTH: usize = 32;

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum EqlError {
    #[error("there is no mutation {0}")]
    NoMutation(String),
    #[error("the session cannot be asked: {0}")]
    Session(#[from] SessionError),
    #[error("the session cannot be loaded: {0}")]
    Loading(String),
    #[error("the notes cannot be read: {0}")]
    Memory(#[from] MemoryError),
    #[error("the stored session cannot be read: {0}")]
    Stored(#[from] StoreError),
    #[error("joins nest deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("an internal error while looking it up: {0}")]
    Inside(#[from] tokio::task::JoinError),
}

/// Answers one query.
pub(super) struct Engine<'a> {
    shared: &'a Arc<PsiShared>,
    focus: Option<Arc<PsiSession>>,
    /// What was asked already, by resolver and session.
    known: HashMap<(&'static str, Arc<str>), AttributeLookup>,
}

/// What attributes are asked of.
struct Entity {
    attributes: Map<'static>,
    live: Arc<PsiSession>,
    /// It is of a session that this process does not have: nobody here knows how that one is.
    is_elsewhere: bool,
    /// It is of this session and not of `live`: it is looked up when somebody must know.
    of: Option<Arc<str>>,
}

impl<'a> Engine<'a> {
    pub fn new(shared: &'a Arc<PsiShared>, focus: Option<Arc<PsiSession>>) -> Self {
        Self {
            shared,
            focus,
            known: HashMap::new(),
        }
    }

    /// The result: a map with what is known of what is asked for.
    pub async fn answer(
        &mut self,
        query: &Query,
        attributes: Map<'static>,
        live: &Arc<PsiSession>,
    ) -> Result<Value<'static>, EqlError> {
        let entity = Entity {
            attributes,
            live: Arc::clone(live),
            is_elsewhere: false,
            of: None,
        };
        self.select(query, &entity, 0).await
    }

    fn select<'b>(
        &'b mut self,
        query: &'b Query,
        entity: &'b Entity,
        depth: usize,
    ) -> BoxFuture<'b, Result<Value<'static>, EqlError>> {
        async move {
            if depth > MAX_DEPTH {
                return Err(EqlError::TooDeep);
            }
            let mut result = Map::default();
            for element in query {
                let (key, value) = match element {
                    Element::Attribute { name, params } => {
                        let value = self.look_up(name, params.as_ref(), entity).await?;
                        (Value::keyword(name.clone()), value)
                    }
                    Element::Join {
                        name,
                        params,
                        parts,
                    } => {
                        let value = match self.look_up(name, params.as_ref(), entity).await? {
                            Some(value) => Some(self.join(value, parts, entity, depth).await?),
                            None => None,
                        };
                        (Value::keyword(name.clone()), value)
                    }
                    Element::Ident { ident } => {
                        let found = self.named(ident, entity);
                        (key_of(ident), Some(Value::Map(found.attributes)))
                    }
                    Element::IdentJoin { ident, parts } => {
                        let found = self.named(ident, entity);
                        let value = self.select(parts, &found, depth + 1).await?;
                        (key_of(ident), Some(value))
                    }
                    Element::Mutation { name, .. } => {
                        return Err(EqlError::NoMutation(name.clone()));
                    }
                };
                // Asking twice for the same gives one entry.
                if let Some(value) = value
                    && result.get_value(&key).is_none()
                {
                    result.push(key, value);
                }
            }
            Ok(Value::Map(result))
        }
        .boxed()
    }

    /// Parts of a value, or of each item of a vector. What is no map is given as it is.
    async fn join(
        &mut self,
        mut value: Value<'static>,
        parts: &Query,
        entity: &Entity,
        depth: usize,
    ) -> Result<Value<'static>, EqlError> {
        let maps = match &mut value {
            Value::Vector(items) => items.as_mut_slice(),
            alone => std::slice::from_mut(alone),
        };
        for map in maps {
            if let Value::Map(attributes) = map {
                let entity = self.entity_of(std::mem::take(attributes), entity);
                *map = self.select(parts, &entity, depth + 1).await?;
            }
        }
        Ok(value)
    }

    /// A map inside the result: it may be of another session.
    fn entity_of(&self, attributes: Map<'static>, around: &Entity) -> Entity {
        let named = attributes
            .get(SESSION_ID)
            .or_else(|| attributes.get(LISTED_ID));
        let named = named.and_then(Value::as_str).map(Arc::<str>::from);
        let (of, is_elsewhere) = match named {
            Some(id) => (Some(Arc::clone(&id)), !self.shared.knows(&id)),
            None => (around.of.clone(), around.is_elsewhere),
        };
        Entity {
            attributes,
            live: Arc::clone(&around.live),
            is_elsewhere,
            of,
        }
    }

    fn named(&self, ident: &Ident, around: &Entity) -> Entity {
        let attribute = Value::keyword(ident.attribute.clone());
        let attributes = [(attribute, ident.value.clone())].into_iter().collect();
        self.entity_of(attributes, around)
    }

    async fn look_up(
        &mut self,
        name: &str,
        params: Option<&Params>,
        entity: &Entity,
    ) -> Result<Option<Value<'static>>, EqlError> {
        if let Some(value) = entity.attributes.get(name) {
            return Ok(Some(value.clone()));
        }
        let Some(Resolver { entry, ask }) = resolver_of(name) else {
            return Ok(None);
        };
        let needs_session = entry.input == OF_SESSION;
        if entity.is_elsewhere && needs_session {
            return Ok(None);
        }
        let path = entity.attributes.get(STORED_PATH).and_then(Value::as_str);
        let needs_path = entry.input == OF_STORED;
        if needs_path && path.is_none() {
            return Ok(None);
        }
        let of = entity.of.as_ref().unwrap_or(&entity.live.id);
        let key = (entry.symbol, Arc::clone(of));
        let params = params.filter(|params| !params.is_empty());
        // What is asked of the entity and not of its session, or asked for in particular, is not kept.
        let is_kept = params.is_none() && !needs_path;
        if let Some(known) = self.known.get(&key).filter(|_| is_kept) {
            return Ok(known(name));
        }
        let asked = AskedOf {
            shared: Arc::clone(self.shared),
            live: self.session_of(entity, needs_session).await?,
            focus: self.focus.clone(),
            path: path.unwrap_or_default().to_owned(),
            params: params.cloned(),
        };
        let known = ask(asked).await?;
        let value = known(name);
        if is_kept {
            self.known.insert(key, known);
        }
        Ok(value)
    }

    /// The session something is asked of. One that is not loaded is only if it must be.
    async fn session_of(
        &self,
        entity: &Entity,
        needs_session: bool,
    ) -> Result<Arc<PsiSession>, EqlError> {
        let of = entity.of.as_ref().filter(|id| **id != entity.live.id);
        match of.filter(|_| needs_session) {
            None => Ok(Arc::clone(&entity.live)),
            Some(id) => {
                let live = self.shared.live(id).await;
                let live = live.map_err(|error| EqlError::Loading(error.message))?;
                Ok(live.unwrap_or_else(|| Arc::clone(&entity.live)))
            }
        }
    }
}

fn key_of(ident: &Ident) -> Value<'static> {
    Value::Vector(vec![
        Value::keyword(ident.attribute.clone()),
        ident.value.clone(),
    ])
}
