//! `PIVOT t ON k USING sum(x) GROUP BY g` and `UNPIVOT t ON a, b INTO NAME n VALUE v`: written out as queries.
//!
//! ```text
//! PIVOT t ON k USING sum(x)        SELECT g, sum(x) FILTER (WHERE k = 'a') AS a, ... FROM t GROUP BY g
//! UNPIVOT t ON a, b                SELECT * FROM t UNPIVOT (value FOR name IN (a, b))
//! ```
//! Without ON nothing is spread, and the aggregates are columns of their own. FILTER goes to every aggregate of an
//! expression behind USING. The columns of a query are known before it runs, but those of a PIVOT without IN come from the table: its values
//! are asked for, by a query of its own, while the statement is bound. The query that a statement is written out as is
//! not what the user has written, so that its errors are told at the statement.

use std::collections::HashSet;

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal, PivotValues};
use types::{Error, Result, SqlState, Type};

use crate::bind::from::sample::word_before;
use crate::bind::function::aggregate::is_aggregate;
use crate::bind::refusal::unexpected;
use crate::bind::{Binder, Relation, folded};
use crate::words::Words;

/// Columns that one PIVOT may make.
const COLUMNS_MAX: usize = 1600;

/// A column that is spread, and the values that get columns, each with its name.
struct Key<'a> {
    value: &'a Ast,
    among: Vec<(Ast, String)>,
}

/// An expression over aggregates, and the name that is given to it.
struct Aggregate {
    value: Ast,
    /// As it is written.
    written: String,
    alias: Option<String>,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

/// An error of a text that the user has not written.
fn unplaced(error: &Error) -> Error {
    let told = Error::new(error.state(), error.message());
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// What no text says.
fn made(kind: AstKind) -> Ast {
    Ast { kind, span: Span::default() }
}

fn operator(kind: tree::OperatorKind) -> tree::Operator {
    tree::Operator { kind, span: Span::default() }
}

fn bracketed(ast: &Ast) -> Ast {
    Ast { kind: AstKind::Nested(Box::new(ast.clone())), span: ast.span }
}

fn named(value: Ast, alias: Option<tree::Name>) -> tree::SelectItem {
    tree::SelectItem { value, alias, alias_first: false }
}

fn quoted(name: String) -> tree::Name {
    tree::Name { text: name.into(), quoted: true, span: Span::default() }
}

fn column(name: String) -> Ast {
    made(AstKind::Column(tree::Path { names: vec![quoted(name)] }))
}

fn star(span: Span) -> Ast {
    let star =
        tree::Star { of: None, exclude: vec![], except: false, replace: vec![], rename: vec![], names: None };
    Ast { kind: AstKind::Star(Box::new(star)), span }
}

/// A query that selects `items`.
fn select(items: Vec<tree::SelectItem>, from: tree::TableWithJoins, span: Span) -> tree::Select {
    tree::Select {
        distinct: tree::Distinct::Unsaid,
        items,
        order: tree::ClauseOrder::SelectFirst,
        into: None,
        from: vec![from],
        condition: None,
        group_by: None,
        having: None,
        windows: vec![],
        qualify: None,
        sample: None,
        span,
    }
}

fn query(select: tree::Select) -> tree::Query {
    let span = select.span;
    tree::Query {
        with: None,
        body: tree::SetExpr::Select(Box::new(select)),
        order_by: vec![],
        limit: None,
        offset: None,
        locks: vec![],
        span,
    }
}

/// `SELECT * FROM table`.
pub(crate) fn everything(from: tree::TableWithJoins, span: Span) -> tree::Query {
    query(select(vec![named(star(span), None)], from, span))
}

/// The names that a text uses, in lower case unless quoted.
fn names_in(text: &str) -> Result<Vec<String>> {
    let words = Words::of(text).map_err(|error| wrong(error.message))?;
    Ok((0..words.tokens.len()).filter_map(|at| words.name(at)).collect())
}

/// `item IN values` as the condition that it is elsewhere.
fn membership(item: &tree::SelectItem, among: &PivotValues) -> Ast {
    let set = match among {
        PivotValues::List(items) => tree::InSet::List(items.iter().map(|item| item.value.clone()).collect()),
        PivotValues::Query(query) => tree::InSet::Query(query.clone()),
        PivotValues::Type(name) => {
            let kind = AstKind::Column(name.clone());
            tree::InSet::Expr(Ast { kind, span: name.span() })
        }
    };
    let test = tree::InTest { expr: item.value.clone(), negated: false, set };
    Ast { kind: AstKind::In(Box::new(test)), span: item.value.span }
}

impl<'a> Binder<'a> {
    /// The rows of a PIVOT or UNPIVOT statement. `query` is the query whose body it is; the ORDER BY, LIMIT and OFFSET
    /// of that one belong to it, and its WITH has been bound.
    pub(crate) fn bind_pivot_statement(
        &mut self,
        pivot: &'a tree::PivotStatement,
        query: Option<&'a tree::Query>,
    ) -> Result<Relation> {
        let span = pivot.span;
        if pivot.on.is_empty() && pivot.unpivot {
            return Err(self.error_at(wrong("ON needs at least one column"), span));
        }
        let written = match pivot.unpivot {
            true => self.unpivot_query(pivot),
            false => self.pivot_query(pivot, query),
        };
        let mut written =
            written.map_err(|e| if e.position().is_some() { e } else { self.error_at(e, span) })?;
        if let Some(tree::Query { with: _, body: _, order_by, limit, offset, locks, span: _ }) = query {
            written.order_by.clone_from(order_by);
            written.limit.clone_from(limit);
            written.offset.clone_from(offset);
            written.locks.clone_from(locks);
        }
        let what = if pivot.unpivot { "UNPIVOT" } else { "PIVOT" };
        self.bind_made(what, written, span)
    }

    /// A query that a statement is written out as, where the statement stands.
    fn bind_made(&mut self, what: &str, query: tree::Query, span: Span) -> Result<Relation> {
        self.count_instance()?;
        let query = self.texts.keep_query(query);
        self.told_at(what.to_owned(), span, |binder| binder.bind_query(query, None))
    }

    /// The names of a query's columns.
    fn source_columns(&mut self, query: tree::Query, span: Span) -> Result<Vec<String>> {
        let relation = self.bind_made("the table of a PIVOT", query, span)?;
        Ok(relation.columns.into_iter().map(|(name, _)| name.to_string()).collect())
    }

    fn unpivot_query(&mut self, pivot: &'a tree::PivotStatement) -> Result<tree::Query> {
        let span = pivot.span;
        let (name, value) = match &pivot.into {
            None => (quoted("name".into()), quoted("value".into())),
            Some((name, values)) => match values.as_slice() {
                [value] => (name.clone(), value.clone()),
                _ => {
                    return Err(wrong("INTO takes NAME and VALUE, each with one column")
                        .with_hint("write INTO NAME month VALUE sales"));
                }
            },
        };
        let mut columns = Vec::with_capacity(pivot.on.len());
        for tree::PivotOn { item, among } in &pivot.on {
            if let Some(among) = among {
                columns.push(named(membership(item, among), item.alias.clone()));
                continue;
            }
            let written = item.value.span.of(self.text);
            let chooses = written.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("columns"));
            if chooses || matches!(item.value.kind, AstKind::Star(_)) {
                let chosen = select(vec![item.clone()], pivot.source.as_ref().clone(), span);
                let names = self.source_columns(self::query(chosen), span)?;
                columns.extend(names.into_iter().map(|name| named(column(name), None)));
            } else {
                columns.push(item.clone());
            }
        }
        let include_nulls = pivot.include_nulls.filter(|include| *include);
        let unpivot = tree::Unpivot { include_nulls, values: vec![value], name, columns };
        let kind = tree::TablePivotKind::Unpivot(unpivot);
        let mut source = pivot.source.as_ref().clone();
        let last = source.joins.last_mut().map_or(&mut source.table, |join| &mut join.table);
        last.pivots.push(tree::TablePivot { kind, alias: None, span });
        Ok(everything(source, span))
    }

    /// The columns that are spread, with their values: those of IN, or those that the table has.
    fn pivot_keys(
        &mut self,
        pivot: &'a tree::PivotStatement,
        query: Option<&'a tree::Query>,
    ) -> Result<Vec<Key<'a>>> {
        let span = pivot.span;
        let mut keys = Vec::with_capacity(pivot.on.len());
        for tree::PivotOn { item, among } in &pivot.on {
            if let Some(alias) = &item.alias {
                return Err(unexpected(self.text, alias.span));
            }
            let (value, shown) = match among {
                Some(PivotValues::List(items)) => {
                    let among = items.iter().map(|item| self.pivot_value(item)).collect();
                    keys.push(Key { value: &item.value, among });
                    continue;
                }
                Some(PivotValues::Query(among)) => {
                    let question = format!("{} {}", self.with_text(query), among.span.of(self.text));
                    let among = self.asked_values(&question, span)?;
                    keys.push(Key { value: &item.value, among });
                    continue;
                }
                Some(among @ PivotValues::Type(name)) => {
                    let test = self.texts.keep_expr(membership(item, among));
                    (test, item.value.span.to(name.span()))
                }
                None => (&item.value, item.value.span),
            };
            let (key, with, source) = (shown.of(self.text), self.with_text(query), self.source_text(pivot));
            let question =
                format!("{with} SELECT DISTINCT {key} FROM {source} WHERE ({key}) IS NOT NULL ORDER BY 1");
            let among = self.asked_values(&question, span)?;
            keys.push(Key { value, among });
        }
        Ok(keys)
    }

    /// The WITH before a PIVOT as it is written.
    fn with_text(&self, query: Option<&tree::Query>) -> &'a str {
        let Some(query) = query.filter(|query| query.with.is_some()) else { return "" };
        let body = match &query.body {
            tree::SetExpr::Pivot(pivot) => pivot.span.start,
            _ => query.span.start,
        };
        Span::new(query.span.start, body).of(self.text)
    }

    /// The values that a query answers, each with its name, those that come twice once.
    fn asked_values(&mut self, question: &str, span: Span) -> Result<Vec<(Ast, String)>> {
        let rows = self.relations.answer(question).map_err(|e| self.error_at(unplaced(&e), span))?;
        let ty = rows.columns.fields().first().map_or(Type::Text, |f| f.ty);
        let mut among: Vec<(Ast, String)> = Vec::with_capacity(rows.rows.len());
        let mut known = HashSet::with_capacity(rows.rows.len());
        for value in rows.rows.iter().filter_map(|row| row.first()).filter(|value| !value.is_null()) {
            let name = value.display(ty);
            if known.insert(name.clone()) {
                among.push((made(AstKind::Literal(Literal::Text(name.as_str().into()))), name));
            }
        }
        Ok(among)
    }

    /// A value of IN with its name: a text's own, and what is written of others.
    fn pivot_value(&self, item: &tree::SelectItem) -> (Ast, String) {
        let name = match (&item.alias, &item.value.kind) {
            (Some(alias), _) => self.given_name(alias),
            (None, AstKind::Literal(Literal::Text(text))) => text.to_string(),
            (None, _) => item.value.span.of(self.text).to_owned(),
        };
        (item.value.clone(), name)
    }

    /// A name as it is written, without its quotes.
    fn given_name(&self, name: &tree::Name) -> String {
        name.span.of(self.text).trim_matches('"').to_owned()
    }

    /// The text of what is turned: from its first table to ON.
    fn source_text(&self, pivot: &tree::PivotStatement) -> &'a str {
        let start = pivot.source.table.span.start;
        let first = pivot.on.first().map_or(pivot.span.end, |on| on.item.value.span.start);
        Span::new(start, word_before(self.text, first, "on").start).of(self.text).trim_end()
    }

    fn aggregates(&self, pivot: &tree::PivotStatement) -> Result<Vec<Aggregate>> {
        if pivot.aggregates.is_empty() && pivot.on.is_empty() {
            return Ok(vec![]);
        }
        if pivot.aggregates.is_empty() {
            let name = tree::Name { text: "count".into(), quoted: false, span: Span::default() };
            let argument = tree::Argument { variadic: false, name: None, value: star(Span::default()) };
            let call = tree::Call {
                name: tree::Path { names: vec![name] },
                arguments: Some(tree::Arguments { list: vec![argument], ..tree::Arguments::default() }),
                within_group: vec![],
                filter: None,
                nulls: None,
                over: None,
            };
            let value = made(AstKind::Call(Box::new(call)));
            return Ok(vec![Aggregate { value, written: "count(*)".to_owned(), alias: None }]);
        }
        let aggregate = |tree::SelectItem { value, alias, alias_first: _ }: &tree::SelectItem| {
            let mut value = value.clone();
            if !restricted(&mut value, None)? {
                return Err(no_aggregate());
            }
            Ok(Aggregate {
                value: value.clone(),
                written: value.span.of(self.text).to_owned(),
                alias: alias.as_ref().map(|alias| self.given_name(alias)),
            })
        };
        pivot.aggregates.iter().map(aggregate).collect()
    }

    fn pivot_query(
        &mut self,
        pivot: &'a tree::PivotStatement,
        query: Option<&'a tree::Query>,
    ) -> Result<tree::Query> {
        let span = pivot.span;
        let keys = self.pivot_keys(pivot, query)?;
        let aggregates = self.aggregates(pivot)?;
        let count = keys.iter().try_fold(aggregates.len(), |n, key| n.checked_mul(key.among.len()));
        if count.is_none_or(|count| count > COLUMNS_MAX) {
            let error = Error::new(
                SqlState::StatementTooComplex,
                format!("PIVOT would make more than {COLUMNS_MAX} columns"),
            );
            return Err(error.with_hint("name the values that are wanted: ON k IN ('a', 'b')"));
        }
        let groups: Vec<Ast> = match pivot.group_by.as_slice() {
            [] if keys.is_empty() => vec![],
            [] => {
                let mut used = Vec::new();
                let spread = keys.iter().map(|key| key.value.span.of(self.text));
                for text in spread.chain(aggregates.iter().map(|aggregate| aggregate.written.as_str())) {
                    used.extend(names_in(text)?);
                }
                let all = self.source_columns(everything(pivot.source.as_ref().clone(), span), span)?;
                all.into_iter().filter(|name| !used.contains(name)).map(column).collect()
            }
            groups => groups.to_vec(),
        };
        // Every combination of the keys' values, the last key's fastest.
        let mut combinations: Vec<(Vec<Ast>, Vec<&str>)> = vec![(vec![], vec![])];
        for Key { value: key, among } in &keys {
            let mut next = Vec::with_capacity(combinations.len() * among.len());
            for (conditions, names) in &combinations {
                for (value, name) in among {
                    let mut both = (conditions.clone(), names.clone());
                    both.0.push(condition(key, value));
                    both.1.push(name);
                    next.push(both);
                }
            }
            combinations = next;
        }
        let mut items: Vec<tree::SelectItem> =
            groups.iter().map(|group| named(group.clone(), None)).collect();
        let several = aggregates.len() > 1;
        for (conditions, names) in &combinations {
            for Aggregate { value, written, alias } in &aggregates {
                let name = names.join("_");
                let name = match alias {
                    Some(alias) if names.is_empty() => alias.clone(),
                    Some(alias) => format!("{name}_{alias}"),
                    None if names.is_empty() => written.to_lowercase(),
                    None if several => format!("{name}_{}", written.to_lowercase()),
                    None => name,
                };
                let mut value = value.clone();
                restricted(&mut value, all_of(conditions).as_ref())?;
                items.push(named(value, Some(quoted(name))));
            }
        }
        if items.is_empty() {
            return Err(Error::new(
                SqlState::UndefinedColumn,
                "PIVOT makes no columns: the table has no values to make them of",
            ));
        }
        let mut select = select(items, pivot.source.as_ref().clone(), span);
        if !groups.is_empty() {
            let items = tree::GroupItems::List(groups.into_iter().map(tree::GroupItem::Expr).collect());
            select.group_by = Some(tree::GroupBy { distinct: None, items });
        }
        Ok(self::query(select))
    }
}

/// Gives the aggregates of an expression, under casts, operators and other calls, a FILTER; whether there are any.
fn restricted(value: &mut Ast, filter: Option<&Ast>) -> Result<bool> {
    match &mut value.kind {
        AstKind::Nested(inner) => restricted(inner, filter),
        AstKind::Cast(cast) => restricted(&mut cast.expr, filter),
        AstKind::Prefix(_, operand) => restricted(operand, filter),
        AstKind::Chain(first, others) => {
            let mut any = restricted(first, filter)?;
            for (_, operand) in others {
                any |= restricted(operand, filter)?;
            }
            Ok(any)
        }
        AstKind::Call(call) => {
            if call.arguments.is_none() || call.filter.is_some() || call.over.is_some() {
                return Err(no_aggregate());
            }
            let aggregate = call.name.last().is_some_and(|name| is_aggregate(&folded(name)));
            if !aggregate {
                let arguments = call.arguments.iter_mut().flat_map(|arguments| &mut arguments.list);
                let mut any = false;
                for argument in arguments {
                    any |= restricted(&mut argument.value, filter)?;
                }
                if any {
                    return Ok(true);
                }
            }
            // A macro may stand for an aggregate, and what is none is told where it is bound.
            call.filter = filter.cloned();
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The error for what no FILTER can stand behind.
fn no_aggregate() -> Error {
    wrong("syntax error at or near \"FILTER\"")
}

/// Whether a key has a value.
fn condition(key: &Ast, value: &Ast) -> Ast {
    let key = bracketed(key);
    match value.kind {
        AstKind::Literal(Literal::Null) => {
            made(AstKind::Is(Box::new(tree::IsTest { expr: key, negated: false, test: tree::IsKind::Null })))
        }
        _ => {
            let equal = operator(tree::OperatorKind::Equal);
            made(AstKind::Chain(Box::new(key), vec![(equal, value.clone())]))
        }
    }
}

/// The conditions joined by AND.
fn all_of(conditions: &[Ast]) -> Option<Ast> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        [first, rest @ ..] => {
            let and = |condition: &Ast| (operator(tree::OperatorKind::And), condition.clone());
            Some(made(AstKind::Chain(Box::new(first.clone()), rest.iter().map(and).collect())))
        }
    }
}
