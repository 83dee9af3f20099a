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

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, SetExpr, TableKind};
use types::quote;
use types::{Error, Result, SqlState};

use crate::bind::from::sample::word_before;
use crate::bind::query::recursion::is_name;
use crate::bind::query::select::whole_star;
use crate::bind::scope::Scope;
use crate::bind::{Binder, folded};

/// SEARCH and CYCLE of one query.
#[derive(Clone, Copy)]
pub(crate) struct Marks<'a> {
    /// A column that sorts the rows.
    search: Option<&'a tree::Search>,
    /// A column that says whether a row was there before on the way to it, and that way.
    cycle: Option<&'a tree::Cycle>,
}

/// The parts of a recursive query, and the names of its columns.
pub(crate) struct Marked<'a> {
    /// The first part and the recursive part.
    pub parts: (&'a SetExpr, &'a SetExpr),
    /// Names of all columns of the result, those of SEARCH and CYCLE last.
    pub columns: Vec<String>,
}

impl<'a> Binder<'a> {
    /// The parts with the columns of SEARCH and CYCLE.
    pub(crate) fn marked(
        &mut self,
        at: usize,
        marks: Marks<'a>,
        (left, right): (&'a SetExpr, &'a SetExpr),
        scope: Option<Rc<Scope>>,
    ) -> Result<Marked<'a>> {
        for (side, part) in [("left", left), ("right", right)] {
            if matches!(part, SetExpr::Set(..)) {
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
        if let Some(tree::Search { depth, by, set }) = marks.search {
            let (row, set) = (listed(by), quote::name(&folded(set)));
            match depth {
                false => {
                    first.push(format!("ROW(0::BIGINT, {row})"));
                    second.push(format!("ROW(struct_extract({set}, 1) + 1, {row})"));
                }
                true => {
                    first.push(format!("ARRAY[ROW({row})]"));
                    second.push(format!("list_append({set}, ROW({row}))"));
                }
            }
        }
        if let Some(tree::Cycle { columns, set, values, path }) = marks.cycle {
            let (row, mark, path) = (listed(columns), quote::name(&folded(set)), quote::name(&folded(path)));
            let (value, default) = match values {
                Some((value, default)) => (value.span.of(self.text), default.span.of(self.text)),
                None => ("true", "false"),
            };
            first.push(format!("CASE WHEN false THEN {value} ELSE {default} END"));
            first.push(format!("ARRAY[ROW({row})]"));
            second
                .push(format!("CASE WHEN list_contains({path}, ROW({row})) THEN {value} ELSE {default} END"));
            second.push(format!("list_append({path}, ROW({row}))"));
            going_on = format!(" WHERE {mark} <> {value}");
        }
        let list = |names: &[String]| names.iter().map(|n| quote::name(n)).collect::<Vec<_>>().join(", ");
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
        let tree::StatementKind::Query(query) = &parsed.kind else { return Err(wrong()) };
        let mut query = query.as_ref().clone();
        let SetExpr::Select(select) = &mut query.body else { return Err(wrong()) };
        let from = select.from.first_mut().map(|table| &mut table.table.kind);
        let Some(TableKind::Query { query: subquery, .. }) = from else { return Err(wrong()) };
        subquery.body = part;
        Ok(&self.texts.keep_query(query).body)
    }

    /// The second part, with the columns that are added of the rows that it reads.
    fn carrying(&self, right: &SetExpr, name: &str, added: &[String]) -> Result<SetExpr> {
        let mut part = right;
        while let SetExpr::Query(query) = part {
            let plain = query.with.is_none() && query.order_by.is_empty();
            if !plain || query.limit.is_some() || query.offset.is_some() {
                return Err(Error::unsupported(
                    "with a SEARCH or CYCLE clause, WITH, ORDER BY and LIMIT in the right side of the UNION are not supported",
                ));
            }
            part = &query.body;
        }
        let read = match part {
            SetExpr::Select(select) => reference(select, name).map(|read| (select, read)),
            _ => None,
        };
        let Some((select, read)) = read else {
            return Err(Error::unsupported(format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" must be at the top level of its right-hand SELECT"
            )));
        };
        let mut select = select.clone();
        if select.order == tree::ClauseOrder::FromOnly {
            select.items.push(whole_star(select.span));
            select.order = tree::ClauseOrder::SelectFirst;
        }
        for column in added {
            let own = tree::Name { text: column.as_str().into(), quoted: true, span: Span::default() };
            let path = tree::Path { names: vec![read.clone(), own] };
            let value = Ast { span: path.span(), kind: AstKind::Column(path) };
            select.items.push(tree::SelectItem { value, alias: None, alias_first: false });
        }
        Ok(SetExpr::Select(select))
    }

    fn check_marks(&self, marks: Marks<'_>, columns: &[String]) -> Result<()> {
        let known = |what: &str, by: &[tree::Name], span: Span| {
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
        let taken = |what: &str, ident: &tree::Name, span| {
            let name = folded(ident);
            match columns.contains(&name) {
                true => wrong(
                    format!("{what} column name \"{name}\" already used in WITH query column list"),
                    span,
                ),
                false => Ok(()),
            }
        };
        // The place of the word that a clause begins with.
        let word = |word: &str, first: Option<&tree::Name>, set: &tree::Name| {
            word_before(self.text, first.unwrap_or(set).span.start, word)
        };
        let search_at = marks.search.map(|search| word("search", search.by.first(), &search.set));
        let search_at = search_at.unwrap_or_default();
        if let Some(search) = marks.search {
            known("search", &search.by, search_at)?;
            taken("search sequence", &search.set, search_at)?;
        }
        if let Some(cycle) = marks.cycle {
            let at = word("cycle", cycle.columns.first(), &cycle.set);
            known("cycle", &cycle.columns, at)?;
            taken("cycle mark", &cycle.set, at)?;
            taken("cycle path", &cycle.path, at)?;
            let (mark, path) = (folded(&cycle.set), folded(&cycle.path));
            if mark == path {
                return wrong("cycle mark column name and cycle path column name are the same".into(), at);
            }
            if let Some(search) = marks.search {
                let set = folded(&search.set);
                for (what, other) in [("mark", mark), ("path", path)] {
                    if set == other {
                        let message =
                            format!("search sequence column name and cycle {what} column name are the same");
                        return wrong(message, search_at);
                    }
                }
            }
        }
        Ok(())
    }
}

impl<'a> Marks<'a> {
    /// What stands behind a query of WITH, if anything does.
    pub(crate) fn of(query: &'a tree::CommonQuery) -> Option<Self> {
        let (search, cycle) = (query.search.as_ref(), query.cycle.as_ref());
        (search.is_some() || cycle.is_some()).then_some(Marks { search, cycle })
    }

    /// The columns that they add, in their order.
    pub(crate) fn added(self) -> impl Iterator<Item = &'a tree::Name> {
        let search = self.search.into_iter().map(|search| &search.set);
        search.chain(self.cycle.into_iter().flat_map(|cycle| [&cycle.set, &cycle.path]))
    }
}

fn listed(names: &[tree::Name]) -> String {
    names.iter().map(|name| quote::name(&folded(name))).collect::<Vec<_>>().join(", ")
}

/// What a SELECT calls the rows of the recursive query, where it reads them in FROM.
fn reference(select: &tree::Select, name: &str) -> Option<tree::Name> {
    select.from.iter().find_map(|tables| of_tables(tables, name))
}

fn of_tables(tables: &tree::TableWithJoins, name: &str) -> Option<tree::Name> {
    let all = std::iter::once(&tables.table).chain(tables.joins.iter().map(|join| &join.table));
    all.into_iter().filter(|table| table.pivots.is_empty()).find_map(|table| match &table.kind {
        TableKind::Named { name: path, .. } if is_name(path, name) => {
            let alias = table.alias.as_ref().and_then(|alias| alias.name.as_ref());
            alias.or(path.names.first()).cloned()
        }
        TableKind::Joined(joined) if table.alias.is_none() => of_tables(joined, name),
        _ => None,
    })
}
