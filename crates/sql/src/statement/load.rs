//! INSERT and COPY FROM: queries whose rows become a table's.
//!
//! A plain INSERT is a query whose columns are those of the table, in the table's order, with defaults put in. INSERT
//! with WITH, RETURNING or ON CONFLICT goes to `modify`. COPY FROM reads the file with the table's types
//! (`Relations::file_as`). COPY TO takes a table or any query, also one that changes rows. Called by `Context::plan`.

use plan::statement::{ObjectName, Statement};
use sqlparser::ast::{
    CopyLegacyOption, CopyOption, CopySource, CopyTarget, Ident, Insert, ObjectName as NameSyntax, Query,
    SqliteOnConflict, TableObject, With,
};
use types::{Error, Result, Schema, SqlState};

use super::Context;
use crate::asides::InsertBy;
use crate::bind::modify::unknown_column;
use crate::bind::{Binder, folded};
use crate::{RelationInfo, place};

impl Context<'_> {
    /// INSERT, with the WITH in front of it.
    pub(super) fn insert_with(&self, insert: &Insert, with: Option<&With>) -> Result<Statement> {
        let plain =
            with.is_none() && insert.on.is_none() && insert.or.is_none() && insert.returning.is_none();
        let Some(query) = insert.source.as_ref().filter(|_| plain) else {
            return self.insert_and_more(insert, with);
        };
        let (name, info, targets) = self.insert_target(insert, None)?;
        let mut binder = self.binder();
        binder.fewer = insert.columns.is_empty() && self.parsed.insert_by == InsertBy::Position;
        let query = binder.query_into(query, &info, &targets)?;
        Ok(Statement::Insert { table: info.id, name, query })
    }

    /// The table of an INSERT, and the columns that its rows fill.
    pub(super) fn insert_target(
        &self,
        insert: &Insert,
        with: Option<&With>,
    ) -> Result<(ObjectName, RelationInfo, Vec<usize>)> {
        let known = matches!(insert.or, None | Some(SqliteOnConflict::Ignore | SqliteOnConflict::Replace));
        let odd = !known
            || (insert.or.is_some() && insert.on.is_some())
            || insert.ignore
            || insert.overwrite
            || insert.partitioned.is_some()
            || !insert.assignments.is_empty()
            || insert.replace_into
            || !insert.after_columns.is_empty();
        if odd {
            return Err(Error::unsupported("this form of INSERT is not supported").at(place::START));
        }
        let TableObject::TableName(table) = &insert.table else {
            return Err(Error::unsupported("INSERT takes a table's name").at(place::START));
        };
        let (name, info) = self.changed_or_made(table)?;
        let idents: Vec<&Ident> = insert.columns.iter().filter_map(single).collect();
        if idents.len() != insert.columns.len() {
            return Err(Error::new(SqlState::SyntaxError, "INSERT columns are plain names"));
        }
        let mut targets = match &insert.source {
            Some(query) if self.parsed.insert_by == InsertBy::Name => {
                self.columns_by_name(&info, query, with, insert)?
            }
            _ => self.columns(&info, &idents)?,
        };
        let computed = info.generated.iter().any(Option::is_some);
        if computed && idents.is_empty() && self.parsed.insert_by == InsertBy::Position {
            // As PostgreSQL has it, DEFAULT stands in the place of a generated column; as DuckDB has it, nothing
            // does.
            let width = insert.source.as_ref().and_then(|query| match query.body.as_ref() {
                sqlparser::ast::SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
                _ => None,
            });
            let given = info.given_columns();
            if insert.source.is_some() && width.is_none_or(|width| width <= given.len()) {
                targets = given;
            }
        }
        if idents.is_empty() && self.parsed.insert_by == InsertBy::Position {
            // Fewer values than columns fill the first ones.
            use sqlparser::ast::SetExpr;
            if let Some(query) = &insert.source
                && let SetExpr::Values(values) = query.body.as_ref()
                && let Some(first) = values.rows.first()
                && first.content.len() < targets.len()
            {
                targets.truncate(first.content.len());
            }
        }
        let targets = self.given(insert, &info, targets)?;
        Ok((name, info, targets))
    }

    /// The columns that a query's columns are called after.
    fn columns_by_name(
        &self,
        info: &RelationInfo,
        query: &Query,
        with: Option<&With>,
        insert: &Insert,
    ) -> Result<Vec<usize>> {
        if !insert.columns.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "INSERT BY NAME takes no list of columns");
            return Err(error.at(place::START));
        }
        let named = self.binder_with(with)?.query(query)?;
        let mut targets = Vec::with_capacity(named.output.len());
        for (_, name) in &named.output {
            let Some(at) = info.columns.position(name) else {
                return Err(unknown_column(info, name).at(place::START));
            };
            if targets.contains(&at) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DuplicateColumn, message).at(place::START));
            }
            targets.push(at);
        }
        Ok(targets)
    }

    /// COPY FROM and COPY TO.
    pub(super) fn copy(
        &self,
        source: &CopySource,
        to: bool,
        target: &CopyTarget,
        options: &[CopyOption],
        legacy: &[CopyLegacyOption],
    ) -> Result<Statement> {
        if to {
            return self.copy_to(source, target, options, legacy);
        }
        let CopySource::Table { table_name, columns } = source else {
            return Err(Error::unsupported("COPY FROM takes a table's name").at(place::START));
        };
        let (name, info) = self.table(table_name)?;
        let idents: Vec<&Ident> = columns.iter().collect();
        let mut targets = self.columns(&info, &idents)?;
        if idents.is_empty() {
            targets = info.given_columns();
        }
        if let Some(at) = targets.iter().position(|at| info.is_generated(*at)) {
            let column = &info.columns.fields()[targets[at]].name;
            let message = format!("column \"{column}\" is a generated column");
            let error = Error::new(SqlState::InvalidColumnReference, message)
                .with_detail("Generated columns cannot be used in COPY.");
            return Err(self.at(error, idents[at].span));
        }
        let mut options = copy_options(options, legacy)?;
        options.extend_from_slice(self.copy_options);
        let (filename, place) = match target {
            CopyTarget::File { filename } => (filename.clone(), place::of_quoted(self.text, filename)),
            CopyTarget::Stdin => {
                let format = options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format"));
                let format = format.map_or("csv", |(_, value)| value.as_str()).to_lowercase();
                let path = self.relations.standard_input(&format).map_err(|e| e.at(place::START))?;
                (path, None)
            }
            _ => {
                let error = Error::unsupported("COPY FROM takes a file's path in quotes, or STDIN");
                return Err(error.at(place::START));
            }
        };
        let filename = filename.as_str();
        // Text is read straight into the table's types, not into what it looks like.
        let filled = Schema::new(targets.iter().map(|at| info.columns.fields()[*at].clone()).collect());
        let file = self.relations.file_as(filename, &options, &filled).map_err(|e| match place {
            Some(place) if e.position().is_none() => e.at(place),
            _ => e,
        })?;
        if file.schema.len() != targets.len() {
            let error = Error::new(
                SqlState::BadCopyFormat,
                format!(
                    "\"{filename}\" has {} columns, but {} are expected",
                    file.schema.len(),
                    targets.len()
                ),
            );
            return Err(match place {
                Some(place) => error.at(place),
                None => error,
            });
        }
        let mut binder = self.binder();
        let relation = binder.file(file.clone());
        let relation = binder.assigned(relation, &info, &targets)?;
        Ok(Statement::CopyFrom { table: info.id, name, source: file, query: binder.finish(relation)? })
    }
}

impl Context<'_> {
    /// The columns of a table with generated ones that COPY FROM would fill; none where that is all of them.
    fn stored_columns(&self, table: &NameSyntax) -> Option<String> {
        let (name, _) = self.existing_name(table).ok()?;
        let info = self.relations.table(name.schema.as_deref(), &name.name).ok().flatten()?;
        info.generated.iter().any(Option::is_some).then(|| {
            let fields = info.columns.fields();
            let quoted = |at: usize| Ident::with_quote('"', &fields[at].name).to_string();
            info.given_columns().into_iter().map(quoted).collect::<Vec<_>>().join(", ")
        })
    }

    /// COPY table or query TO a file.
    fn copy_to(
        &self,
        source: &CopySource,
        target: &CopyTarget,
        options: &[CopyOption],
        legacy: &[CopyLegacyOption],
    ) -> Result<Statement> {
        let path = match target {
            CopyTarget::File { filename } => Some(filename.clone()),
            CopyTarget::Stdout => None,
            _ => {
                let error = Error::unsupported("COPY TO takes a file's path in quotes, or STDOUT");
                return Err(error.at(place::START));
            }
        };
        let mut all = copy_options(options, legacy)?;
        all.extend_from_slice(self.copy_options);
        let query = match source {
            CopySource::Query(query) => self.copied_query(query)?,
            CopySource::Table { table_name, columns } => {
                // A table is copied as the query that names its columns is: views and files are tables here too.
                let list = match columns.is_empty() {
                    true => self.stored_columns(table_name).unwrap_or_else(|| "*".to_owned()),
                    false => columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                };
                let text = format!("SELECT {list} FROM {table_name}");
                let parsed = crate::parse::statement(&text)?;
                let sqlparser::ast::Statement::Query(query) = &parsed.statement else {
                    return Err(Error::internal("a query is a query"));
                };
                Binder::new(&text, self.relations, self.texts).query(query).map_err(|e| e.at(place::START))?
            }
        };
        Ok(Statement::CopyTo { query, path, options: all })
    }
}

fn single(name: &NameSyntax) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}

/// Options in the words that `Relations::file` takes.
fn copy_options(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Vec<(String, String)>> {
    let mut out = Vec::new();
    let mut put = |name: &str, value: String| out.push((name.to_owned(), value));
    for option in options {
        match option {
            CopyOption::Format(format) => put("format", folded(format)),
            CopyOption::Delimiter(c) => put("delimiter", c.to_string()),
            CopyOption::Null(text) => put("null", text.clone()),
            CopyOption::Header(header) => put("header", header.to_string()),
            CopyOption::Quote(c) => put("quote", c.to_string()),
            CopyOption::Encoding(name) => put("encoding", name.clone()),
            other => return Err(Error::unsupported(format!("COPY option {other} is not supported"))),
        }
    }
    for option in legacy {
        use sqlparser::ast::CopyLegacyCsvOption as C;
        match option {
            CopyLegacyOption::Delimiter(c) => put("delimiter", c.to_string()),
            CopyLegacyOption::Null(text) => put("null", text.clone()),
            CopyLegacyOption::Header => put("header", "true".into()),
            CopyLegacyOption::Csv(options) => {
                put("format", "csv".into());
                for option in options {
                    match option {
                        C::Header => put("header", "true".into()),
                        C::Quote(c) => put("quote", c.to_string()),
                        other => {
                            return Err(Error::unsupported(format!("COPY option {other} is not supported")));
                        }
                    }
                }
            }
            other => return Err(Error::unsupported(format!("COPY option {other} is not supported"))),
        }
    }
    Ok(out)
}
