//! What the front end must be told about tables and files; the engine implements it.

use plan::{FileSource, TableId};
use types::{Result, Schema};

/// A table as names are resolved against it. Key columns are positions in `columns`.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationInfo {
    pub id: TableId,
    pub name: String,
    pub columns: Schema,
    pub primary_key: Option<Vec<usize>>,
    pub unique: Vec<Vec<usize>>,
}

/// One statement's view of the catalog. `Sync`, because a deeply nested statement is planned on a thread with a larger
/// stack.
pub trait Relations: Sync {
    /// The table of that name; `schema` is absent when the text had none. Names are already folded to lower case where
    /// they were not quoted.
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<RelationInfo>>;
    /// A file, or several by a pattern, as a relation. Options are those of COPY and of table functions, in lower case.
    fn file(&self, path: &str, options: &[(String, String)]) -> Result<FileSource>;
    /// Names that can be queried, for "did you mean".
    fn table_names(&self) -> Vec<String>;
}
