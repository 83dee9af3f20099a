//! Names of the calls and columns that the converter makes of syntax that the binder's tree has no node for. SQL can
//! write none of these names without quotes.

/// The function that `FROM (DESCRIBE ...)` is made into; its argument is the statement's text.
pub(crate) const ROWS_OF: &str = "rows of a statement";
/// The function that `LIMIT n%` is made into a call of.
pub(crate) const PERCENT: &str = "percent of rows";
/// The function that `*COLUMNS(...)` is made into a call of, where it is an argument.
pub(crate) const UNPACKED: &str = "columns as arguments";
/// The function that PIVOT and UNPIVOT statements are made into.
pub(crate) const PIVOT_OF: &str = "pivot of a statement";
/// The internal column that MERGE's THEN ERROR assigns its message to.
pub(crate) const REFUSAL: &str = "merge error";
/// Stands for all columns of MERGE's target, which get the columns of the source by position.
pub(crate) const EVERY: &str = "every column";
/// As `EVERY`, by name.
pub(crate) const EVERY_BY_NAME: &str = "every column by name";
/// The function that `value IN list` is made into a call of, the list first.
pub(crate) const IN_LIST: &str = "value in list";
/// How the name of `#2` is quoted.
pub(crate) const POSITIONAL: char = '#';
