//! SEARCH and CYCLE of a recursive query, as columns that its parts carry on.
//!
//! ```text
//!  first part    SELECT a, b, [(a)]                     AS c FROM (first) t(a, b)
//!  second part   SELECT a, b, list_append(c, (a))       AS c FROM (second, with the c of its rows) t(a, b, c)
//!
//!  SEARCH DEPTH      the rows on the way to a row
//!  SEARCH BREADTH    how far that way is, and the row
//!  CYCLE             whether the row is on the way to it, and that way; of such rows there is no second part
//! ```

use std::rc::Rc;

use sqlparser::ast::{
    Expr as Ast, Ident, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState};

use super::recursion::is_name;
use super::scope::Scope;
use super::{Binder, folded};
use crate::asides::{Cycle, Marks, Search};

/// The parts of a recursive query, and the names of its columns.
pub(super) struct Marked<'a> {
    /// The first part and the recursive part.
    pub parts: (&'a SetExpr, &'a SetExpr),
    /// Names of all columns of the result, those of SEARCH and CYCLE last.
    pub columns: Vec<String>,
}

impl<'a> Binder<'a> {
    /// The SEARCH and CYCLE clauses of the WITH query with this name.
    pub(super) fn marks_of(&self, name: &Ident) -> Option<&'a Marks> {
        self.marks.iter().find(|marks| marks.at == name.span.start)
    }

    /// The parts with the columns of SEARCH and CYCLE.
    pub(super) fn marked(
        &mut self,
        at: usize,
        marks: &'a Marks,
        (left, right): (&'a SetExpr, &'a SetExpr),
        scope: Option<Rc<Scope>>,
    ) -> Result<Marked<'a>> {
        for (side, part) in [("left", left), ("right", right)] {
            if matches!(part, SetExpr::SetOperation { .. }) {
                return Err(Error::unsupported(format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                )));
            }
        }
        // The names of the columns are those of the first part.
        let before = self.before();
        let names = self.ctes[at].columns.clone();
        let mut base = self.bind_branch(left, scope)?;
        self.rename_columns(&mut base, &names)?;
        self.go_back(before);
        let mut columns: Vec<String> = base.columns.iter().map(|(name, _)| name.to_string()).collect();
        self.check_marks(marks, &columns)?;
        let cte = self.ctes[at].name.clone();
        let own = columns.len();
        let mut first: Vec<String> = Vec::new();
        let mut second: Vec<String> = Vec::new();
        let mut going_on = String::new();
        if let Some(Search { breadth, by, set, .. }) = &marks.search {
            let (row, set) = (listed(by), quoted(&folded(set)));
            match breadth {
                true => {
                    first.push(format!("ROW(0::BIGINT, {row})"));
                    second.push(format!("ROW(struct_extract({set}, 1) + 1, {row})"));
                }
                false => {
                    first.push(format!("ARRAY[ROW({row})]"));
                    second.push(format!("list_append({set}, ROW({row}))"));
                }
            }
        }
        if let Some(Cycle { by, mark, value, default, path, .. }) = &marks.cycle {
            let (row, mark, path) = (listed(by), quoted(&folded(mark)), quoted(&folded(path)));
            first.push(format!("CASE WHEN false THEN {value} ELSE {default} END"));
            first.push(format!("ARRAY[ROW({row})]"));
            second
                .push(format!("CASE WHEN list_contains({path}, ROW({row})) THEN {value} ELSE {default} END"));
            second.push(format!("list_append({path}, ROW({row}))"));
            going_on = format!(" WHERE {mark} <> {value}");
        }
        let list = |names: &[String]| names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", ");
        let shown = list(&columns);
        columns.extend(marks.added().map(folded));
        let first = format!("SELECT {shown}, {} FROM (SELECT 1) AS first_part ({shown})", first.join(", "));
        let second = format!(
            "SELECT {shown}, {} FROM (SELECT 1) AS second_part ({}){going_on}",
            second.join(", "),
            list(&columns)
        );
        let carried = self.carrying(right, &cte, &columns[own..])?;
        let left = self.around(first, left.clone())?;
        let right = self.around(second, carried)?;
        Ok(Marked { parts: (left, right), columns })
    }

    /// The query of `text`, over a part in place of its own subquery.
    fn around(&mut self, text: String, part: SetExpr) -> Result<&'a SetExpr> {
        let (_, parsed) = self.texts.add(text)?;
        let wrong = || Error::internal("a query of SEARCH or CYCLE is none");
        let Statement::Query(query) = &parsed.statement else { return Err(wrong()) };
        let mut body = query.body.as_ref().clone();
        let SetExpr::Select(select) = &mut body else { return Err(wrong()) };
        let from = select.from.first_mut().map(|table| &mut table.relation);
        let Some(TableFactor::Derived { subquery, .. }) = from else { return Err(wrong()) };
        subquery.body = Box::new(part);
        Ok(self.texts.keep_part(body))
    }

    /// The second part, with the columns that are added of the rows that it reads.
    fn carrying(&self, right: &SetExpr, name: &str, added: &[String]) -> Result<SetExpr> {
        let mut part = right.clone();
        while let SetExpr::Query(query) = part {
            let Query { with: None, body, order_by: None, limit_clause: None, fetch: None, .. } = *query
            else {
                return Err(Error::unsupported(
                    "with a SEARCH or CYCLE clause, WITH, ORDER BY and LIMIT in the right side of the UNION are not supported",
                ));
            };
            part = *body;
        }
        let read = match &part {
            SetExpr::Select(select) => reference(select, name),
            _ => None,
        };
        let (SetExpr::Select(select), Some(read)) = (&mut part, read) else {
            return Err(Error::unsupported(format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" must be at the top level of its right-hand SELECT"
            )));
        };
        for column in added {
            let path = vec![read.clone(), Ident::with_quote('"', column.as_str())];
            select.projection.push(SelectItem::UnnamedExpr(Ast::CompoundIdentifier(path)));
        }
        Ok(part)
    }

    fn check_marks(&self, marks: &Marks, columns: &[String]) -> Result<()> {
        let known = |what: &str, by: &[Ident], span: Span| {
            for (at, ident) in by.iter().enumerate() {
                let name = folded(ident);
                let (state, how) = if !columns.contains(&name) {
                    (SqlState::SyntaxError, "not in WITH query column list")
                } else if by[..at].iter().any(|other| folded(other) == name) {
                    (SqlState::DuplicateColumn, "specified more than once")
                } else {
                    continue;
                };
                let error = Error::new(state, format!("{what} column \"{name}\" {how}"));
                return Err(self.error_at(error, span));
            }
            Ok(())
        };
        let wrong =
            |message: String, span| Err(self.error_at(Error::new(SqlState::SyntaxError, message), span));
        let taken = |what: &str, ident: &Ident, span| {
            let name = folded(ident);
            match columns.contains(&name) {
                true => wrong(
                    format!("{what} column name \"{name}\" already used in WITH query column list"),
                    span,
                ),
                false => Ok(()),
            }
        };
        if let Some(search) = &marks.search {
            known("search", &search.by, search.span)?;
            taken("search sequence", &search.set, search.span)?;
        }
        if let Some(cycle) = &marks.cycle {
            known("cycle", &cycle.by, cycle.span)?;
            taken("cycle mark", &cycle.mark, cycle.span)?;
            taken("cycle path", &cycle.path, cycle.span)?;
            let (mark, path) = (folded(&cycle.mark), folded(&cycle.path));
            if mark == path {
                return wrong(
                    "cycle mark column name and cycle path column name are the same".into(),
                    cycle.span,
                );
            }
            if let Some(search) = &marks.search {
                let set = folded(&search.set);
                for (what, other) in [("mark", mark), ("path", path)] {
                    if set == other {
                        let message =
                            format!("search sequence column name and cycle {what} column name are the same");
                        return wrong(message, search.span);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Marks {
    /// The columns that they add, in their order.
    pub(super) fn added(&self) -> impl Iterator<Item = &Ident> {
        let search = self.search.iter().map(|search| &search.set);
        search.chain(self.cycle.iter().flat_map(|cycle| [&cycle.mark, &cycle.path]))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn listed(names: &[Ident]) -> String {
    names.iter().map(|name| quoted(&folded(name))).collect::<Vec<_>>().join(", ")
}

/// What a SELECT calls the rows of the recursive query, where it reads them in FROM.
fn reference(select: &Select, name: &str) -> Option<Ident> {
    select.from.iter().find_map(|tables| of_tables(tables, name))
}

fn of_tables(tables: &TableWithJoins, name: &str) -> Option<Ident> {
    let factors = std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation));
    factors.into_iter().find_map(|factor| match factor {
        TableFactor::Table { name: table, alias, .. } if is_name(table, name) => match alias {
            Some(alias) => Some(alias.name.clone()),
            None => table.0.first()?.as_ident().cloned(),
        },
        TableFactor::NestedJoin { table_with_joins, alias: None } => of_tables(table_with_joins, name),
        _ => None,
    })
}
