//! The providers that the user has added: they are asked which models they have, and those that do
//! not tell come with the reason.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use stentor_agent::model::NamedBy;

use super::model_list::ListForm;
use super::provider_lists::{LIMIT, ModelListRequest, ModelListResult};
use super::providers::Provider;
use super::{ListedModel, Registry};
use crate::catalogue;
use crate::hosted::is_hosted;
use crate::login::LoginError;
use crate::wire::Wire;

/// A session that begins waits no longer for a provider that might have its model. A server that
/// answers does so in a fraction of this; one that hangs must not hold up a client.
const PATIENCE_OF_CHOICE: Duration = Duration::from_secs(1);

/// A provider that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentProvider {
    pub id: String,
    pub reason: String,
}

/// Why a provider cannot be asked for its models.
#[derive(Debug, thiserror::Error)]
enum NotAskable {
    #[error("it has no `base_url`")]
    NoAddress,
    #[error("its API `{api}` is not supported; use {known}")]
    UnknownApi { api: String, known: String },
    #[error("its API `{api}` has no list of models: name them in [[providers.{id}.models]]")]
    NoList { api: String, id: String },
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error("{hint}, or store a key with `stentor login {id} --key`")]
    NoCredentials { hint: String, id: String },
}

impl Registry {
    /// Every model there is, for who looks at all of them: every provider that the user has
    /// configured is asked, and those that do not tell come with the reason. Waits for the network.
    pub fn list_asking(&self) -> (Vec<ListedModel>, Vec<SilentProvider>) {
        let answers = self.ask(self.configured(), LIMIT);
        let listed = self.list_knowing(&self.local.providers(), NamedBy::User, &answers);
        let has_models = |id: &str| listed.iter().any(|listed| listed.info.provider == id);
        let without = self.configured().filter(|one| !has_models(&one.id));
        let mut silent: Vec<_> = without
            .filter_map(|one| self.silence_of(one, answers.get(&one.id)))
            .collect();
        silent.sort_by(|one, other| one.id.cmp(&other.id));
        (listed, silent)
    }

    /// Asks the providers of which it is not known which models they have, or what they hold; of
    /// those `named` alone, if only they matter. Waits for the network.
    pub fn ask_configured(&self, named: Option<&[&str]>) {
        let is_named = |one: &&Provider| named.is_none_or(|named| named.contains(&&*one.id));
        self.ask(self.unknown().filter(is_named), LIMIT);
    }

    /// True when there may be models of this provider, on the network or part of this program.
    pub fn has_provider(&self, provider: &str) -> bool {
        let plugged = self.sources.plugged.iter();
        let mut plugged = plugged.flat_map(|plugged| plugged.models());
        self.knows_provider(provider) || plugged.any(|info| info.provider == provider)
    }

    /// The providers of which it is not known which models they have, or what they hold.
    fn unknown(&self) -> impl Iterator<Item = &Provider> {
        self.configured().filter(|one| {
            // Of a hosted model it is known well enough what it holds.
            let is_own = !is_hosted(&one.base_url);
            one.models.is_empty() || (is_own && !one.unknown_windows.is_empty())
        })
    }

    pub(super) fn ask_unknown(&self) -> HashMap<String, ModelListResult> {
        let mut answers = self.ask(self.unknown(), LIMIT);
        // What somebody has described may be there by the time it is used.
        for described in self.configured().filter(|one| !one.models.is_empty()) {
            if answers.get(&described.id).is_some_and(Result::is_err) {
                answers.remove(&described.id);
            }
        }
        answers
    }

    /// Asks the providers whose models nobody has described, for who chooses one of them.
    pub(super) fn ask_for_choice(&self) -> HashMap<String, ModelListResult> {
        let only_by_name = &self.sources.only_by_name;
        let unknown = self
            .configured()
            .filter(|one| one.models.is_empty() && !only_by_name.contains(&one.id));
        self.ask(unknown, PATIENCE_OF_CHOICE)
    }

    /// Why a provider does not tell which models it has, when this is what it said; `None` when it
    /// does.
    pub(super) fn silence_of(
        &self,
        provider: &Provider,
        answer: Option<&ModelListResult>,
    ) -> Option<SilentProvider> {
        let reason = match self.question(provider) {
            Err(why) => why.to_string(),
            Ok(_) => match answer? {
                Err(why) => why.clone(),
                Ok(said) if said.is_empty() => "it has no models".to_owned(),
                Ok(_) => return None,
            },
        };
        Some(SilentProvider {
            id: provider.id.clone(),
            reason,
        })
    }

    /// The same provider with what it says of its models, if it has been asked.
    pub(super) fn with_models<'a>(&self, provider: &'a Provider) -> Cow<'a, Provider> {
        match self.asked.remembered(&provider.id) {
            Some(Ok(said)) => Cow::Owned(Provider {
                models: provider.models_with(&said),
                ..provider.clone()
            }),
            Some(Err(_)) | None => Cow::Borrowed(provider),
        }
    }

    /// The providers that the user has added, here or for another program.
    fn configured(&self) -> impl Iterator<Item = &Provider> {
        let providers = self.providers().iter();
        providers.filter(|provider| catalogue::provider(&provider.id).is_none())
    }

    fn ask<'a>(
        &self,
        providers: impl Iterator<Item = &'a Provider>,
        patience: Duration,
    ) -> HashMap<String, ModelListResult> {
        let questions = providers.filter_map(|provider| self.question(provider).ok());
        self.asked.ask(questions.collect(), patience)
    }

    /// What a provider is asked with, or why it cannot be asked.
    fn question(&self, provider: &Provider) -> Result<ModelListRequest, NotAskable> {
        let (id, api) = (provider.id.clone(), provider.api.clone());
        if provider.base_url.is_empty() {
            return Err(NotAskable::NoAddress);
        }
        let Some(wire) = Wire::from_api(&api) else {
            let known: Vec<&str> = Wire::ALL.into_iter().map(Wire::api).collect();
            let known = known.join(", ");
            return Err(NotAskable::UnknownApi { api, known });
        };
        let Some(form) = ListForm::of(wire) else {
            return Err(NotAskable::NoList { api, id });
        };
        match self.credentials(provider)? {
            None => Err(NotAskable::NoCredentials {
                hint: provider.hint.clone(),
                id,
            }),
            credentials => Ok(ModelListRequest {
                provider: provider.clone(),
                form,
                credentials,
            }),
        }
    }
}
