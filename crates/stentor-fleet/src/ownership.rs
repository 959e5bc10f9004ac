//! Who should write to a session: its record in the directory, changed only by who has seen it last.

use std::time::Duration;

use bytes::Bytes;

use crate::bucket;
use crate::directory::{SessionActivity, SessionRecord};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::names::token;
use crate::nodes::NodeId;
use crate::sequence::{AppendRefusal, misplaced};

/// How often a session is claimed whose record changes meanwhile.
const CLAIM_TRIES: usize = 20;
const CLAIM_PAUSE: Duration = Duration::from_millis(10);

/// A record of the directory with the revision at which it was read or written.
#[derive(Debug, Clone)]
pub struct HeldRecord {
    pub record: SessionRecord,
    pub revision: u64,
}

/// A session that was claimed.
#[derive(Debug, Clone)]
pub struct ClaimedRecord {
    pub held: HeldRecord,
    /// What its record is to say if this node does not open it after all.
    pub unopened: SessionRecord,
}

/// On whose behalf a session is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// A client opens it here. A node that should take it goes first.
    ForClient,
    /// It is the turn of this node.
    InTurn,
}

/// Why a record was not changed.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// Another node owns the session.
    #[error("node `{}` has it open", .0.name)]
    OwnedBy(NodeId),
    /// Another node is about to take it.
    #[error("it moves to the node `{0}`")]
    Wanted(String),
    /// Somebody else was quicker; who it is can be read again.
    #[error("another node has just taken it")]
    Raced,
    /// Another change is under way; whether it arrives is not known yet.
    #[error("its record is being changed; try again")]
    Contested,
    #[error("the fleet does not know it")]
    Unknown,
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl Fleet {
    /// The record of a session as the servers have it.
    pub async fn read_record(&self, id: &str) -> Result<Option<HeldRecord>, FleetError> {
        let found = bucket::read(self.session_bucket(), &token(id)).await?;
        Ok(found.map(|(revision, record)| HeldRecord { record, revision }))
    }

    /// Enters a new session, which nobody else may have entered.
    pub async fn enter(&self, record: SessionRecord) -> Result<HeldRecord, NotHeld> {
        // A key that was deleted is as good as none.
        let created = self
            .session_bucket()
            .create(token(&record.id), encoded(&record)?)
            .await;
        match created {
            Ok(revision) => {
                self.note_session(revision, record.clone());
                Ok(HeldRecord { record, revision })
            }
            // The answer to an earlier try may have been lost.
            Err(why) => match self.read_record(&record.id).await? {
                Some(held) if held.record == record => Ok(held),
                Some(held) => Err(owned_by(&held.record)),
                None => Err(FleetError::nats("enter a session into its directory")(why).into()),
            },
        }
    }

    /// Changes a record that nobody else has changed since it was read.
    pub async fn change(
        &self,
        held: &HeldRecord,
        record: SessionRecord,
    ) -> Result<HeldRecord, NotHeld> {
        let changed = self
            .session_bucket()
            .update(token(&record.id), encoded(&record)?, held.revision)
            .await;
        match changed {
            Ok(revision) => {
                self.note_session(revision, record.clone());
                Ok(HeldRecord { record, revision })
            }
            Err(why) if misplaced(&why) == Some(AppendRefusal::Contested) => {
                Err(NotHeld::Contested)
            }
            Err(why) => match self.read_record(&record.id).await? {
                Some(found) if found.record == record => Ok(found),
                Some(found) if found.revision == held.revision => {
                    Err(FleetError::nats("change its directory")(why).into())
                }
                Some(found) => Err(owned_by(&found.record)),
                None => Err(NotHeld::Unknown),
            },
        }
    }

    /// Makes this node the owner of a session that has none that is there.
    pub async fn claim(&self, id: &str, claim: Claim) -> Result<ClaimedRecord, NotHeld> {
        for _ in 0..CLAIM_TRIES {
            let held = self.read_record(id).await?.ok_or(NotHeld::Unknown)?;
            if let Some(owner) = &held.record.owner
                && owner != self.this_node()
                && self.is_there_now(owner).await?
            {
                return Err(NotHeld::OwnedBy(owner.clone()));
            }
            if let (Some(wanted), Claim::ForClient) = (&held.record.wanted, claim)
                && *wanted != self.this_node().name
                && self.nodes().iter().any(|node| node.id.name == *wanted)
            {
                return Err(NotHeld::Wanted(wanted.clone()));
            }
            let record = SessionRecord {
                owner: Some(self.this_node().clone()),
                state: SessionActivity::Idle,
                wanted: None,
                ..held.record.clone()
            };
            // Its former owner may just have noted something, or released it.
            match self.change(&held, record).await {
                Err(NotHeld::Raced | NotHeld::Contested | NotHeld::OwnedBy(_)) => {}
                Err(why) => return Err(why),
                Ok(changed) => {
                    return Ok(ClaimedRecord {
                        held: changed,
                        unopened: unopened(held.record),
                    });
                }
            }
            tokio::time::sleep(CLAIM_PAUSE).await;
        }
        Err(NotHeld::Raced)
    }

    /// Removes a session from the directory.
    pub async fn strike(&self, id: &str) -> Result<(), FleetError> {
        let struck = self.session_bucket().purge(token(id)).await;
        struck.map_err(FleetError::nats("remove a session from its directory"))?;
        self.forget_session(id);
        Ok(())
    }
}

/// The record of a session that was claimed and not opened: as it was before, without an owner. One that
/// was open is somebody else's turn.
fn unopened(before: SessionRecord) -> SessionRecord {
    let state = match before.is_moving() {
        true => SessionActivity::HandedOver,
        false => before.state,
    };
    SessionRecord {
        owner: None,
        wanted: None,
        state,
        ..before
    }
}

fn owned_by(record: &SessionRecord) -> NotHeld {
    match &record.owner {
        Some(owner) => NotHeld::OwnedBy(owner.clone()),
        None => NotHeld::Raced,
    }
}

fn encoded(record: &SessionRecord) -> Result<Bytes, FleetError> {
    let text = serde_json::to_vec(record).map_err(FleetError::nats("write its directory"))?;
    Ok(Bytes::from(text))
}
