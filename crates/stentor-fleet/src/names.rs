//! What the subjects, streams and buckets of a fleet are called. All of them carry its prefix and
//! its tenant, so that several fleets and several tenants can share an account.

use crate::error::FleetError;

/// The longest prefix, tenant, place or node name.
const MAX_BYTES: usize = 64;

/// The names of one tenant in one fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantNames {
    prefix: String,
    tenant: String,
}

impl TenantNames {
    /// The names below a prefix and a tenant.
    pub fn new(prefix: &str, tenant: &str) -> Result<Self, FleetError> {
        Ok(Self {
            prefix: checked("prefix", prefix)?,
            tenant: checked("tenant", tenant)?,
        })
    }

    /// A subject: `PREFIX.TENANT.PART.PART`. Each part is one token.
    pub fn subject(&self, parts: &[&str]) -> String {
        let mut subject = format!("{}.{}", self.prefix, self.tenant);
        for part in parts {
            subject.push('.');
            subject.push_str(part);
        }
        subject
    }

    /// A stream or a bucket: `PREFIX_TENANT_WHAT`.
    pub fn bucket(&self, what: &str) -> String {
        format!("{}_{}_{what}", self.prefix, self.tenant)
    }

    /// Whose names they are.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// What the subjects of answers begin with: nobody else need listen there.
    pub fn inbox(&self) -> String {
        format!("_INBOX.{}.{}", self.prefix, self.tenant)
    }

    /// The streams in which nothing may be lost.
    pub fn durable_streams(&self) -> [String; 3] {
        [
            self.bucket("journals"),
            format!("KV_{}", self.bucket("sessions")),
            format!("OBJ_{}", self.bucket("pictures")),
        ]
    }

    /// The subjects with the journals of all sessions.
    pub fn journal_subjects(&self) -> String {
        self.subject(&["journal", "*"])
    }

    /// The subject with the journal of a session.
    pub fn journal(&self, session_id: &str) -> String {
        self.subject(&["journal", &token(session_id)])
    }
}

/// A session's id as one token of a subject and as a key of a bucket: ids may contain dots, which
/// separate tokens, and never `=`.
pub fn token(session_id: &str) -> String {
    session_id.replace('.', "=")
}

/// The session's id that a token stands for.
pub fn session_id(token: &str) -> String {
    token.replace('=', ".")
}

/// A name that can be a token of a subject, a part of a bucket's name and a key.
pub fn checked(what: &'static str, name: &str) -> Result<String, FleetError> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match !name.is_empty() && name.len() <= MAX_BYTES && name.bytes().all(is_fine) {
        true => Ok(name.to_owned()),
        false => Err(FleetError::BadName {
            what,
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_buckets_carry_prefix_and_tenant() {
        let names = TenantNames::new("stentor", "acme").unwrap();
        assert_eq!(names.journal("a.b-c"), "stentor.acme.journal.a=b-c");
        assert_eq!(names.bucket("nodes"), "stentor_acme_nodes");
        assert_eq!(session_id(&token("a.b-c")), "a.b-c");
    }

    #[test]
    fn a_name_that_would_reach_other_subjects_is_refused() {
        for name in ["", "a.b", "*", ">", "a b", "ä", &"x".repeat(65)] {
            assert!(TenantNames::new(name, "acme").is_err(), "{name}");
            assert!(TenantNames::new("stentor", name).is_err(), "{name}");
        }
    }
}
