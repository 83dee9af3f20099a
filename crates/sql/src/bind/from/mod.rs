//! FROM: tables, files, subqueries, functions, and the joins between them.
//!
//! `bind_from` joins the items from left to right; each item gives a `Source`: a plan and the names it adds to the
//! scope. Names are looked up as common table expressions, tables, views, objects of the host and files, in the order
//! of `relation_named`. A source is `lateral` if it may use columns to its left; such joins are decorrelated by
//! `attach_lateral`. Every use of a table gets column ids of its own. Called by `bind::select` and by statements that
//! change rows.

pub(crate) mod asof;
mod histograms;
pub(crate) mod join;
pub(crate) mod pivot;
pub(crate) mod pivot_statement;
mod rows_from;
pub(crate) mod sample;
pub(crate) mod sample_rows;
pub(crate) mod series;
pub(crate) mod set_returning;
pub(crate) mod table_functions;
pub(crate) mod unnesting;

use std::rc::Rc;
use std::sync::Arc;

use access::PolicyCommand;
use plan::{
    ColumnId, Expr, ExprKind, FileSource, Function, JoinKind, LogicalPlan, ROW_REFERENCE, ScanSource,
};
use syntax::Span;
use syntax::tree::{self, TableKind};
use types::{Error, Result, SqlState, Type};

use crate::RelationInfo;
use crate::bind::expression::reserved::reserved;
use crate::bind::query::recursion::{Recursive, is_recurring};
use crate::bind::query::values::opening;
use crate::bind::refusal::unsupported;
use crate::bind::scope::{Entry, Scope, nearest};
use crate::bind::{Binder, Key, Relation, Used, folded, single_row};
use crate::names::Name;

/// A name of each table's rows: their places, which stay until the table's blocks are tidied.
pub(crate) const ROW_ID: &str = "rowid";

/// A table factor: its plan and the names it adds.
pub(crate) struct Source {
    /// The rows of the factor.
    pub plan: LogicalPlan,
    /// The columns of `plan` by the names that expressions can use.
    pub entries: Vec<Entry>,
    /// Whether `plan` may use columns of the factors to its left.
    pub lateral: bool,
}

/// The name that a factor goes by, and those of its columns.
#[derive(Clone, Copy)]
struct Alias<'a> {
    name: &'a tree::Name,
    columns: &'a [tree::AliasColumn],
}

/// A function in FROM.
struct Called<'a> {
    lateral: bool,
    name: &'a tree::Path,
    arguments: &'a [tree::Argument],
    ordinality: bool,
}

impl<'a> Binder<'a> {
    /// The items of FROM joined, and the scope of their columns; a single row without FROM.
    pub(crate) fn bind_from(
        &mut self,
        from: &'a [tree::TableWithJoins],
        outer: Option<Rc<Scope>>,
    ) -> Result<(LogicalPlan, Scope)> {
        let mut plan: Option<LogicalPlan> = None;
        let mut scope = Scope::new(outer);
        for item in from {
            let (next, entries) = self.bind_joins(item, &scope, plan.is_some())?;
            self.check_aliases(&scope.entries, &entries, item)?;
            scope.entries.extend(entries);
            plan = Some(match plan {
                None => next,
                Some(left) => self.attach_lateral(left, next, vec![], JoinKind::Inner)?,
            });
        }
        Ok((plan.unwrap_or_else(single_row), scope))
    }

    /// One item of the FROM list with its joins. `before` is what LATERAL sees, if anything stands before.
    fn bind_joins(
        &mut self,
        item: &'a tree::TableWithJoins,
        before: &Scope,
        something_before: bool,
    ) -> Result<(LogicalPlan, Vec<Entry>)> {
        let first = self.bind_factor(&item.table, before, something_before)?;
        let (mut plan, mut entries) = (first.plan, first.entries);
        for join in &item.joins {
            self.refuse_words(join)?;
            let mut visible = before.clone();
            visible.entries.extend(entries.iter().cloned());
            let right = self.bind_factor(&join.table, &visible, true)?;
            if let Some(twice) = shared_alias(&entries, &right.entries) {
                return Err(duplicate_alias(&twice));
            }
            (plan, entries) = self.bind_join(plan, entries, right, join, before)?;
        }
        Ok((plan, entries))
    }

    fn check_aliases(&self, known: &[Entry], new: &[Entry], item: &tree::TableWithJoins) -> Result<()> {
        match shared_alias(known, new) {
            Some(twice) => Err(self.error_at(duplicate_alias(&twice), self.factor_span(&item.table))),
            None => Ok(()),
        }
    }

    /// The number of each row of a table, for a text that names it; `None` where the table has a column of that name.
    fn row_id(&mut self, relation: &mut Relation) -> Option<ColumnId> {
        let named =
            self.text.as_bytes().windows(ROW_ID.len()).any(|w| w.eq_ignore_ascii_case(ROW_ID.as_bytes()));
        if !named || relation.columns.iter().any(|(name, _)| name.eq_ignore_ascii_case(ROW_ID)) {
            return None;
        }
        let LogicalPlan::Scan { source: ScanSource::Table { .. }, columns, .. } = &mut relation.plan else {
            return None;
        };
        let place = self.columns.add(ROW_ID, Type::BigInt, true);
        columns.push((place, ROW_REFERENCE));
        // Computed, so that what blocks know of their columns is not asked of it.
        let zero = Expr::literal(types::Value::I64(0), Type::BigInt);
        let kind =
            ExprKind::Function { function: Function::Coalesce, arguments: vec![self.column(place), zero] };
        let id = self.columns.add(ROW_ID, Type::BigInt, false);
        let mut expressions: Vec<(ColumnId, Expr)> =
            relation.columns.iter().map(|(_, id)| (*id, self.passed(*id))).collect();
        expressions.push((id, Expr::new(kind, Type::BigInt)));
        let input = Box::new(std::mem::replace(&mut relation.plan, LogicalPlan::placeholder()));
        relation.plan = LogicalPlan::Project { input, expressions };
        Some(id)
    }

    /// One factor of FROM with its alias, sample and pivots. `has_left` says whether factors to its left may be read.
    pub(crate) fn bind_factor(
        &mut self,
        table: &'a tree::Table,
        visible: &Scope,
        has_left: bool,
    ) -> Result<Source> {
        let alias = self.alias_of(table.alias.as_ref(), called(&table.kind).map(|called| called.name))?;
        let mut source = self.bind_plain_factor(table, alias, visible, has_left)?;
        for pivot in &table.pivots {
            let alias = self.alias_of(pivot.alias.as_ref(), None)?;
            let relation = self.table_pivot(source, pivot)?;
            source = self.source(relation, alias, None, None)?;
        }
        Ok(source)
    }

    /// A factor without the pivots behind it.
    fn bind_plain_factor(
        &mut self,
        table: &'a tree::Table,
        alias: Option<Alias<'a>>,
        visible: &Scope,
        has_left: bool,
    ) -> Result<Source> {
        let span = self.factor_span(table);
        let sample = table.sample.as_ref();
        match &table.kind {
            // There is no inheritance of tables, so that ONLY takes nothing away.
            TableKind::Named { only: _, name } => {
                let (mut relation, default) = self.named_table(name)?;
                relation.plan = self.table_sample(relation.plan, sample, span)?;
                let schema = match name.names.as_slice() {
                    [_, .., _] if alias.is_none() => {
                        let names: Vec<Name> = name.names.iter().map(Name::of).collect();
                        self.placed(&names)?.0.map(|schema| Rc::from(schema.text.as_str()))
                    }
                    _ => None,
                };
                let row = self.row_id(&mut relation);
                let mut source = self.source(relation, alias, Some(default), schema)?;
                if let Some(id) = row {
                    let first = source.entries.first();
                    let (table, schema) =
                        (first.and_then(|e| e.table.clone()), first.and_then(|e| e.schema.clone()));
                    let name = ROW_ID.into();
                    source.entries.push(Entry { table, schema, name, id, plain: true, hidden: true });
                }
                Ok(source)
            }
            TableKind::File(file) => {
                let (mut relation, default) = self.file_table(file)?;
                relation.plan = self.table_sample(relation.plan, sample, span)?;
                self.source(relation, alias, Some(default), None)
            }
            TableKind::Query { lateral, query } => {
                if let Some(statement) = inspected(query) {
                    let mut relation = self.bind_inspection(statement)?;
                    relation.plan = self.table_sample(relation.plan, sample, span)?;
                    return self.function_source(relation, alias, "inspected".to_owned());
                }
                let outer = match *lateral && has_left {
                    true => Some(Rc::new(visible.clone())),
                    false => visible.parent.clone(),
                };
                let mut relation = self.bind_query(query, outer)?;
                relation.plan = self.table_sample(relation.plan, sample, span)?;
                let mut source = self.source(relation, alias, None, None)?;
                source.lateral = *lateral;
                Ok(source)
            }
            TableKind::Function { .. } | TableKind::RowsFrom { .. } => match called(&table.kind) {
                Some(called) => {
                    self.bind_called(called, (table, table.alias.as_ref()), alias, visible, has_left)
                }
                None => self.rows_from(table, alias, visible, has_left),
            },
            TableKind::Joined(joined) => {
                if sample.is_some() {
                    return Err(unsupported("TABLESAMPLE of a join", self.text, table.span));
                }
                let inner = Scope::new(visible.parent.clone());
                let (plan, entries) = self.bind_joins(joined, &inner, false)?;
                match alias {
                    None => Ok(Source { plan, entries, lateral: false }),
                    Some(_) => {
                        let columns =
                            entries.iter().filter(|e| e.plain).map(|e| (e.name.clone(), e.id)).collect();
                        self.source(Relation { plan, columns }, alias, None, None)
                    }
                }
            }
        }
    }

    /// A function in FROM.
    fn bind_called(
        &mut self,
        called: Called<'a>,
        (table, columns): (&'a tree::Table, Option<&tree::TableAlias>),
        alias: Option<Alias<'a>>,
        visible: &Scope,
        has_left: bool,
    ) -> Result<Source> {
        let Called { lateral, name, arguments, ordinality } = called;
        let span = name.span();
        let sample = table.sample.as_ref();
        let unnests = unnests(name);
        if (unnests || lateral) && sample.is_some() {
            return Err(unsupported("TABLESAMPLE of this function", self.text, table.span));
        }
        let scope = || {
            Rc::new(Scope::new(match has_left {
                true => Some(Rc::new(visible.clone())),
                false => visible.parent.clone(),
            }))
        };
        if unnests {
            let named = arguments.iter().find(|argument| argument.variadic || argument.name.is_some());
            if let (Some(named), false) = (named, lateral) {
                return Err(unsupported("unnest with named arguments", self.text, named.value.span));
            }
            self.no_variadic(arguments)?;
            let lists = match lateral {
                true => arguments.iter().filter_map(|argument| self.argument_value(argument)).collect(),
                false => arguments.iter().map(|argument| &argument.value).collect(),
            };
            let relation = self.unnest_factor(lists, ordinality, scope())?;
            let mut source = self.function_source(relation, alias, "unnest".to_owned())?;
            source.lateral = has_left;
            return Ok(source);
        }
        self.no_variadic(arguments)?;
        if let Some(function) = crate::bind::from::unnesting::expanded(name) {
            let given = (arguments, columns);
            let relation = self.expanded_json(&function, given, ordinality, scope(), span)?;
            let mut source = self.function_source(relation, alias, function)?;
            source.lateral = has_left;
            return Ok(source);
        }
        let mut uses_left = false;
        let (mut relation, default) = match crate::bind::from::series::series_name(name) {
            Some(function) => {
                let (relation, uses) = self.series(&function, arguments, ordinality, scope(), span)?;
                uses_left = uses;
                (relation, function)
            }
            None => {
                let (relation, default) = self.table_function(name, arguments)?;
                (if ordinality { self.with_ordinality(relation) } else { relation }, default)
            }
        };
        relation.plan = self.table_sample(relation.plan, sample, span)?;
        let mut source = self.function_source(relation, alias, default)?;
        source.lateral = uses_left && has_left;
        Ok(source)
    }

    /// An alias; one without a name goes by that of its function.
    fn alias_of(
        &self,
        alias: Option<&'a tree::TableAlias>,
        function: Option<&'a tree::Path>,
    ) -> Result<Option<Alias<'a>>> {
        // A name before what it names says the same.
        let Some(tree::TableAlias { name, columns, first: _ }) = alias else { return Ok(None) };
        match name.as_ref().or(function.and_then(tree::Path::last)) {
            Some(name) => Ok(Some(Alias { name, columns })),
            None => {
                let at = columns.first().map(|column| column.name.span).unwrap_or_default();
                Err(unsupported("a list of columns without a name before it", self.text, at))
            }
        }
    }

    /// Where errors about a factor point at; some kinds have no such place.
    fn factor_span(&self, table: &tree::Table) -> Span {
        if !table.pivots.is_empty() {
            return Span::default();
        }
        match &table.kind {
            TableKind::Named { name, .. } => name.span(),
            TableKind::File(file) => file.span,
            TableKind::Query { query, .. } => match inspected(query) {
                Some(statement) => opening(self.text, statement.span),
                None => {
                    let name = table.alias.as_ref().and_then(|alias| alias.name.as_ref());
                    name.map(|name| name.span).unwrap_or_default()
                }
            },
            TableKind::Joined(_) => Span::default(),
            TableKind::Function { .. } | TableKind::RowsFrom { .. } => {
                let called = called(&table.kind).filter(|called| called.lateral || !unnests(called.name));
                called.map(|called| called.name.span()).unwrap_or_default()
            }
        }
    }

    /// A function's rows. An alias without columns names the column of a function of single values, as in PostgreSQL;
    /// what the function calls it stays another name of it, and where the function names it (`value`) the alias is
    /// one.
    fn function_source(
        &mut self,
        mut relation: Relation,
        alias: Option<Alias<'_>>,
        function: String,
    ) -> Result<Source> {
        let typed = alias.filter(|a| a.columns.iter().any(|c| c.ty.is_some()));
        if let (Some(alias), false) = (typed, crate::bind::from::set_returning::gives_records(&function)) {
            let error = Error::new(
                SqlState::SyntaxError,
                "a column definition list is only allowed for functions returning \"record\"",
            )
            .with_hint("leave the types out, or cast the columns");
            return Err(self.error_at(error, alias.name.span));
        }
        let single = match relation.columns.as_slice() {
            [(name, id)] => Some((name.clone(), *id)),
            [(name, id), (second, _)] if &**second == "ordinality" => Some((name.clone(), *id)),
            _ => None,
        };
        let named = alias.filter(|a| a.columns.is_empty()).map(|a| folded(a.name));
        let mut other: Option<(Rc<str>, ColumnId)> = None;
        if let (Some((name, id)), Some(alias)) = (single, named) {
            if *name == *function {
                relation.columns[0].0 = alias.as_str().into();
                other = Some((name, id));
            } else if *name == *"value" {
                other = Some((alias.as_str().into(), id));
            }
        }
        let mut source = self.source(relation, alias, Some(function), None)?;
        let table = source.entries.first().and_then(|e| e.table.clone());
        let hidden = |(name, id)| Entry { table, schema: None, name, id, plain: true, hidden: true };
        source.entries.extend(other.map(hidden));
        Ok(source)
    }

    /// Names a relation's columns by its alias, or by `default`.
    fn source(
        &mut self,
        mut relation: Relation,
        alias: Option<Alias<'_>>,
        default: Option<String>,
        schema: Option<Rc<str>>,
    ) -> Result<Source> {
        let mut table = default.map(|d| Rc::from(d.as_str()));
        if let Some(alias) = alias {
            table = Some(Rc::from(folded(alias.name).as_str()));
            let names: Vec<String> = alias.columns.iter().map(|c| folded(&c.name)).collect();
            self.rename_columns(&mut relation, &names).map_err(|e| self.error_at(e, alias.name.span))?;
        }
        let entries = relation
            .columns
            .into_iter()
            .map(|(name, id)| Entry {
                table: table.clone(),
                schema: schema.clone(),
                name,
                id,
                plain: true,
                hidden: self.unlisted.contains(&id),
            })
            .collect();
        Ok(Source { plan: relation.plan, entries, lateral: false })
    }

    /// A table or a common table expression, and the name it goes by without an alias.
    pub(crate) fn named_table(&mut self, name: &tree::Path) -> Result<(Relation, String)> {
        let span = name.span();
        if let Some(at) = self.ctes.iter().rposition(|cte| is_recurring(name, &cte.name))
            && let Some(rows) = self.ctes[at].recursion.as_ref().and_then(Recursive::recurring)
        {
            let rows = rows.clone();
            return Ok((self.read_rows(&rows), self.ctes[at].name.clone()));
        }
        let names: Vec<Name> = name.names.iter().map(Name::of).collect();
        let (schema, table) = self.placed(&names).map_err(|e| self.error_at(e, span))?;
        let (schema, table) = (schema.as_ref(), &table);
        if let Some(found) = self.relation_named(schema.map(|s| s.text.as_str()), &table.text, span)? {
            return Ok(found);
        }
        let other = self.respelled(schema, table).map_err(|e| self.error_at(e, span))?;
        if let Some((schema, name)) = other
            && let Some(found) = self.relation_named(schema.as_deref(), &name, span)?
        {
            return Ok(found);
        }
        let reserved = name.names.iter().find_map(reserved);
        let unknown = || self.unknown_table(schema.map(|s| s.text.as_str()), &table.text);
        Err(self.error_at(reserved.unwrap_or_else(unknown), span))
    }

    /// `'file.parquet'`, and the name it goes by without an alias.
    pub(crate) fn file_table(&mut self, file: &tree::TextLiteral) -> Result<(Relation, String)> {
        let source = self.relations.file(&file.text, &[]).map_err(|e| self.error_at(e, file.span))?;
        Ok((self.file(source), file_stem(&file.text)))
    }

    /// The schema and the name that the parts of a name mean.
    pub(crate) fn placed(&self, names: &[Name]) -> Result<(Option<Name>, Name)> {
        match names {
            [name] => Ok((None, name.clone())),
            [schema, name] => {
                let key = self.relations.schema_key(None, &schema.text)?;
                let schema = if key == schema.text { schema.clone() } else { Name::exact(&key) };
                Ok((Some(schema), name.clone()))
            }
            [database, schema, name] => {
                let key = self.relations.schema_key(Some(&database.text), &schema.text)?;
                Ok((Some(Name::exact(&key)), name.clone()))
            }
            _ => Err(Error::unsupported("a name has at most a database, a schema and a name")),
        }
    }

    /// How a name that nothing is spelled like is spelled but for its case: a common table expression's, or that of a
    /// table, a view or a sequence, with its schema.
    pub(crate) fn respelled(
        &self,
        schema: Option<&Name>,
        name: &Name,
    ) -> Result<Option<(Option<String>, String)>> {
        if schema.is_none()
            && let Some(cte) = self.ctes.iter().rev().find(|c| name.resembles(&c.name))
        {
            return Ok(Some((None, cte.name.clone())));
        }
        let schema = match schema {
            None => None,
            Some(schema) => {
                let known = self.relations.schema_names();
                let at = schema.position(known.iter().map(String::as_str), "schema")?;
                Some(at.map_or_else(|| schema.text.clone(), |at| known[at].clone()))
            }
        };
        let known = self.relations.names_in(schema.as_deref());
        let at = name.position(known.iter().map(String::as_str), "relation")?;
        Ok(at.map(|at| (schema, known[at].clone())))
    }

    /// What a name means as it is spelled; `None` when there is nothing of that name.
    fn relation_named(
        &mut self,
        schema: Option<&str>,
        table: &str,
        span: Span,
    ) -> Result<Option<(Relation, String)>> {
        let named = |relation: Relation| Ok(Some((relation, table.to_owned())));
        if schema.is_none()
            && let Some(at) = self.find_cte(table)
        {
            return named(self.bind_cte(at)?);
        }
        if let Some(view) = self.relations.view(schema, table) {
            self.count_instance()?;
            let shown = schema.map_or_else(|| table.to_owned(), |s| format!("{s}.{table}"));
            let owned = self.relations.view_owner(schema, table);
            let Some((owner, place)) = owned else { return named(self.bind_view(&shown, view, span)?) };
            let around = self.enter_view(owner);
            let bound = self.bind_view(&shown, view, span).inspect(|relation| {
                relation.columns.iter().for_each(|(_, id)| self.mark(*id));
            });
            self.leave_view(around);
            let relation = bound?;
            self.note_use(Used::View(place.0, place.1), &relation, true);
            return named(relation);
        }
        if let Some(info) = self.relations.table(schema, table).map_err(|e| self.error_at(e, span))? {
            return named(self.scan_to_read(info)?);
        }
        if schema.is_some_and(|schema| schema != crate::PG_CATALOG) {
            return Ok(None);
        }
        if schema.is_none()
            && let Some(source) = self.relations.object(table)
        {
            return named(self.file(source));
        }
        match self.relations.system(table).map_err(|e| self.error_at(e, span))? {
            // A listing of the catalog, its brackets left out.
            Some(listed) => {
                let relation = self.constant_rows(listed.columns.fields(), listed.rows);
                // What PostgreSQL has in every relation, and no star shows.
                let hidden = relation.columns.iter().filter(|(name, _)| crate::HIDDEN.contains(&&**name));
                self.unlisted.extend(hidden.map(|(_, id)| *id));
                named(relation)
            }
            None => Ok(None),
        }
    }

    /// The error for a relation that does not exist, with the nearest name as a hint.
    pub(crate) fn unknown_table(&self, schema: Option<&str>, table: &str) -> Error {
        let shown = schema.map_or_else(|| table.to_owned(), |s| format!("{s}.{table}"));
        let error = Error::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist"));
        let tables = self.relations.table_names();
        let known = tables.iter().map(String::as_str).chain(self.ctes.iter().map(|c| c.name.as_str()));
        if schema.is_some() && tables.iter().any(|known| known == table) {
            // The schema is the mistake.
            return error.with_hint(format!("did you mean \"{table}\"?"));
        }
        if let Some(near) = nearest(table, known) {
            return error.with_hint(format!("did you mean \"{near}\"?"));
        }
        let extension = schema.is_some()
            && ["parquet", "csv", "tsv", "tbl", "arrow", "json", "ipc", "feather"].contains(&table);
        if extension || table.contains(['.', '/']) {
            return error.with_hint("a file's path stands in single quotes");
        }
        error
    }

    /// A scan of a table that a query reads, with the rows that its row policies let pass.
    fn scan_to_read(&mut self, info: RelationInfo) -> Result<Relation> {
        let relation = self.scan(info.clone());
        self.note_use(Used::Table(info.id), &relation, true);
        self.rows_let_pass(&info, relation, PolicyCommand::Select)
    }

    /// A scan of all columns of a table, under new column ids; notes its keys.
    pub(crate) fn scan(&mut self, info: RelationInfo) -> Relation {
        let fields = info.columns.fields();
        let ids: Vec<ColumnId> =
            fields.iter().map(|f| self.columns.add(f.name.clone(), f.ty, f.nullable)).collect();
        let without = info.has_nulls.iter().zip(&ids).filter(|(has_nulls, _)| !**has_nulls);
        // A statement that is kept for values to come meets other data.
        if !self.values.is_later() {
            self.without_nulls.extend(without.map(|(_, id)| *id));
        }
        for key in info.primary_key.iter().chain(&info.unique) {
            // A unique key with NULLs determines nothing.
            let certain = info.primary_key.as_ref() == Some(key) || key.iter().all(|k| !fields[*k].nullable);
            if certain {
                let columns = key.iter().map(|k| ids[*k]).collect();
                self.keys.push(Key { columns, row: ids.clone() });
            }
        }
        let columns = fields.iter().zip(&ids).map(|(f, id)| (f.name.as_str().into(), *id)).collect();
        let plan = LogicalPlan::Scan {
            source: ScanSource::Table { table: info.id, name: info.name.clone(), sample: None },
            columns: ids.iter().enumerate().map(|(at, id)| (*id, at)).collect(),
            filters: vec![],
        };
        Relation { plan, columns }
    }

    /// A scan of all columns of a file, under new column ids.
    pub(crate) fn file(&mut self, source: FileSource) -> Relation {
        let ids: Vec<ColumnId> = source
            .schema
            .fields()
            .iter()
            .map(|f| self.columns.add(f.name.clone(), f.ty, f.nullable))
            .collect();
        let columns =
            source.schema.fields().iter().zip(&ids).map(|(f, id)| (f.name.as_str().into(), *id)).collect();
        let plan = LogicalPlan::Scan {
            source: ScanSource::File(Arc::new(source)),
            columns: ids.iter().enumerate().map(|(at, id)| (*id, at)).collect(),
            filters: vec![],
        };
        Relation { plan, columns }
    }
}

/// A table name that both lists have, which is an error unless their schemas differ.
pub(crate) fn shared_alias(known: &[Entry], new: &[Entry]) -> Option<String> {
    let mut last: Option<&Rc<str>> = None;
    for entry in new {
        let Some(table) = &entry.table else { continue };
        if last == Some(table) {
            continue;
        }
        last = Some(table);
        // Tables of two schemas that stand there with these may have one name, as in PostgreSQL.
        let elsewhere =
            |known: &Entry| known.schema.is_some() && entry.schema.is_some() && known.schema != entry.schema;
        if known.iter().any(|k| k.table.as_ref() == Some(table) && !elsewhere(k)) {
            return Some(table.to_string());
        }
    }
    None
}

/// The error for two tables of one name in FROM.
pub(crate) fn duplicate_alias(name: &str) -> Error {
    Error::new(SqlState::DuplicateAlias, format!("table name \"{name}\" specified more than once"))
        .with_hint("give one of them an alias")
}

/// The function of a factor, if it is one.
fn called(kind: &TableKind) -> Option<Called<'_>> {
    match kind {
        TableKind::Function { lateral, name, arguments, ordinality } => {
            Some(Called { lateral: *lateral, name, arguments, ordinality: *ordinality })
        }
        TableKind::RowsFrom { lateral, functions, ordinality } => match functions.as_slice() {
            [(name, arguments, columns)] if columns.is_empty() => {
                Some(Called { lateral: *lateral, name, arguments, ordinality: *ordinality })
            }
            _ => None,
        },
        _ => None,
    }
}

fn unnests(name: &tree::Path) -> bool {
    crate::bind::function::catalog_name(name)
        .is_some_and(|name| !name.quoted && name.text.eq_ignore_ascii_case("unnest"))
}

/// DESCRIBE, SHOW or SUMMARIZE, if a query is no more than that.
fn inspected(query: &tree::Query) -> Option<&tree::Statement> {
    match query {
        tree::Query {
            with: None,
            body: tree::SetExpr::Inspect(statement),
            order_by,
            limit: None,
            offset: None,
            locks,
            span: _,
        } if order_by.is_empty() && locks.is_empty() => Some(statement),
        _ => None,
    }
}

/// `dir/orders.parquet` goes by the name `orders`.
pub(crate) fn file_stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name).to_lowercase()
}
