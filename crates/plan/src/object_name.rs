//! The name of an object as a statement says it, and what a statement does where the name is taken.

use serde::{Deserialize, Serialize};

/// What creating does when the name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IfExists {
    /// The statement fails.
    #[default]
    Error,
    /// IF NOT EXISTS.
    Keep,
    /// OR REPLACE.
    Replace,
}

/// A possibly qualified name; `schema` is `None` when the text had none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectName {
    /// The schema; `None` to use the search path.
    pub schema: Option<String>,
    /// The name within the schema.
    pub name: String,
}
