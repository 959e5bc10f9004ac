//! Where one can log in: the providers of the catalogue and of the configuration that have a login.

use std::collections::HashMap;
use std::sync::Arc;

use super::Registry;
use crate::catalogue;
use crate::login::{LoginProvider, LoginStore, Logins};

impl Registry {
    /// The logins, to begin and end them.
    pub fn logins(&self) -> &Arc<Logins> {
        self.logins.get_or_init(|| {
            let mut providers: Vec<LoginProvider> = Vec::new();
            for known in catalogue::providers() {
                let configured = self.sources.providers.get(&known.id);
                let oauth = configured.and_then(|one| one.oauth.as_ref());
                if let Some(oauth) = oauth.or(known.oauth.as_ref()) {
                    providers.push(LoginProvider {
                        id: known.id.clone(),
                        name: known.name.clone(),
                        oauth: oauth.clone(),
                        ca_file: self.ca_file(&known.id),
                    });
                }
            }
            for (id, configured) in &self.sources.providers {
                let is_new = catalogue::provider(id).is_none();
                if let Some(oauth) = configured.oauth.as_ref().filter(|_| is_new) {
                    providers.push(LoginProvider {
                        id: id.clone(),
                        name: configured.name.clone().unwrap_or_else(|| id.clone()),
                        oauth: oauth.clone(),
                        ca_file: self.ca_file(id),
                    });
                }
            }
            let aliases: HashMap<String, String> = catalogue::providers()
                .iter()
                .filter_map(|known| Some((known.id.clone(), known.login_as.clone()?)))
                .collect();
            Arc::new(Logins::new(
                providers,
                aliases,
                LoginStore::new(&self.sources.credentials_file),
                Arc::clone(&self.http),
                Arc::clone(&self.sources.clock),
            ))
        })
    }
}
