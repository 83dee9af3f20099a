//! What the front end must be told about tables and files; the engine implements it.
//!
//! `Relations` is one statement's view of the catalog, the session's settings and the host's objects. Most methods
//! have a default for callers without that part, such as tests. Names arrive folded to lower case unless they were
//! quoted. A schema argument of None means that the name had no schema; methods that look names up then search the
//! session's path.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use access::{PolicyCommand, Privilege, RoleId};
use plan::{External, ExternalFunction, FileFormat, FileSource, TableId};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};

/// A table as names are resolved against it. Key columns are positions in `columns`.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationInfo {
    /// Identifies the table to the executor, and in plans.
    pub id: TableId,
    /// The table's name without its schema.
    pub name: String,
    /// Names, types and nullability, in the table's order.
    pub columns: Schema,
    /// The key columns; `None` without a primary key.
    pub primary_key: Option<Vec<usize>>,
    /// The columns of each UNIQUE constraint, the primary key excluded.
    pub unique: Vec<Vec<usize>>,
    /// By column, whether it has NULLs now: what is not declared NOT NULL may be planned as if it were. Empty where
    /// that is not known.
    pub has_nulls: Vec<bool>,
    /// By column, the text of its DEFAULT.
    pub defaults: Vec<Option<String>>,
    /// By column, the expression over the others that it is GENERATED ALWAYS AS; empty where no column is.
    pub generated: Vec<Option<String>>,
}

impl RelationInfo {
    /// Whether the column is computed from others.
    pub(crate) fn is_generated(&self, column: usize) -> bool {
        self.generated.get(column).is_some_and(Option::is_some)
    }

    /// The columns that a statement may give values for.
    pub(crate) fn given_columns(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|at| !self.is_generated(*at)).collect()
    }

    /// GENERATED ALWAYS AS IDENTITY.
    pub(crate) fn is_always_generated(&self, column: usize) -> bool {
        let default = self.defaults.get(column).and_then(Option::as_deref);
        default.is_some_and(|text| text.ends_with(plan::modification::ALWAYS))
    }
}

/// What `CREATE TABLE (LIKE table)` may take along, besides what `RelationInfo` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableParts {
    /// The name and the condition of each CHECK, as SQL.
    pub checks: Vec<(String, String)>,
    /// PRIMARY KEY and UNIQUE, as CREATE TABLE has them, without names.
    pub keys: Vec<String>,
    /// The name of an index that no key made, if there is one.
    pub index: Option<String>,
    /// By column, its comment.
    pub comments: Vec<Option<String>>,
}

/// A condition that rows must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPolicy {
    /// Over the table's columns, as SQL.
    pub condition: String,
    /// Who owns the table, and so has written it.
    pub owner: RoleId,
}

/// A view: the text of its query, and the names of its first columns where they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewInfo {
    /// Names of the first columns; further columns keep the names of the query.
    pub columns: Vec<String>,
    /// The query, as SQL.
    pub text: String,
    /// The schema in which names of the text are looked for first; `None` for the default one.
    pub schema: Option<String>,
}

/// A macro: an expression, or with `table` a query, over its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroInfo {
    /// The parameters' names, with `name := default` where one has a default.
    pub parameters: Vec<String>,
    /// The body, as SQL: an expression, or a query if `table` is set.
    pub text: String,
    /// Whether the macro stands in FROM and returns rows.
    pub table: bool,
}

/// The name under which the form of that number is kept, from 1: the first under the macro's own.
pub fn form_name(name: &str, number: usize) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}/{number}") }
}

/// Where NULLs stand in a sort that does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullOrder {
    /// As if they were larger than everything: last, and first in descending order.
    #[default]
    Largest,
    /// As if they were smaller than everything: first, and last in descending order.
    Smallest,
    /// First in both directions.
    First,
    /// Last in both directions.
    Last,
}

impl NullOrder {
    /// The values of the setting `default_null_order`, in the order of the variants.
    pub const NAMES: [&str; 4] =
        ["nulls_last_on_asc_first_on_desc", "nulls_first_on_asc_last_on_desc", "nulls_first", "nulls_last"];
    const ALL: [NullOrder; 4] = [NullOrder::Largest, NullOrder::Smallest, NullOrder::First, NullOrder::Last];

    /// The order of one of `NAMES`, or of the system that sorts so (`postgres`, `sqlite`); `None` for another text.
    pub fn named(text: &str) -> Option<NullOrder> {
        let text = text.trim().to_ascii_lowercase().replace(' ', "_");
        let name = match text.as_str() {
            "postgres" | "postgresql" => Self::NAMES[0],
            "sqlite" | "mysql" => Self::NAMES[1],
            "first" => Self::NAMES[2],
            "last" => Self::NAMES[3],
            other => other,
        };
        Self::NAMES.iter().position(|known| *known == name).map(|at| Self::ALL[at])
    }

    /// The value of the setting `default_null_order` that selects this order.
    pub fn name(self) -> &'static str {
        Self::NAMES[Self::ALL.iter().position(|order| *order == self).unwrap_or(0)]
    }

    /// Whether NULLs come first in a sort of this direction.
    pub fn first(self, descending: bool) -> bool {
        match self {
            NullOrder::Largest => descending,
            NullOrder::Smallest => !descending,
            NullOrder::First => true,
            NullOrder::Last => false,
        }
    }
}

/// What a function that lists the catalog gives.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemRows {
    /// Names and types of the rows.
    pub columns: Schema,
    /// One value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// The system's time in microseconds since 1970; 0 for times before.
pub fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A random number, from the seed of the standard library's hash maps.
pub fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// One statement's view of the catalog. `Sync`, because a deeply nested statement is planned on a thread with a
/// larger stack.
pub trait Relations: Sync {
    /// The table of that name; `schema` is absent when the text had none. Names are already folded to lower case
    /// where they were not quoted.
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<RelationInfo>>;
    /// A file, or several by a pattern, as a relation. Options are those of COPY and of table functions, in lower
    /// case.
    fn file(&self, path: &str, options: &[(String, String)]) -> Result<FileSource>;
    /// Stores what COPY ... FROM STDIN reads, which is of this format, and returns the path to read it from.
    fn standard_input(&self, format: &str) -> Result<String> {
        Err(Error::unsupported(format!("there is no standard input with {format} here")))
    }
    /// As `file`, for COPY: text is read with the types of `table`, the columns that the file's fill, in its order.
    fn file_as(&self, path: &str, options: &[(String, String)], table: &Schema) -> Result<FileSource> {
        let mut file = self.file(path, options)?;
        let text = matches!(file.format, FileFormat::Csv | FileFormat::Tbl);
        if text && file.schema.len() == table.len() {
            let fields = file.schema.fields().iter().zip(table.fields());
            file.schema = Schema::new(fields.map(|(f, t)| Field::new(&f.name, t.ty, true)).collect());
        }
        Ok(file)
    }
    /// The dialect and columns that a CSV file is found to have: the row of `sniff_csv`.
    fn sniffed(&self, _path: &str, _options: &[(String, String)]) -> Result<SystemRows> {
        Err(types::Error::unsupported("sniff_csv is not supported here"))
    }
    /// The number of rows of a table, for estimates; `None` where it is unknown.
    fn rows(&self, _table: TableId) -> Option<u64> {
        None
    }
    /// The columns of a table's unique constraint of that name; `None` when there is no such constraint.
    fn unique_constraint(&self, _table: TableId, _name: &str) -> Option<Vec<usize>> {
        None
    }
    /// What a table that is made like this one may have as well.
    fn table_parts(&self, _table: TableId) -> Result<TableParts> {
        Ok(TableParts::default())
    }
    /// The view of that name; `None` when there is none.
    fn view(&self, _schema: Option<&str>, _name: &str) -> Option<ViewInfo> {
        None
    }
    /// The owner of a view, under whose privileges its query runs, and its schema and name; `None` for views that are no
    /// objects of the database, which run under the session's.
    fn view_owner(&self, _schema: Option<&str>, _name: &str) -> Option<(RoleId, (String, String))> {
        None
    }
    /// Fails where a role may not do this with these columns of a relation, or without columns with the relation; `None`
    /// is the session's role.
    fn check_use(
        &self,
        _used: &Used,
        _privilege: Privilege,
        _columns: &[&str],
        _role: Option<RoleId>,
    ) -> Result<()> {
        Ok(())
    }
    /// The condition on rows that a command may see of a table, where row policies hold for a role.
    fn row_policy(
        &self,
        _table: TableId,
        _command: PolicyCommand,
        _role: Option<RoleId>,
    ) -> Result<Option<RowPolicy>> {
        Ok(None)
    }
    /// From here on a text of this role's is bound: the session's own macros do not stand in for the functions that it
    /// means, where it is another role. Returns what held before.
    fn hide_own_names(&self, _owner: RoleId) -> bool {
        true
    }
    /// Whether the session's own macros are found.
    fn own_names(&self) -> bool {
        true
    }
    /// Says whether they are.
    fn show_own_names(&self, _shown: bool) {}
    /// Fails where the session's role may not call the macro of that name.
    fn check_macro(&self, _schema: Option<&str>, _name: &str) -> Result<()> {
        Ok(())
    }
    /// Fails where the session's role may not call the host's function of that name.
    fn check_host_function(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// The forms of the macro of that name, which differ in their parameters; empty when there is none.
    fn macro_named(&self, _schema: Option<&str>, _name: &str) -> Vec<MacroInfo> {
        vec![]
    }
    /// The type that CREATE TYPE has given this name; `None` when there is none.
    fn type_named(&self, _schema: Option<&str>, _name: &str) -> Option<Type> {
        None
    }
    /// The names of the types made by CREATE TYPE: those of a schema, or of the schemas that names without one are
    /// looked up in.
    fn type_names(&self, _schema: Option<&str>) -> Vec<String> {
        vec![]
    }
    /// The value and type that SET VARIABLE has set; `None` for an unknown variable.
    fn variable(&self, _name: &str) -> Option<(Value, Type)> {
        None
    }
    /// The function that the host program registered under that name.
    fn external(&self, _name: &str) -> Option<External> {
        None
    }
    /// The forms of a function of `pg_catalog`; a cast to `regclass` or kin goes by the name `::regclass`.
    fn catalog_functions(&self, _name: &str) -> Vec<Arc<ExternalFunction>> {
        vec![]
    }
    /// Rows that the host program holds under a name; asked where no table has it.
    fn object(&self, _name: &str) -> Option<FileSource> {
        None
    }
    /// The rows of a table function that lists the catalog, such as `quickstep_tables`; `None` when there is none of
    /// that name.
    fn system(&self, _function: &str) -> Result<Option<SystemRows>> {
        Ok(None)
    }
    /// The rows of a query that the statement's columns depend on: the values that PIVOT makes columns of.
    fn answer(&self, _query: &str) -> Result<SystemRows> {
        Err(Error::unsupported("PIVOT must be given its values here").with_hint("write ON k IN ('a', 'b')"))
    }
    /// The rows of a table function of the system with arguments, such as `which_secret`; `None` when there is none
    /// of that name.
    fn system_of(&self, _function: &str, _arguments: &[Value]) -> Result<Option<SystemRows>> {
        Ok(None)
    }
    /// Whether a subquery in the place of a value fails where it gives several rows; else its first row is taken.
    fn refuses_several_rows(&self) -> bool {
        true
    }
    /// Where NULLs stand in a sort that does not say it.
    fn null_order(&self) -> NullOrder {
        NullOrder::default()
    }
    /// By what texts are compared that have no collation of their own.
    fn default_collation(&self) -> types::Collation {
        types::Collation::BINARY
    }
    /// The schema of new tables whose names have none.
    fn current_schema(&self) -> String {
        "main".to_owned()
    }
    /// How other methods are told a schema that stands before a name, `database` before it if that is written too. A
    /// name alone may be that of a database, whose default schema is meant then.
    fn schema_key(&self, database: Option<&str>, schema: &str) -> Result<String> {
        match database {
            None | Some("memory") => Ok(schema.to_owned()),
            Some(other) => {
                let message = format!("database \"{other}\" does not exist");
                Err(Error::new(SqlState::UndefinedDatabase, message))
            }
        }
    }
    /// As `schema_key`, for a schema that is to be created or dropped: a name alone is never a database.
    fn schema_to_change(&self, database: Option<&str>, schema: &str) -> Result<String> {
        self.schema_key(database, schema)
    }
    /// The database and the schema that a key of `schema_key` means.
    fn database_and_schema(&self, key: &str) -> (String, String) {
        ("memory".to_owned(), key.to_owned())
    }
    /// The database of that name, in its own spelling; `None` when there is none.
    fn database_named(&self, name: &str) -> Option<String> {
        (name == "memory").then(|| name.to_owned())
    }
    /// The user that `current_user` returns.
    fn current_user(&self) -> String {
        "quickstep".to_owned()
    }
    /// The user that `session_user` returns.
    fn session_user(&self) -> String {
        self.current_user()
    }
    /// From now on names without a schema are looked for here and then in the default schema. Returns where they were
    /// looked for before, to be handed back: texts of views and defaults do not mean what the session's names mean.
    fn search_in(&self, _schemas: Vec<String>) -> Vec<String> {
        vec![]
    }
    /// The time of the statement, in microseconds since 1970: asked at most once, where the text has
    /// `statement_timestamp()`, or `now()` outside of a transaction block.
    fn moment(&self) -> i64 {
        clock()
    }
    /// When the transaction block began that the statement runs in: what `now()` and the like are there.
    fn transaction_moment(&self) -> Option<i64> {
        None
    }
    /// A random number for samples without a seed: a different one for each run of the statement.
    fn seed(&self) -> u64 {
        chance()
    }
    /// The names of the functions that `system` answers.
    fn system_functions(&self) -> &'static [&'static str] {
        &[]
    }
    /// The tables, views and sequences of a schema, or of the schemas that names without one are looked up in.
    fn names_in(&self, _schema: Option<&str>) -> Vec<String> {
        self.table_names()
    }
    /// The names of all schemas.
    fn schema_names(&self) -> Vec<String> {
        vec![]
    }
    /// Names that can be queried, for "did you mean".
    fn table_names(&self) -> Vec<String>;
}

/// A relation whose use is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Used {
    /// A table.
    Table(TableId),
    /// A view, by schema and name.
    View(String, String),
}
