//! INSERT and COPY: queries whose rows become a table's or a file's.
//!
//! A plain INSERT is a query whose columns are those of the table, in the table's order, with defaults put in. INSERT
//! with WITH, RETURNING or ON CONFLICT goes to `modify`. COPY FROM reads the file with the table's types
//! (`Relations::file_as`). COPY TO takes a table or any query, also one that changes rows. Called by `Context::plan`.

use plan::statement::{ObjectName, Statement};
use plan::{ColumnId, ColumnTable, Expr, LogicalPlan, LogicalQuery};
use syntax::Span;
use syntax::tree::{
    Copy, CopySource, CopyTarget, Expr as Ast, ExprKind as AstKind, Insert, Literal, Name, OperatorKind,
    OptionValue, Path, Query, SetExpr, SetOption, StatementKind, Target,
};
use types::quote;
use types::{Error, Result, Schema, SqlState, Type, Value};

use super::Context;
use super::modify::row_query;
use super::options::word;
use crate::bind::Binder;
use crate::bind::expression::{coerce, zones};
use crate::bind::modify::unknown_column;
use crate::bind::nested::call;
use crate::{RelationInfo, place};

/// In FIELD_IDS, the number of a column that has parts.
const OWN_FIELD_ID: &str = "__duckdb_field_id";

/// The rows of a query that is VALUES.
pub(super) fn values_of(query: Option<&Query>) -> Option<&[Vec<Ast>]> {
    match &query?.body {
        SetExpr::Values(rows) => Some(rows),
        _ => None,
    }
}

impl<'a> Context<'a> {
    /// INSERT, with the WITH in front of it.
    pub(super) fn insert(&self, insert: &'a Insert) -> Result<Statement> {
        let plain = insert.with.is_none()
            && insert.conflict.is_none()
            && insert.or.is_none()
            && insert.returning.is_empty();
        let Some(query) = insert.source.as_ref().filter(|_| plain) else {
            return self.insert_and_more(insert);
        };
        let (name, info, targets) = self.insert_target(insert)?;
        let mut binder = self.binder();
        binder.fewer = fills_in_order(insert);
        let query = binder.query_into(query, &info, &targets)?;
        Ok(Statement::Insert { table: info.id, name, query })
    }

    /// The table of an INSERT, and the columns that its rows fill.
    pub(super) fn insert_target(&self, insert: &'a Insert) -> Result<(ObjectName, RelationInfo, Vec<usize>)> {
        let source = insert.source.as_deref();
        if let (None, Some(first)) = (source, insert.columns.first()) {
            return Err(self.wrong("DEFAULT VALUES takes no list of columns", first.path.span()));
        }
        self.refuse_places(&insert.columns)?;
        if insert.or.is_some() && insert.conflict.is_some() {
            return Err(Error::unsupported("this form of INSERT is not supported").at(place::START));
        }
        let (name, info) = self.changed_table(&insert.table)?;
        let names: Vec<&Name> = insert.columns.iter().filter_map(|target| target.path.single()).collect();
        if names.len() != insert.columns.len() {
            return Err(Error::new(SqlState::SyntaxError, "INSERT columns are plain names"));
        }
        let mut targets = match source {
            Some(query) if insert.by_name == Some(true) => self.columns_by_name(&info, query, insert)?,
            _ => self.columns(&info, &names)?,
        };
        if fills_in_order(insert) {
            let width = values_of(source).and_then(|rows| rows.first()).map(Vec::len);
            if info.generated.iter().any(Option::is_some) {
                // As PostgreSQL has it, DEFAULT stands in the place of a generated column; as DuckDB has it, nothing
                // does.
                let given = info.given_columns();
                if source.is_some() && width.is_none_or(|width| width <= given.len()) {
                    targets = given;
                }
            }
            // Fewer values than columns fill the first ones.
            if let Some(width) = width {
                targets.truncate(width);
            }
        }
        self.refuse_given(insert, &info, &targets)?;
        self.binder().check_write(&info, access::Privilege::Insert, &targets)?;
        Ok((name, info, targets))
    }

    /// Places of a list in a column's stead, which nothing assigns to.
    pub(super) fn refuse_places(&self, targets: &[Target]) -> Result<()> {
        match targets.iter().find(|target| !target.places.is_empty()) {
            None => Ok(()),
            Some(Target { path, places: _ }) => {
                let error = Error::unsupported("a part of a list cannot be assigned to");
                Err(self.at(error, path.span()))
            }
        }
    }

    /// The columns that a query's columns are called after.
    fn columns_by_name(
        &self,
        info: &RelationInfo,
        query: &'a Query,
        insert: &'a Insert,
    ) -> Result<Vec<usize>> {
        if !insert.columns.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "INSERT BY NAME takes no list of columns");
            return Err(error.at(place::START));
        }
        let named = self.binder_with(insert.with.as_ref())?.query(query)?;
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
    pub(super) fn copy(&self, copy: &'a Copy) -> Result<Statement> {
        let Copy { source, to, target, options, condition, span: _ } = copy;
        if let Some(condition) = condition {
            return Err(self.unsupported("WHERE of COPY", condition.span));
        }
        let source = match source {
            CopySource::Statement(_) if !to => {
                return Err(Error::unsupported("COPY FROM takes a table's name").at(place::START));
            }
            source => source,
        };
        let target = self.file_of(target)?;
        let mut all = Vec::with_capacity(options.len());
        let mut order = None;
        for option in options {
            match &option.value {
                Some(OptionValue::Order(items)) if *to => {
                    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                    if order.replace(items.join(", ")).is_some() {
                        let error =
                            Error::new(SqlState::SyntaxError, "option \"order_by\" is given more than once");
                        return Err(self.at(error, option.name.span));
                    }
                }
                Some(value) if *to && option.name.text.eq_ignore_ascii_case("field_ids") => {
                    self.field_ids(value, option.name.span, &mut all)?;
                }
                _ => self.copy_option(option, &mut all)?,
            }
        }
        match source {
            source if *to => self.copy_to(source, target, all, order),
            CopySource::Table(table, columns) => self.copy_from(table, columns, target, &all),
            CopySource::Statement(_) => {
                Err(Error::unsupported("COPY FROM takes a table's name").at(place::START))
            }
        }
    }

    fn file_of(&self, target: &'a CopyTarget) -> Result<End<'a>> {
        match target {
            CopyTarget::File(file) => match &file.kind {
                AstKind::Literal(Literal::Text(path)) => Ok(End::File(path, file)),
                _ => Err(self.unsupported("a path that is no text in single quotes", file.span)),
            },
            CopyTarget::Standard(word) => match word.of(self.text).eq_ignore_ascii_case("stdin") {
                true => Ok(End::Input),
                false => Ok(End::Output),
            },
            CopyTarget::Program(_) => Ok(End::Program),
        }
    }

    fn copy_from(
        &self,
        table: &Path,
        columns: &[Name],
        target: End<'_>,
        options: &[(String, String)],
    ) -> Result<Statement> {
        let (name, info) = self.table(table)?;
        let names: Vec<&Name> = columns.iter().collect();
        let mut targets = self.columns(&info, &names)?;
        if names.is_empty() {
            targets = info.given_columns();
        }
        if let Some(at) = targets.iter().position(|at| info.is_generated(*at)) {
            let column = &info.columns.fields()[targets[at]].name;
            let message = format!("column \"{column}\" is a generated column");
            let error = Error::new(SqlState::InvalidColumnReference, message)
                .with_detail("Generated columns cannot be used in COPY.");
            return Err(self.at(error, names[at].span));
        }
        self.binder().check_write(&info, access::Privilege::Insert, &targets)?;
        let (filename, place) = match target {
            End::File(path, file) => (path.to_owned(), Some(place::at_span(self.text, file.span))),
            End::Input => {
                let format = options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format"));
                let format = format.map_or("csv", |(_, value)| value.as_str()).to_lowercase();
                let path = self.relations.standard_input(&format).map_err(|e| e.at(place::START))?;
                (path, None)
            }
            End::Output | End::Program => {
                let error = Error::unsupported("COPY FROM takes a file's path in quotes, or STDIN");
                return Err(error.at(place::START));
            }
        };
        let filename = filename.as_str();
        // Text is read straight into the table's types, not into what it looks like.
        let filled = Schema::new(targets.iter().map(|at| info.columns.fields()[*at].clone()).collect());
        let file = self.relations.file_as(filename, options, &filled).map_err(|e| match place {
            Some(place) if e.position().is_none() => e.at(place),
            _ => e,
        })?;
        if file.schema.len() != targets.len() {
            let (there, wanted) = (file.schema.len(), targets.len());
            let message = format!("\"{filename}\" has {there} columns, but {wanted} are expected");
            let error = Error::new(SqlState::BadCopyFormat, message);
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

    /// The columns of a table with generated ones that COPY FROM would fill; none where that is all of them.
    fn stored_columns(&self, table: &Path) -> Option<String> {
        let (name, _) = self.existing_name(table).ok()?;
        let info = self.relations.table(name.schema.as_deref(), &name.name).ok().flatten()?;
        info.generated.iter().any(Option::is_some).then(|| {
            let fields = info.columns.fields();
            let quoted = |at: usize| quote::name(&fields[at].name);
            info.given_columns().into_iter().map(quoted).collect::<Vec<_>>().join(", ")
        })
    }

    /// COPY table or query TO a file.
    fn copy_to(
        &self,
        source: &'a CopySource,
        target: End<'_>,
        options: Vec<(String, String)>,
        order: Option<String>,
    ) -> Result<Statement> {
        let path = match target {
            End::File(path, _) => Some(path.to_owned()),
            End::Output => None,
            End::Input | End::Program => {
                let error = Error::unsupported("COPY TO takes a file's path in quotes, or STDOUT");
                return Err(error.at(place::START));
            }
        };
        let query = match source {
            CopySource::Statement(statement) => match &order {
                None => self.copied_query(statement)?,
                Some(order) => {
                    row_query(self.text, statement)?;
                    self.written_query(format!("SELECT * FROM ({statement}) AS copied ORDER BY {order}"))?
                }
            },
            CopySource::Table(table, columns) => {
                // A table is copied as the query that names its columns is: views and files are tables here too.
                let list = match columns.is_empty() {
                    true => self.stored_columns(table).unwrap_or_else(|| "*".to_owned()),
                    false => columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                };
                let order = order.map_or_else(String::new, |order| format!(" ORDER BY {order}"));
                self.written_query(format!("SELECT {list} FROM {table}{order}"))?
            }
        };
        let query = with_written_moments(query, &options);
        Ok(Statement::CopyTo { query, path, options })
    }

    /// The query of a text made here; its errors stand at the statement's beginning.
    fn written_query(&self, text: String) -> Result<LogicalQuery> {
        let (text, statement) = self.texts.add(text)?;
        let StatementKind::Query(query) = &statement.kind else {
            return Err(Error::internal("a query is a query"));
        };
        Binder::new(text, self.relations, self.texts).query(query).map_err(|e| e.at(place::START))
    }

    /// An option with its value; a list is its option repeated, as in functions that read files.
    fn copy_option(&self, option: &SetOption, found: &mut Vec<(String, String)>) -> Result<()> {
        let SetOption { name, value } = option;
        let called = name.text.to_lowercase();
        let Some(value) = value else {
            // `CSV` alone is a format, as PostgreSQL had it before 9.0.
            found.push(match called == "csv" {
                true => ("format".to_owned(), called),
                false => (called, String::new()),
            });
            return Ok(());
        };
        let mut values = Vec::new();
        self.copy_values(value, false, &mut values)?;
        if values.is_empty() {
            values.push(String::new());
        }
        found.extend(values.into_iter().map(|value| (called.clone(), value)));
        Ok(())
    }

    /// FIELD_IDS of COPY TO: 'auto', or paths with their numbers.
    fn field_ids(&self, value: &OptionValue, at: Span, found: &mut Vec<(String, String)>) -> Result<()> {
        let fields = match value {
            OptionValue::Expr(expr) => match &expr.kind {
                AstKind::Struct(fields) => fields,
                _ => match self.copy_text(expr, false) {
                    Some(text) => return Ok(found.push(("field_ids".to_owned(), text))),
                    None => return Err(self.unexpected(expr.span)),
                },
            },
            other => {
                found.push(("field_ids".to_owned(), self.option_word(other, at)?));
                return Ok(());
            }
        };
        let mut open: Vec<(Vec<String>, &(Name, Ast))> = fields.iter().map(|field| (vec![], field)).collect();
        open.reverse();
        while let Some((path, (name, value))) = open.pop() {
            let own = !path.is_empty() && name.text.eq_ignore_ascii_case(OWN_FIELD_ID);
            let path = if own { path } else { path.into_iter().chain([name.text.to_string()]).collect() };
            match &value.kind {
                AstKind::Struct(parts) if !own => {
                    open.extend(parts.iter().rev().map(|part| (path.clone(), part)));
                }
                _ => {
                    let number = word(value).map_err(|e| self.at(e, value.span))?;
                    found.push(("field_ids".to_owned(), format!("{}\0{number}", path.join("\u{1}"))));
                }
            }
        }
        Ok(())
    }

    /// The texts of a value; words in lists are names, which are folded, and others stand as they are written.
    fn copy_values(&self, value: &OptionValue, listed: bool, out: &mut Vec<String>) -> Result<()> {
        match value {
            OptionValue::Star(_) => out.push("*".to_owned()),
            OptionValue::Order(_) => return Err(self.unexpected(value.span())),
            OptionValue::Word(word) => out.push(shown(word, listed)),
            OptionValue::Expr(expr) => match self.copy_text(expr, listed) {
                Some(text) => out.push(text),
                None => return Err(self.unexpected(expr.span)),
            },
            OptionValue::List(entries) => {
                for SetOption { name, value } in entries {
                    if !name.text.is_empty() {
                        out.push(shown(name, true));
                    }
                    if let Some(value) = value {
                        self.copy_values(value, true, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn copy_text(&self, expr: &Ast, listed: bool) -> Option<String> {
        match &expr.kind {
            AstKind::Literal(Literal::Text(text) | Literal::Number(text)) => Some(text.to_string()),
            AstKind::Literal(Literal::Null | Literal::Bool(_)) => {
                let word = expr.span.of(self.text);
                Some(if listed { word.to_lowercase() } else { word.to_owned() })
            }
            AstKind::Column(path) => path.single().map(|name| shown(name, listed)),
            AstKind::Prefix(operator, number) if operator.kind == OperatorKind::Minus => match &number.kind {
                AstKind::Literal(Literal::Number(number)) => Some(format!("-{number}")),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Where COPY reads or writes.
#[derive(Clone, Copy)]
enum End<'a> {
    File(&'a str, &'a Ast),
    Input,
    Output,
    Program,
}

/// Whether the values of an INSERT find their columns by their order in the table.
pub(super) fn fills_in_order(insert: &Insert) -> bool {
    insert.columns.is_empty() && insert.by_name != Some(true)
}

fn shown(word: &Name, listed: bool) -> String {
    match listed && !word.quoted {
        true => word.text.to_lowercase(),
        false => word.text.to_string(),
    }
}

/// The query with dates and moments as texts in the forms that DATEFORMAT and TIMESTAMPFORMAT say. They are made below
/// the query's order.
fn with_written_moments(mut query: LogicalQuery, options: &[(String, String)]) -> LogicalQuery {
    let form = |wanted: &str| {
        let given = options.iter().find(|(name, _)| name == wanted);
        given.map(|(_, form)| form).filter(|form| !form.is_empty() && !form.eq_ignore_ascii_case("iso"))
    };
    let (dates, moments) = (form("dateformat"), form("timestampformat"));
    let mut made: Vec<(ColumnId, Expr)> = Vec::new();
    for (id, name) in &mut query.output {
        let column = query.columns.get(*id);
        let (ty, nullable) = (column.ty, column.nullable);
        let form = match ty {
            Type::Date => dates,
            Type::Timestamp | Type::TimestampTz => moments,
            ty if ty.is_timestamp_of_unit() => moments,
            _ => None,
        };
        let Some(form) = form else { continue };
        let moment = Expr::column(*id, ty);
        let moment = match ty {
            Type::Date => coerce::cast(moment, Type::Timestamp),
            ty => coerce::cast(moment, ty.in_microseconds()),
        };
        let mut arguments = vec![moment, Expr::literal(Value::text(form), Type::Text)];
        arguments.extend(zones::session().filter(|_| ty.in_microseconds() == Type::TimestampTz));
        let written = query.columns.add(name.as_str(), Type::Text, nullable);
        made.push((written, call("strftime", arguments, Type::Text)));
        *id = written;
    }
    if !made.is_empty() {
        let plan = std::mem::replace(&mut query.plan, LogicalPlan::placeholder());
        query.plan = below_order(plan, made, &query.columns);
    }
    query
}

/// A plan that makes columns besides its own, computed before its rows are sorted and counted.
fn below_order(plan: LogicalPlan, made: Vec<(ColumnId, Expr)>, columns: &ColumnTable) -> LogicalPlan {
    match plan {
        LogicalPlan::Sort { input, keys, limit } => {
            LogicalPlan::Sort { input: Box::new(below_order(*input, made, columns)), keys, limit }
        }
        LogicalPlan::Limit { input, offset, count } => {
            LogicalPlan::Limit { input: Box::new(below_order(*input, made, columns)), offset, count }
        }
        plan => {
            let kept = plan.output().into_iter().map(|id| (id, columns.expr(id)));
            LogicalPlan::Project { expressions: kept.chain(made).collect(), input: Box::new(plan) }
        }
    }
}
