//! What the client offers to do itself (section 21).

use serde::Serialize;
use stentor_wire::omp::command::{SetHostTools, SetHostUriSchemes};

use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandOutcome};

/// `set_host_tools`: they are there before the next model call.
pub(super) async fn tools(dialect: &OmpDialect, offered: SetHostTools) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct TakenTools {
        tool_names: Vec<String>,
    }
    dialect.agent.may_drive()?;
    let tool_names = dialect.hosting.set_tools(offered.tools)?;
    dialect.hosting.equip(dialect).await;
    AnswerData::of(&TakenTools { tool_names })
}

/// `set_host_uri_schemes`.
pub(super) async fn schemes(dialect: &OmpDialect, offered: SetHostUriSchemes) -> CommandOutcome {
    #[derive(Serialize)]
    struct TakenSchemes {
        schemes: Vec<String>,
    }
    dialect.agent.may_drive()?;
    let schemes = dialect.hosting.set_schemes(offered.schemes)?;
    dialect.hosting.equip(dialect).await;
    AnswerData::of(&TakenSchemes { schemes })
}
