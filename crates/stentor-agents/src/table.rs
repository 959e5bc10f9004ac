//! What is lost behind each dialect, as a table for the documentation.

use std::fmt::Write;

use stentor_client::{AgentDialect, Feature};

/// The table, in Markdown.
pub fn support_table() -> String {
    let mut table = "| |".to_owned();
    for dialect in AgentDialect::ALL {
        // Writing to a string cannot fail.
        let _ = write!(table, " {dialect} |");
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for feature in Feature::ALL {
        let _ = write!(table, "| {} |", feature.title());
        for dialect in AgentDialect::ALL {
            let _ = write!(table, " {} |", feature.support_in(dialect).cell());
        }
        table.push('\n');
    }
    table
}
