//! What a client over HTTP is started with: its dialect by the path, the rest by the query.

use std::collections::BTreeMap;

use stentor_wire::attach::ClientHello;

use crate::connection::Access;

/// Where clients are that do not say it themselves, and what their environment is.
#[derive(Debug, Clone, Default)]
pub struct DefaultClientPlace {
    /// Absolute.
    pub cwd: String,
    pub env: BTreeMap<String, String>,
}

impl DefaultClientPlace {
    /// The client of a request: `?cwd=FOLDER&arg=--model&arg=NAME`, each flag a word.
    pub(super) fn client(&self, dialect: &str, query: Option<&str>, access: Access) -> ClientHello {
        let mut client = ClientHello {
            dialect: dialect.to_owned(),
            args: Vec::new(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            observe: access == Access::Observe,
            link: false,
            visits: false,
            begins: false,
        };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "cwd" => client.cwd = value.into_owned(),
                "arg" => client.args.push(value.into_owned()),
                _ => {}
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_where_and_how() {
        let place = DefaultClientPlace {
            cwd: "/srv".into(),
            env: BTreeMap::new(),
        };
        let query = "cwd=%2Fhome%2Fme&arg=--model&arg=a%20b&x=1";
        let client = place.client("acp", Some(query), Access::Drive);
        assert_eq!(client.cwd, "/home/me");
        assert_eq!(client.args, ["--model", "a b"]);
        assert!(place.client("page", None, Access::Observe).observe);
        assert_eq!(place.client("psi", None, Access::Drive).cwd, "/srv");
    }
}
