//! Names of the calls that the converter makes of what the binder's tree has no node for; none can be written.

/// The function that `FROM (DESCRIBE ...)` is made into; no name that can be written.
pub(crate) const ROWS_OF: &str = "rows of a statement";
/// What `LIMIT n%` is made into a call of; no name that can be written.
pub(crate) const PERCENT: &str = "percent of rows";
/// What `*COLUMNS(...)` is made into a call of, where it is an argument.
pub(crate) const UNPACKED: &str = "columns as arguments";
/// The function that they are made into; no name that can be written.
pub(crate) const PIVOT_OF: &str = "pivot of a statement";
/// What THEN ERROR gives its message to.
pub(crate) const REFUSAL: &str = "merge error";
/// What stands for all columns of the target, which get those of the source by their places, or by their names.
pub(crate) const EVERY: &str = "every column";
pub(crate) const EVERY_BY_NAME: &str = "every column by name";
/// What `value IN list` is made into a call of, the list first.
pub(crate) const IN_LIST: &str = "value in list";
/// How the name of `#2` is quoted.
pub(crate) const POSITIONAL: char = '#';
