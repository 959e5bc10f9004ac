//! Models and how long they think (sections 10.1, 11.2 and 15).

use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_wire::edn::{EdnWriter, WriteEdn};

/// A model as the wire names one: provider and id.
pub struct ModelRef<'a>(pub &'a ModelInfo);

impl WriteEdn for ModelRef<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|map| {
            map.field("provider", &self.0.provider)
                .field("id", &self.0.id);
        });
    }
}

/// A model as the catalogue lists it.
pub struct CatalogEntry<'a>(pub &'a ModelInfo);

impl WriteEdn for CatalogEntry<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|map| {
            map.field("provider", &self.0.provider)
                .field("id", &self.0.id)
                .field("name", &self.0.name)
                .field("reasoning", &self.0.reasoning);
        });
    }
}

impl<'a> CatalogEntry<'a> {
    pub fn all(models: &'a [Arc<ModelInfo>]) -> Vec<Self> {
        models.iter().map(|model| Self(model)).collect()
    }
}

/// The effort that a level means for a model; none when it does not think. The highest level is
/// only told of models that have it (section 19).
pub fn effort(model: Option<&ModelInfo>, level: ThinkingLevel) -> Option<&'static str> {
    let model = model.filter(|model| model.reasoning)?;
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Xhigh if !model.levels().contains(&ThinkingLevel::Xhigh) => {
            Some(ThinkingLevel::High.as_str())
        }
        level => Some(level.as_str()),
    }
}

/// `(provider) id`, and how long it thinks if it can.
pub fn label(model: &ModelInfo, level: ThinkingLevel) -> String {
    let mut label = format!("({}) {}", model.provider, model.id);
    if model.reasoning {
        label.push_str(" • thinking ");
        label.push_str(effort(Some(model), level).unwrap_or(level.as_str()));
    }
    label
}
