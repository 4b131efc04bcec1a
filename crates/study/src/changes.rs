//! What of a study's scenarios is set from outside.

use serde::{Deserialize, Serialize};

/// What is set from outside, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// `KEY=VALUE`, a field path and its value each, as `Options::sets` of a scenario has them.
    pub fields: Vec<String>,
    /// The names of the settings whose scenarios have these values.
    pub settings: Vec<String>,
}
