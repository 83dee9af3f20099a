//! Statements by their kind.
//!
//! `statement` is the entry of the module: it hands each kind of statement to the file that converts it, and refuses
//! kinds that other systems have (`elsewhere`). Kinds that are planned from `syntax::tree` directly do not come here
//! (`statement::of_tree`).

use sqlparser::ast;
use syntax::Span;
use syntax::tree;
use syntax::tree::{Described, Show, StatementKind as Kind, TransactionMode};
use types::{Error, Result};

use super::option::{call_of, folded, own_call, text_value};
use super::session::words_of;
use super::{Converter, ident, made, object_name, span};
use crate::{elsewhere, place};

impl Converter<'_> {
    /// Any statement.
    pub(crate) fn statement(&self, statement: &tree::Statement) -> Result<ast::Statement> {
        let at = statement.span;
        match &statement.kind {
            Kind::Query(query) => self.query_statement(query),
            Kind::Insert(insert) => self.insert(insert),
            Kind::Update(update) => self.update(update),
            Kind::Delete(delete) => self.delete(delete),
            Kind::Merge(merge) => self.merge(merge),
            Kind::Truncate(truncate) => Ok(self.truncate(truncate)),
            Kind::Copy(copy) => self.copy(copy),
            Kind::CreateTable(create) => self.create_table(create),
            Kind::CreateView(create) => self.create_view(create),
            Kind::CreateIndex(create) => self.create_index(create),
            Kind::CreateSchema { if_there, name, owner } => {
                self.create_schema(*if_there, name, owner.as_ref())
            }
            Kind::CreateSecret(create) => self.create_secret(create),
            Kind::CreateWideTable(create) => self.create_wide_table(create, at),
            Kind::RefreshWideTable(name) => self.refresh_wide_table(name, at),
            Kind::AlterTable(alter) => self.alter_table(alter),
            Kind::AlterObject(alter) => self.alter_object(alter, at),
            Kind::AlterQuery(query, name, value) => self.alter_query(query, name, value, at),
            Kind::Drop(drop) => self.drop_statement(drop, at),
            Kind::Comment(comment) => self.comment(comment),
            Kind::Set(set) => self.set(set),
            Kind::Reset { scope, name } => self.reset(*scope, name.as_ref()),
            Kind::Pragma { name, value, arguments } => {
                self.pragma(name, value.as_ref(), arguments.as_deref(), at)
            }
            Kind::Use(path) => self.use_schema(path, at),
            Kind::ExportDatabase(folder, options) => self.export_database(folder, options, at),
            Kind::SteerQuery(verb, query) => self.steer_query(*verb, query, at),
            _ => self.other_statement(statement),
        }
    }

    /// Those that are a few words.
    fn other_statement(&self, statement: &tree::Statement) -> Result<ast::Statement> {
        let at = statement.span;
        match &statement.kind {
            Kind::Explain { analyze, verbose, options, statement } => {
                self.explain(*analyze, *verbose, options, statement)
            }
            Kind::Describe { summarize, what } => self.describe(*summarize, what.as_ref(), at),
            Kind::Show(show) => self.show(show, at),
            Kind::Prepare { name, types, statement } => Ok(ast::Statement::Prepare {
                name: ident(name),
                data_types: types.iter().map(|ty| self.data_type(ty)).collect::<Result<_>>()?,
                statement: Box::new(self.prepared(statement)),
            }),
            Kind::Execute { name, values } => self.execute(name, values),
            Kind::Deallocate(name) => Ok(ast::Statement::Deallocate {
                name: name.as_ref().map_or_else(|| made("ALL", at), ident),
                prepare: false,
            }),
            Kind::ResetVariable(name) => {
                Ok(own_call("reset_variable", at, vec![text_value(&folded(name), name.span)]))
            }
            Kind::Call { name, arguments } => Ok(call_of(object_name(name), self.arguments(arguments)?)),
            Kind::Checkpoint(name) => {
                let name = name.as_ref().map(|name| text_value(&folded(name), name.span));
                Ok(own_call("checkpoint", at, name.into_iter().collect()))
            }
            Kind::CheckDatabase => Ok(own_call("check_database", at, vec![])),
            Kind::BackupDatabase(folder) => {
                Ok(own_call("backup_database", at, vec![text_value(&folder.text, folder.span)]))
            }
            Kind::ImportDatabase(folder) => {
                Ok(own_call("import_database", at, vec![text_value(&folder.text, folder.span)]))
            }
            Kind::Analyze(..) => Err(self.foreign(&["analyze"], at)),
            Kind::Vacuum { .. } => Err(self.foreign(&["vacuum"], at)),
            Kind::Unsupported(tree::Unsupported { words, text: _ }) => {
                let words: Vec<&str> = words.iter().map(|word| &*word.text).collect();
                Err(self.foreign(&words, at))
            }
            Kind::CreateSequence { .. } => Err(self.unsupported("CREATE SEQUENCE here", at)),
            Kind::CreateType(_) => Err(self.unsupported("CREATE TYPE here", at)),
            Kind::CreateMacro(_) => Err(self.unsupported("CREATE MACRO here", at)),
            Kind::CreateFunction(_) => Err(self.unsupported("CREATE FUNCTION here", at)),
            Kind::Attach { .. } => Err(self.unsupported("ATTACH here", at)),
            Kind::Detach { .. } => Err(self.unsupported("DETACH here", at)),
            Kind::CopyDatabase { .. } => Err(self.unsupported("COPY FROM DATABASE here", at)),
            _ => self.transaction(statement),
        }
    }

    /// A statement that others have, with what does the same here.
    pub(super) fn foreign(&self, words: &[&str], at: Span) -> Error {
        elsewhere::error_of(words).map(|error| self.at(error, at)).unwrap_or_else(|| {
            // The second word says of what kind it is where the first one says what is done to it.
            let kinds = words.first().is_some_and(|verb| {
                ["create", "alter", "drop"].iter().any(|word| word.eq_ignore_ascii_case(verb))
            });
            let verb: Vec<&str> = words.iter().take(if kinds { 2 } else { 1 }).copied().collect();
            Error::unsupported(format!("{} is not supported", verb.join(" ").to_uppercase())).at(place::START)
        })
    }

    /// What is prepared: the binder reads its text, so that nothing is refused here that is not when it is executed.
    fn prepared(&self, statement: &tree::Statement) -> ast::Statement {
        let unread = |_| ast::Statement::Commit { chain: false, end: false, modifier: None };
        self.statement(statement).unwrap_or_else(unread)
    }

    fn explain(
        &self,
        analyze: bool,
        verbose: bool,
        options: &[tree::SetOption],
        statement: &tree::Statement,
    ) -> Result<ast::Statement> {
        let option = |tree::SetOption { name, value }: &tree::SetOption| {
            let arg = value.as_ref().map(|value| self.option_value(value, name.span)).transpose()?;
            Ok(ast::UtilityOption { name: ident(name), arg })
        };
        let options: Vec<ast::UtilityOption> = options.iter().map(option).collect::<Result<_>>()?;
        Ok(ast::Statement::Explain {
            describe_alias: ast::DescribeAlias::Explain,
            analyze,
            verbose,
            query_plan: false,
            estimate: false,
            statement: Box::new(self.statement(statement)?),
            format: None,
            options: (!options.is_empty()).then_some(options),
        })
    }

    fn describe(&self, summarize: bool, what: Option<&Described>, at: Span) -> Result<ast::Statement> {
        self.asides.borrow_mut().parsed.summarize = summarize;
        let table = |table_name: ast::ObjectName| ast::Statement::ExplainTable {
            describe_alias: ast::DescribeAlias::Describe,
            hive_format: None,
            has_table_keyword: false,
            table_name,
        };
        match what {
            None if summarize => Err(self.wrong("SUMMARIZE needs a table's name or a query", at)),
            None => Ok(show_all_tables(at)),
            Some(Described::Table(path)) => Ok(table(object_name(path))),
            Some(Described::File(file)) => {
                let name = ast::Ident {
                    value: file.text.to_string(),
                    quote_style: Some('\''),
                    span: span(file.span),
                };
                Ok(table(ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)])))
            }
            Some(Described::Statement(statement)) => self.described(statement),
        }
    }

    /// DESCRIBE of a query.
    fn described(&self, statement: &tree::Statement) -> Result<ast::Statement> {
        Ok(ast::Statement::Explain {
            describe_alias: ast::DescribeAlias::Describe,
            analyze: false,
            verbose: false,
            query_plan: false,
            estimate: false,
            statement: Box::new(self.statement(statement)?),
            format: None,
            options: None,
        })
    }

    fn show(&self, show: &Show, at: Span) -> Result<ast::Statement> {
        match show {
            Show::Nothing => Ok(show_tables(None, None)),
            Show::Tables { all: true, from: None, like: None } => Ok(show_all_tables(at)),
            Show::Tables { all: true, .. } => Err(self.unsupported("FROM and LIKE of SHOW ALL TABLES", at)),
            Show::Tables { all: false, from, like } => Ok(show_tables(from.as_ref(), like.as_ref())),
            Show::Listed { what, from, like } => self.listed_things(what, from.as_ref(), like.as_ref()),
            Show::All => Ok(ast::Statement::ShowVariable { variable: vec![made("ALL", at)] }),
            Show::Name(path) => {
                let name = path.single().filter(|name| !name.quoted).map(|name| name.text.to_lowercase());
                let show_options = show_options(None, None);
                Ok(match name.as_deref() {
                    Some("databases") => show_databases(),
                    Some("schemas") => {
                        ast::Statement::ShowSchemas { terse: false, history: false, show_options }
                    }
                    Some("views") => {
                        ast::Statement::ShowViews { terse: false, materialized: false, show_options }
                    }
                    Some("functions") => ast::Statement::ShowFunctions { filter: None },
                    _ => ast::Statement::ShowVariable { variable: words_of(path) },
                })
            }
            // What DESCRIBE is elsewhere.
            Show::Query(statement) => self.described(statement),
        }
    }

    /// SHOW VIEWS, FUNCTIONS and COLUMNS of a schema or a table, or like a pattern.
    fn listed_things(
        &self,
        what: &tree::Name,
        from: Option<&tree::Path>,
        like: Option<&tree::TextLiteral>,
    ) -> Result<ast::Statement> {
        let show_options = show_options(from, like);
        match folded(what).as_str() {
            "views" => Ok(ast::Statement::ShowViews { terse: false, materialized: false, show_options }),
            "columns" if like.is_none() => {
                Ok(ast::Statement::ShowColumns { extended: false, full: false, show_options })
            }
            "functions" if from.is_none() => {
                let filter = like.map(|pattern| ast::ShowStatementFilter::Like(pattern.text.to_string()));
                Ok(ast::Statement::ShowFunctions { filter })
            }
            _ => {
                let shown = self.text_of(what.span).to_uppercase();
                Err(self.unsupported(format!("FROM or LIKE of SHOW {shown}"), what.span))
            }
        }
    }

    fn execute(&self, name: &tree::Name, values: &[tree::Argument]) -> Result<ast::Statement> {
        let mut parameters = Vec::with_capacity(values.len());
        for tree::Argument { variadic, name, value } in values {
            if let Some((name, _)) = name {
                return Err(self.unsupported("EXECUTE with the names of parameters", name.span));
            }
            if *variadic {
                return Err(self.unexpected(value.span));
            }
            parameters.push(self.expr(value)?);
        }
        Ok(ast::Statement::Execute {
            name: Some(ast::ObjectName(vec![ast::ObjectNamePart::Identifier(ident(name))])),
            has_parentheses: !parameters.is_empty(),
            parameters,
            immediate: false,
            into: vec![],
            using: vec![],
            output: false,
            default: false,
        })
    }

    /// Transactions; what is none of them has been read before.
    fn transaction(&self, statement: &tree::Statement) -> Result<ast::Statement> {
        let at = statement.span;
        match &statement.kind {
            Kind::Begin { start, modes } => Ok(ast::Statement::StartTransaction {
                modes: self.modes(modes, at)?,
                begin: !start,
                transaction: start.then_some(ast::BeginTransactionKind::Transaction),
                modifier: None,
                statements: vec![],
                exception: None,
                has_end_keyword: false,
            }),
            Kind::Commit { chain } => {
                Ok(ast::Statement::Commit { chain: *chain == Some(true), end: false, modifier: None })
            }
            Kind::Rollback { chain, to } => Ok(ast::Statement::Rollback {
                chain: *chain == Some(true),
                savepoint: to.as_ref().map(ident),
            }),
            Kind::Savepoint(name) => Ok(ast::Statement::Savepoint { name: ident(name) }),
            Kind::Release(name) => Ok(ast::Statement::ReleaseSavepoint { name: ident(name) }),
            Kind::SetTransaction(session, modes) => Ok(ast::Statement::Set(ast::Set::SetTransaction {
                modes: self.modes(modes, at)?,
                snapshot: None,
                session: *session,
            })),
            _ => Err(self.at(Error::internal("a statement that nothing reads"), at)),
        }
    }

    fn modes(&self, modes: &[TransactionMode], at: Span) -> Result<Vec<ast::TransactionMode>> {
        use ast::TransactionAccessMode as Access;
        use ast::TransactionIsolationLevel as Level;
        let level = |level: Level| Ok(ast::TransactionMode::IsolationLevel(level));
        let access = |access: Access| Ok(ast::TransactionMode::AccessMode(access));
        let mode = |mode: &TransactionMode| match mode {
            TransactionMode::ReadUncommitted => level(Level::ReadUncommitted),
            TransactionMode::ReadCommitted => level(Level::ReadCommitted),
            TransactionMode::RepeatableRead => level(Level::RepeatableRead),
            TransactionMode::Serializable => level(Level::Serializable),
            TransactionMode::Snapshot => level(Level::Snapshot),
            TransactionMode::ReadOnly => access(Access::ReadOnly),
            TransactionMode::ReadWrite => access(Access::ReadWrite),
            TransactionMode::Deferrable | TransactionMode::NotDeferrable => {
                Err(self.unsupported("DEFERRABLE of a transaction", at))
            }
        };
        modes.iter().map(mode).collect()
    }
}

/// FROM and LIKE of SHOW.
fn show_options(from: Option<&tree::Path>, like: Option<&tree::TextLiteral>) -> ast::ShowStatementOptions {
    let show_in = from.map(|within| ast::ShowStatementIn {
        clause: ast::ShowStatementInClause::FROM,
        parent_type: None,
        parent_name: Some(object_name(within)),
    });
    let filter = like.map(|pattern| ast::ShowStatementFilter::Like(pattern.text.to_string()));
    ast::ShowStatementOptions {
        show_in,
        starts_with: None,
        limit: None,
        limit_from: None,
        filter_position: filter.map(ast::ShowStatementFilterPosition::Suffix),
    }
}

/// SHOW TABLES.
pub(super) fn show_tables(from: Option<&tree::Path>, like: Option<&tree::TextLiteral>) -> ast::Statement {
    ast::Statement::ShowTables {
        terse: false,
        history: false,
        extended: false,
        full: false,
        external: false,
        show_options: show_options(from, like),
    }
}

/// SHOW DATABASES.
pub(super) fn show_databases() -> ast::Statement {
    ast::Statement::ShowDatabases { terse: false, history: false, show_options: show_options(None, None) }
}

/// SHOW ALL TABLES.
pub(super) fn show_all_tables(at: Span) -> ast::Statement {
    ast::Statement::ShowVariable { variable: vec![made("ALL", at), made("TABLES", at)] }
}
