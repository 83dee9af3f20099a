//! Statements: the syntax tree's to ours.
//!
//! `plan` builds a `Context` for one statement and dispatches by its kind. Each file takes its nodes apart field by
//! field and refuses what the engine does not do, so that nothing is ignored silently; `grammar_walk` proves it.
//! Queries go to `bind`; the files here resolve names and options and return `plan::Statement`.

mod access;
mod alter;
mod alter_fields;
mod attach;
mod clauses;
mod context;
mod create;
mod cursor;
mod define;
mod drop;
mod explain;
mod forms;
mod function;
mod generated;
mod index;
mod kinds;
mod like;
mod load;
mod modify;
mod options;
mod partitions;
mod procedures;
mod sequence;
mod session;
mod transaction;
mod user_type;

use plan::statement::{ObjectName, Statement};
use syntax::Span;
use syntax::tree::{self, ObjectKind, StatementKind as Kind};
use types::{Error, Result, SqlState};

use crate::bind::modify::column_position;
use crate::bind::{Binder, folded};
use crate::names::Name;
use crate::parameters::Given;
use crate::script::StatementText;
use crate::texts::Texts;
use crate::{RelationInfo, Relations, elsewhere, place};

use context::{Context, if_exists, named, refused};
pub use create::COLUMNS_MAX;
pub(crate) use forms::fault;
pub(crate) use modify::row_query;
use sequence::Sequences;

/// Plans one statement from its tree; `begins` is its place in its script.
pub(crate) fn plan(
    text: &str,
    tree: &tree::Statement,
    begins: Option<&StatementText>,
    relations: &dyn Relations,
    values: Given<'_>,
) -> Result<Statement> {
    let texts = Texts::default();
    let context = Context { text, relations, begins, values, texts: &texts };
    if keeps_expressions(tree) {
        return context.plan(tree);
    }
    crate::moment::within(text, relations, || context.plan(tree))
}

/// Whether expressions of a statement are kept as they are written: `'today'` would be another day each time it is read, so
/// there it is no date.
fn keeps_expressions(statement: &tree::Statement) -> bool {
    match &statement.kind {
        Kind::CreateTable(table) => table.query.is_none(),
        Kind::CreateView(_) | Kind::CreateMacro(_) | Kind::CreateFunction(_) | Kind::AlterTable(_) => true,
        _ => false,
    }
}

/// The first word of a statement's command tag; and whether names in it are looked up when it is prepared.
pub(crate) fn verb(statement: &tree::Statement) -> (&'static str, bool) {
    let other = |verb| (verb, false);
    match &statement.kind {
        Kind::Query(_) => ("SELECT", true),
        Kind::Insert(_) => ("INSERT", true),
        Kind::Update(_) => ("UPDATE", true),
        Kind::Delete(_) => ("DELETE", true),
        Kind::Merge(_) => ("MERGE", true),
        Kind::Show(tree::Show::Name(_)) => ("SHOW", true),
        Kind::Describe { .. } | Kind::Show(_) => ("SELECT", true),
        Kind::Explain { .. } => ("EXPLAIN", true),
        Kind::Truncate(_) => other("TRUNCATE"),
        Kind::Copy(_) | Kind::CopyDatabase { .. } => other("COPY"),
        Kind::CreateTable(_)
        | Kind::CreateView(_)
        | Kind::CreateIndex(_)
        | Kind::CreateSequence { .. }
        | Kind::CreateSchema { .. }
        | Kind::CreateType(_)
        | Kind::CreateMacro(_)
        | Kind::CreateFunction(_)
        | Kind::CreateSecret(_)
        | Kind::CreateWideTable(_) => other("CREATE"),
        Kind::AlterTable(_) | Kind::AlterObject(_) | Kind::AlterQuery(..) => other("ALTER"),
        Kind::Drop(_) => other("DROP"),
        Kind::Comment(_) => other("COMMENT"),
        Kind::Prepare { .. } => other("PREPARE"),
        Kind::Execute { .. } => other("EXECUTE"),
        Kind::Deallocate(_) => other("DEALLOCATE"),
        Kind::DeclareCursor(_) => other("DECLARE"),
        Kind::FetchCursor { moves: false, .. } => other("FETCH"),
        Kind::FetchCursor { .. } => other("MOVE"),
        Kind::CloseCursor(_) => other("CLOSE"),
        Kind::Discard(_) => other("DISCARD"),
        Kind::Set(_) | Kind::SetTransaction(..) => other("SET"),
        Kind::Reset { .. } | Kind::ResetVariable(_) => other("RESET"),
        Kind::Begin { .. } => other("BEGIN"),
        Kind::Commit { .. } => other("COMMIT"),
        Kind::Rollback { .. } => other("ROLLBACK"),
        Kind::Savepoint(_) => other("SAVEPOINT"),
        Kind::Release(_) => other("RELEASE"),
        Kind::Lock { .. } => other("LOCK"),
        Kind::Call { .. } => other("CALL"),
        _ => other("OTHER"),
    }
}

impl<'a> Context<'a> {
    fn binder(&self) -> Binder<'a> {
        let mut binder = Binder::new(self.text, self.relations, self.texts);
        binder.begins = self.begins;
        binder.values = self.values;
        binder
    }

    fn plan(&self, statement: &'a tree::Statement) -> Result<Statement> {
        let at = statement.span;
        match &statement.kind {
            Kind::Query(query) => self.query(query),
            Kind::Insert(insert) => self.insert(insert),
            Kind::Update(update) => self.update(update),
            Kind::Delete(delete) => self.delete(delete),
            Kind::Merge(merge) => self.merge(merge),
            Kind::Truncate(truncate) => self.truncate(truncate),
            Kind::Copy(copy) => self.copy(copy),
            Kind::CopyDatabase { from, to, part } => attach::copy(self.text, from, to, part.as_ref()),
            Kind::CreateTable(create) => self.create_table(create),
            Kind::CreateView(create) => self.create_view(create),
            Kind::CreateIndex(create) => self.create_index(create),
            Kind::CreateSequence { if_there, temporary, name, options } => {
                self.sequences().create(name, options, *if_there, *temporary)
            }
            Kind::CreateSchema { if_there, name, owner } => {
                self.create_schema(*if_there, name, owner.as_ref())
            }
            Kind::CreateType(create) => user_type::create_type(self.text, create, self.relations),
            Kind::CreateMacro(create) => function::create_macro(self.text, create, self.relations),
            Kind::CreateFunction(create) => function::create_function(self.text, create, self.relations),
            Kind::CreateSecret(create) => self.create_secret(create),
            Kind::CreateWideTable(create) => self.create_wide_table(create),
            Kind::RefreshWideTable(name) => self.refresh_wide_table(name),
            Kind::AlterTable(alter) => self.alter_table(alter),
            Kind::Access(access) => self.access(access),
            Kind::AlterObject(alter) => match alter.kind {
                kind if !alter.if_exists
                    && let tree::ObjectChange::OwnerTo(to) = &alter.change =>
                {
                    self.owner(kind, &alter.name, to)
                }
                ObjectKind::Sequence => self.sequences().alter(alter),
                _ => self.alter_object(alter),
            },
            Kind::AlterQuery(query, name, value) => self.alter_query(query, name, value),
            Kind::Drop(drop) => self.drop(drop, at),
            Kind::Comment(comment) => self.comment(comment),
            _ => self.plan_other(statement),
        }
    }

    /// Statements about the session, its transactions and the database as a whole.
    fn plan_other(&self, statement: &'a tree::Statement) -> Result<Statement> {
        let at = statement.span;
        match &statement.kind {
            Kind::Explain { analyze, verbose: _, options, statement } => {
                // How much is shown is always all that there is.
                self.explain(*analyze, options, statement)
            }
            Kind::Describe { .. } | Kind::Show(_) => self.inspect(statement),
            Kind::Prepare { name, types, statement } => self.prepare(name, types, statement),
            Kind::Execute { name, values } => self.execute(name, values),
            Kind::Deallocate(name) => {
                let name = name.as_ref().map(folded).filter(|name| name != "all");
                Ok(Statement::Deallocate { name })
            }
            Kind::DeclareCursor(declare) => self.declare_cursor(declare),
            Kind::FetchCursor { moves, motion, name } => self.fetch_cursor(*moves, motion, name),
            Kind::CloseCursor(name) => Ok(self.close_cursor(name.as_ref())),
            Kind::Discard(what) => Ok(self.discard(*what)),
            Kind::Set(set) => self.set(set),
            Kind::Reset { scope, name } => self.reset(*scope, name.as_ref()),
            Kind::ResetVariable(name) => Ok(procedures::called("reset_variable", [folded(name)])),
            Kind::Pragma { name, value, arguments } => {
                self.pragma(name, value.as_ref(), arguments.as_deref().unwrap_or_default(), at)
            }
            Kind::Call { name, arguments } => self.call(name, arguments),
            Kind::Attach { if_there, path, name, options } => {
                attach::attach(self.text, *if_there, path, name.as_ref(), options)
            }
            Kind::Detach { if_exists, name } => {
                Ok(Statement::Detach { name: folded(name), if_exists: *if_exists })
            }
            Kind::Use(schema) => self.use_schema(schema, at),
            Kind::Checkpoint(name) => Ok(procedures::called("checkpoint", name.iter().map(folded))),
            Kind::CheckDatabase => Ok(procedures::called("check_database", [])),
            Kind::BackupDatabase(folder) => {
                Ok(procedures::called("backup_database", [folder.text.to_string()]))
            }
            Kind::ExportDatabase(folder, options) => self.export_database(folder, options),
            Kind::ImportDatabase(folder) => {
                Ok(procedures::called("import_database", [folder.text.to_string()]))
            }
            Kind::Analyze(..) => Err(self.foreign(&["analyze"], at)),
            Kind::Vacuum { .. } => Err(self.foreign(&["vacuum"], at)),
            Kind::SteerQuery(verb, query) => self.steer_query(*verb, query),
            Kind::Unsupported(tree::Unsupported { words, text: _ }) => {
                let words: Vec<&str> = words.iter().map(|word| &*word.text).collect();
                Err(self.foreign(&words, at))
            }
            _ => self.transaction(statement),
        }
    }

    fn sequences(&self) -> Sequences<'a> {
        Sequences { text: self.text, relations: self.relations }
    }

    /// A statement that others have, with what does the same here.
    fn foreign(&self, words: &[&str], at: Span) -> Error {
        elsewhere::error_of(words).map(|error| self.at(error, at)).unwrap_or_else(|| {
            // The second word says of what kind it is where the first one says what is done to it.
            let kinds = words.first().is_some_and(|verb| {
                ["create", "alter", "drop"].iter().any(|word| word.eq_ignore_ascii_case(verb))
            });
            let verb: Vec<&str> = words.iter().take(if kinds { 2 } else { 1 }).copied().collect();
            Error::unsupported(format!("{} is not supported", verb.join(" ").to_uppercase())).at(place::START)
        })
    }

    /// DESCRIBE, SUMMARIZE and SHOW.
    fn inspect(&self, statement: &'a tree::Statement) -> Result<Statement> {
        let mut binder = self.binder();
        if let Some(relation) = binder.inspect(statement)? {
            return Ok(Statement::Query(binder.finish(relation)?));
        }
        let words: Vec<String> = match &statement.kind {
            Kind::Show(tree::Show::Name(path)) => path.names.iter().map(folded).collect(),
            _ => vec![],
        };
        match words.as_slice() {
            [] => Err(Error::new(SqlState::SyntaxError, "SHOW needs a name").at(place::START)),
            [time, zone] if time == "time" && zone == "zone" => {
                Ok(Statement::Show { name: "timezone".into() })
            }
            words => Ok(Statement::Show { name: words.join("_") }),
        }
    }

    fn at(&self, error: Error, span: Span) -> Error {
        place::at(error, self.text, span)
    }

    /// What this engine does not have, at a place.
    fn unsupported(&self, what: impl std::fmt::Display, span: Span) -> Error {
        self.at(Error::unsupported(format!("{what} is not supported")), span)
    }

    /// A syntax error at a place.
    fn wrong(&self, message: impl Into<String>, span: Span) -> Error {
        self.at(Error::new(SqlState::SyntaxError, message.into()), span)
    }

    fn object_name(&self, name: &tree::Path) -> Result<(ObjectName, Span)> {
        let span = name.span();
        let names: Vec<Name> = name.names.iter().map(Name::of).collect();
        let (schema, name) = self.binder().placed(&names).map_err(|e| self.at(e, span))?;
        Ok((ObjectName { schema: schema.map(|schema| schema.text), name: name.text }, span))
    }

    /// The schema that CREATE SCHEMA and DROP SCHEMA are about.
    fn schema_name(&self, name: &tree::Path) -> Result<String> {
        let names: Vec<String> = name.names.iter().map(folded).collect();
        let schema = match names.as_slice() {
            [name] => self.relations.schema_to_change(None, name),
            [database, name] => self.relations.schema_to_change(Some(database), name),
            _ => Err(Error::new(SqlState::SyntaxError, "a schema has at most a database and a name")),
        };
        schema.map_err(|e| self.at(e, name.span()))
    }

    /// A name as it was written, a schema in front of it or none.
    fn written_name(&self, name: &tree::Path) -> Result<(ObjectName, Span)> {
        let span = name.span();
        let names: Vec<String> = name.names.iter().map(folded).collect();
        match names.as_slice() {
            [name] => Ok((ObjectName { schema: None, name: name.clone() }, span)),
            [schema, name] => Ok((ObjectName { schema: Some(schema.clone()), name: name.clone() }, span)),
            _ => Err(self.at(Error::unsupported("a name has at most a schema and a name here"), span)),
        }
    }

    fn simple_name(&self, name: &tree::Path) -> Result<String> {
        let (name, span) = self.written_name(name)?;
        match name.schema {
            None => Ok(name.name),
            Some(_) => Err(self.wrong("a simple name is expected", span)),
        }
    }

    /// The name of something that exists, as that is spelled; the name as it was written where nothing is called so.
    fn existing_name(&self, name: &tree::Path) -> Result<(ObjectName, Span)> {
        let (written, span) = self.object_name(name)?;
        let schema = written.schema.as_deref();
        let known = self.relations.view(schema, &written.name).is_some()
            || self.relations.names_in(schema).contains(&written.name);
        if known {
            return Ok((written, span));
        }
        let names: Vec<Name> = name.names.iter().map(Name::of).collect();
        let (schema, name) = self.binder().placed(&names).map_err(|e| self.at(e, span))?;
        let found = self.binder().respelled(schema.as_ref(), &name).map_err(|e| self.at(e, span))?;
        Ok((found.map_or(written, |(schema, name)| ObjectName { schema, name }), span))
    }

    /// An existing table.
    fn table(&self, name: &tree::Path) -> Result<(ObjectName, RelationInfo)> {
        let (name, span) = self.existing_name(name)?;
        let found = self.relations.table(name.schema.as_deref(), &name.name).map_err(|e| self.at(e, span))?;
        match found {
            Some(info) => Ok((name, info)),
            None => {
                let unknown = self.binder().unknown_table(name.schema.as_deref(), &name.name);
                Err(self.at(unknown, span))
            }
        }
    }

    /// Positions of named columns in a table; all of them, in order, when none are named.
    fn columns(&self, info: &RelationInfo, names: &[&tree::Name]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..info.columns.len()).collect());
        }
        let mut positions = Vec::with_capacity(names.len());
        for ident in names {
            let position = column_position(info, ident).map_err(|e| self.at(e, ident.span))?;
            let name = &info.columns.fields()[position].name;
            if positions.contains(&position) {
                let error = Error::new(
                    SqlState::DuplicateColumn,
                    format!("column \"{name}\" specified more than once"),
                );
                return Err(self.at(error, ident.span));
            }
            positions.push(position);
        }
        Ok(positions)
    }
}
