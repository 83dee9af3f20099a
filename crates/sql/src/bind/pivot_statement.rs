//! `PIVOT t ON k USING sum(x) GROUP BY g` and `UNPIVOT t ON a, b INTO NAME n VALUE v`: written out as queries.
//!
//! ```text
//! PIVOT t ON k USING sum(x)        SELECT g, sum(x) FILTER (WHERE k = 'a') AS a, ... FROM t GROUP BY g
//! UNPIVOT t ON a, b                SELECT * FROM t UNPIVOT (value FOR name IN (a, b))
//! ```
//! The columns of a query are known before it runs, but those of a PIVOT without IN come from the table: its values
//! are asked for, by a query of its own, while the statement is bound.

use sqlparser::tokenizer::Span;
use syntax::tree::{ExprKind, Literal};
use syntax::{Keyword as K, Kind};
use types::{Error, Result, SqlState, Type, Value};

use super::{Binder, Relation};
use crate::words::Words;

/// Columns that one PIVOT may make.
const COLUMNS_MAX: usize = 1600;

/// A clause's tokens, as a text of their own.
#[derive(Default)]
struct Clauses {
    include_nulls: bool,
    source: String,
    on: Vec<String>,
    using: Vec<String>,
    groups: Option<Vec<String>>,
    into: String,
    /// ORDER BY, LIMIT and OFFSET, as they stand.
    tail: String,
}

/// One item of ON.
struct On {
    expr: String,
    /// The values of IN with their names.
    values: Option<Vec<(String, String)>>,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
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

fn words(text: &str) -> Result<Words<'_>> {
    Words::of(text).map_err(|error| wrong(error.message))
}

/// The items of a list between two places.
fn list(words: &Words<'_>, from: usize, to: usize) -> Vec<String> {
    let mut items = Vec::new();
    let mut start = from;
    for at in words.outside(from).take_while(|at| *at < to) {
        if words.is_kind(at, Kind::Comma) {
            items.push(words.written(start, at).to_owned());
            start = at + 1;
        }
    }
    items.push(words.written(start, to).to_owned());
    items.retain(|item| !item.is_empty());
    items
}

fn clauses(text: &str) -> Result<Clauses> {
    let words = words(text)?;
    let mut out = Clauses::default();
    let mut from = 1;
    if (words.is(1, K::INCLUDE) || words.is(1, K::EXCLUDE)) && words.is(2, K::NULLS) {
        out.include_nulls = words.is(1, K::INCLUDE);
        from = 3;
    }
    // Where each clause begins, and how many words its name has.
    let mut starts: Vec<(usize, K, usize)> = Vec::new();
    for at in words.outside(from) {
        for (name, second) in [
            (K::ON, None),
            (K::USING, None),
            (K::GROUP, Some(K::BY)),
            (K::INTO, None),
            (K::ORDER, Some(K::BY)),
            (K::LIMIT, None),
            (K::OFFSET, None),
        ] {
            let known = starts.iter().any(|(_, n, _)| *n == name);
            if words.is(at, name) && second.is_none_or(|second| words.is(at + 1, second)) && !known {
                // USING and ON of a join inside the source stand in brackets.
                starts.push((at, name, if second.is_none() { 1 } else { 2 }));
            }
        }
    }
    let end = words.tokens.len();
    let first = starts.first().map_or(end, |(at, ..)| *at);
    out.source = words.written(from, first).to_owned();
    for (i, (at, name, width)) in starts.iter().enumerate() {
        let until = starts.get(i + 1).map_or(end, |(at, ..)| *at);
        let body = at + width;
        match *name {
            K::ON => out.on = list(&words, body, until),
            K::USING => out.using = list(&words, body, until),
            K::GROUP => out.groups = Some(list(&words, body, until)),
            K::INTO => out.into = words.written(body, until).to_owned(),
            _ => {
                out.tail.push(' ');
                out.tail.push_str(words.written(*at, until));
            }
        }
    }
    if out.source.is_empty() {
        return Err(wrong("PIVOT and UNPIVOT need a table").with_hint("write PIVOT t ON k USING sum(x)"));
    }
    if out.on.is_empty() {
        return Err(wrong("ON needs at least one column"));
    }
    Ok(out)
}

/// `k IN ('a', 'b' AS other)` taken apart.
fn on_item(item: &str) -> Result<On> {
    let words = words(item)?;
    let place = words.outside(0).find(|at| words.is(*at, K::IN) && words.is_kind(at + 1, Kind::LeftParen));
    let Some(at) = place else {
        return Ok(On { expr: item.to_owned(), values: None });
    };
    let end = words.tokens.len().saturating_sub(1);
    let mut values = Vec::new();
    for value in list(&words, at + 2, end) {
        let (expr, alias) = using_item(&value)?;
        let name = alias.map_or_else(|| label(&value), Ok)?;
        values.push((expr, name));
    }
    Ok(On { expr: words.written(0, at).to_owned(), values: Some(values) })
}

/// The name of a value without one: a text's own, and what is written of others.
fn label(value: &str) -> Result<String> {
    let words = words(value)?;
    match (words.tokens.len(), words.is_kind(0, Kind::Text)) {
        (1, true) => {
            let read = syntax::parse_expr(value).map_err(|error| wrong(error.message))?;
            match read.kind {
                ExprKind::Literal(Literal::Text(text)) => Ok(text.into()),
                _ => Ok(value.to_owned()),
            }
        }
        _ => Ok(value.to_owned()),
    }
}

/// `sum(x) AS total`: the call and its name.
fn using_item(item: &str) -> Result<(String, Option<String>)> {
    let words = words(item)?;
    let alias = words.outside(0).find(|at| *at > 0 && words.is(*at, K::AS));
    Ok(match alias {
        Some(at) => {
            let name = words.written(at + 1, words.tokens.len()).trim_matches('"').to_owned();
            (words.written(0, at).to_owned(), Some(name))
        }
        None => (item.to_owned(), None),
    })
}

/// The names that a text uses, in lower case unless quoted.
fn names_in(text: &str) -> Result<Vec<String>> {
    let words = words(text)?;
    Ok((0..words.tokens.len()).filter_map(|at| words.name(at)).collect())
}

impl Binder<'_> {
    /// The statement `text`, behind the common table expressions `with`.
    pub(super) fn bind_pivot_statement(&mut self, text: &str, with: &str, span: Span) -> Result<Relation> {
        let unpivots = text.get(..7).is_some_and(|t| t.eq_ignore_ascii_case("unpivot"));
        let clauses = clauses(text).map_err(|e| self.error_at(e, span))?;
        let query = if unpivots {
            self.unpivot_query(&clauses, with, span)
        } else {
            self.pivot_query(&clauses, with, span)
        };
        let query = query.map_err(|e| if e.position().is_some() { e } else { self.error_at(e, span) })?;
        let what = if unpivots { "UNPIVOT" } else { "PIVOT" };
        self.bind_written(what.to_owned(), format!("{query}{}", clauses.tail), span)
    }

    /// The names of a query's columns.
    fn source_columns(&mut self, query: String, span: Span) -> Result<Vec<String>> {
        let relation = self.bind_written("the table of a PIVOT".to_owned(), query, span)?;
        Ok(relation.columns.into_iter().map(|(name, _)| name.to_string()).collect())
    }

    fn unpivot_query(&mut self, clauses: &Clauses, _with: &str, span: Span) -> Result<String> {
        let into = words(&clauses.into)?;
        let (mut name, mut value) = ("name", "value");
        let mut at = 0;
        while at < into.tokens.len() {
            let given = into.written(at + 1, (at + 2).min(into.tokens.len()));
            if into.is(at, K::NAME) && !given.is_empty() {
                name = given;
            } else if into.is(at, K::VALUE) && !given.is_empty() {
                value = given;
            } else {
                return Err(wrong("INTO takes NAME and VALUE, each with one column")
                    .with_hint("write INTO NAME month VALUE sales"));
            }
            at += 2;
        }
        let mut columns = Vec::with_capacity(clauses.on.len());
        for item in &clauses.on {
            let chooses = item.trim_start().to_lowercase().starts_with("columns");
            if chooses || item.trim() == "*" {
                let query = format!("SELECT {item} FROM {}", clauses.source);
                columns.extend(self.source_columns(query, span)?.iter().map(|c| quoted(c)));
            } else {
                columns.push(item.clone());
            }
        }
        let nulls = if clauses.include_nulls { "INCLUDE NULLS " } else { "" };
        let source = &clauses.source;
        Ok(format!("SELECT * FROM {source} UNPIVOT {nulls}({value} FOR {name} IN ({}))", columns.join(", ")))
    }

    fn pivot_query(&mut self, clauses: &Clauses, with: &str, span: Span) -> Result<String> {
        let source = &clauses.source;
        let mut keys: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for item in &clauses.on {
            let on = on_item(item)?;
            let values = match on.values {
                Some(values) => values,
                None => {
                    let key = &on.expr;
                    let question = format!(
                        "{with} SELECT DISTINCT {key} FROM {source} WHERE ({key}) IS NOT NULL ORDER BY 1"
                    );
                    let rows =
                        self.relations.answer(&question).map_err(|e| self.error_at(unplaced(&e), span))?;
                    let ty = rows.columns.fields().first().map_or(Type::Text, |f| f.ty);
                    let shown = |row: &Vec<Value>| row.first().map_or_else(String::new, |v| v.display(ty));
                    rows.rows.iter().map(|row| (literal(&shown(row)), shown(row))).collect()
                }
            };
            keys.push((on.expr, values));
        }
        let mut aggregates = Vec::new();
        for item in &clauses.using {
            aggregates.push(using_item(item)?);
        }
        if aggregates.is_empty() {
            aggregates.push(("count(*)".to_owned(), None));
        }
        let count = keys.iter().try_fold(aggregates.len(), |n, (_, v)| n.checked_mul(v.len()));
        if count.is_none_or(|count| count > COLUMNS_MAX) {
            let error = Error::new(
                SqlState::StatementTooComplex,
                format!("PIVOT would make more than {COLUMNS_MAX} columns"),
            );
            return Err(error.with_hint("name the values that are wanted: ON k IN ('a', 'b')"));
        }
        let groups: Vec<String> = match &clauses.groups {
            Some(groups) => groups.clone(),
            None => {
                let mut used = Vec::new();
                for text in keys.iter().map(|(k, _)| k).chain(aggregates.iter().map(|(a, _)| a)) {
                    used.extend(names_in(text)?);
                }
                let all = self.source_columns(format!("SELECT * FROM {source}"), span)?;
                all.into_iter().filter(|c| !used.contains(c)).map(|c| quoted(&c)).collect()
            }
        };
        // Every combination of the keys' values, the last key's fastest.
        let mut combinations: Vec<(Vec<String>, Vec<String>)> = vec![(vec![], vec![])];
        for (key, values) in &keys {
            let mut next = Vec::with_capacity(combinations.len() * values.len());
            for (conditions, names) in &combinations {
                for (value, name) in values {
                    let mut both = (conditions.clone(), names.clone());
                    let is_null = value.eq_ignore_ascii_case("null");
                    both.0.push(if is_null {
                        format!("({key}) IS NULL")
                    } else {
                        format!("({key}) = {value}")
                    });
                    both.1.push(name.clone());
                    next.push(both);
                }
            }
            combinations = next;
        }
        let mut items = groups.clone();
        let several = aggregates.len() > 1;
        for (conditions, names) in &combinations {
            for (call, alias) in &aggregates {
                let name = names.join("_");
                let name = match alias {
                    Some(alias) => format!("{name}_{alias}"),
                    None if several => format!("{name}_{}", call.to_lowercase()),
                    None => name,
                };
                items.push(format!(
                    "{call} FILTER (WHERE {}) AS {}",
                    conditions.join(" AND "),
                    quoted(&name)
                ));
            }
        }
        if items.is_empty() {
            return Err(Error::new(
                SqlState::UndefinedColumn,
                "PIVOT makes no columns: the table has no values to make them of",
            ));
        }
        let by = if groups.is_empty() { String::new() } else { format!(" GROUP BY {}", groups.join(", ")) };
        Ok(format!("SELECT {} FROM {source}{by}", items.join(", ")))
    }
}
