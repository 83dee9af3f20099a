//! FROM: tables, functions, aliases.
//!
//! A table with its alias and sample is one node; pivots wrap it. Statements in FROM, such as DESCRIBE, become an
//! internal table function over the statement's text (`made::ROWS_OF`). An alias without a name goes by the
//! function's name. Called by `select`, and by statements with FROM or USING.

use sqlparser::ast;
use syntax::Span;
use syntax::tree::{self, TableKind};
use types::Result;

use super::query::{marker, text_value};
use super::{Converter, ident, object_name, span};
use crate::made::ROWS_OF;

/// What follows a table in FROM.
#[derive(Default)]
pub(super) struct Behind {
    /// The alias with its column names.
    pub alias: Option<ast::TableAlias>,
    /// TABLESAMPLE of this table.
    pub sample: Option<ast::TableSampleKind>,
}

/// A function in FROM.
struct Called<'t> {
    lateral: bool,
    name: &'t tree::Path,
    arguments: &'t [tree::Argument],
    ordinality: bool,
}

impl Converter<'_> {
    /// One item of FROM with its joins.
    pub(crate) fn table_with_joins(&self, table: &tree::TableWithJoins) -> Result<ast::TableWithJoins> {
        let tree::TableWithJoins { table, joins } = table;
        Ok(ast::TableWithJoins {
            relation: self.table(table)?,
            joins: joins.iter().map(|join| self.join(join)).collect::<Result<_>>()?,
        })
    }

    /// The items of FROM.
    pub(super) fn tables(&self, tables: &[tree::TableWithJoins]) -> Result<Vec<ast::TableWithJoins>> {
        tables.iter().map(|table| self.table_with_joins(table)).collect()
    }

    /// One entry with its alias, sample and pivots.
    pub(super) fn table(&self, table: &tree::Table) -> Result<ast::TableFactor> {
        let tree::Table { kind, alias, sample, pivots, span } = table;
        let called = match kind {
            TableKind::Function { name, .. } => name.last(),
            TableKind::RowsFrom { functions, .. } => functions.first().and_then(|(name, ..)| name.last()),
            _ => None,
        };
        let alias = match alias {
            Some(alias) => Some(self.table_alias_of(alias, called)?),
            None => None,
        };
        let sample = sample.as_ref().map(|sample| self.table_sample(sample)).transpose()?;
        let mut factor = self.table_kind(kind, Behind { alias, sample }, *span)?;
        for pivot in pivots {
            factor = self.table_pivot(factor, pivot)?;
        }
        Ok(factor)
    }

    fn table_kind(&self, kind: &TableKind, behind: Behind, at: Span) -> Result<ast::TableFactor> {
        match kind {
            // There is no inheritance of tables, so that ONLY takes nothing away.
            TableKind::Named { only: _, name } => Ok(named_factor(object_name(name), None, false, behind)),
            TableKind::File(tree::TextLiteral { text, span: at }) => {
                let name = ast::Ident { value: text.to_string(), quote_style: Some('\''), span: span(*at) };
                let name = ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)]);
                Ok(named_factor(name, None, false, behind))
            }
            TableKind::Query { lateral, query } => {
                if let Some(inspected) = inspected(query) {
                    return Ok(self.rows_of(inspected, behind));
                }
                let Behind { alias, sample } = behind;
                let subquery = Box::new(self.query(query)?);
                Ok(ast::TableFactor::Derived { lateral: *lateral, subquery, alias, sample })
            }
            TableKind::Function { lateral, name, arguments, ordinality } => {
                let (lateral, ordinality) = (*lateral, *ordinality);
                self.function_in_from(&Called { lateral, name, arguments, ordinality }, behind, at)
            }
            TableKind::RowsFrom { lateral, functions, ordinality } => match functions.as_slice() {
                [(name, arguments, columns)] if columns.is_empty() => {
                    let (lateral, ordinality) = (*lateral, *ordinality);
                    self.function_in_from(&Called { lateral, name, arguments, ordinality }, behind, at)
                }
                _ => Err(self.unsupported("ROWS FROM with several functions or with types", at)),
            },
            TableKind::Joined(joined) => {
                if behind.sample.is_some() {
                    return Err(self.unsupported("TABLESAMPLE of a join", at));
                }
                let table_with_joins = Box::new(self.table_with_joins(joined)?);
                Ok(ast::TableFactor::NestedJoin { table_with_joins, alias: behind.alias })
            }
        }
    }

    fn function_in_from(&self, called: &Called<'_>, behind: Behind, at: Span) -> Result<ast::TableFactor> {
        let Called { lateral, name, arguments, ordinality } = *called;
        let unnest = name.single().is_some_and(|n| !n.quoted && n.text.eq_ignore_ascii_case("unnest"));
        if !unnest && !lateral {
            let args = ast::TableFunctionArgs { args: self.arguments(arguments)?, settings: None };
            return Ok(named_factor(object_name(name), Some(args), ordinality, behind));
        }
        let Behind { alias, sample } = behind;
        if sample.is_some() {
            return Err(self.unsupported("TABLESAMPLE of this function", at));
        }
        if lateral {
            return Ok(ast::TableFactor::Function {
                lateral,
                name: object_name(name),
                args: self.arguments(arguments)?,
                with_ordinality: ordinality,
                alias,
            });
        }
        let mut array_exprs = Vec::with_capacity(arguments.len());
        for tree::Argument { variadic, name, value } in arguments {
            if *variadic || name.is_some() {
                return Err(self.unsupported("unnest with named arguments", value.span));
            }
            array_exprs.push(self.expr(value)?);
        }
        Ok(ast::TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset: false,
            with_offset_alias: None,
            with_ordinality: ordinality,
        })
    }

    /// The rows of DESCRIBE, SHOW or SUMMARIZE in FROM, by the statement's text.
    pub(super) fn rows_of(&self, statement: Span, behind: Behind) -> ast::TableFactor {
        text_function(ROWS_OF, &[self.text_of(statement).trim()], self.opening(statement), behind)
    }

    // Aliases.

    /// An alias with its column names.
    pub(crate) fn table_alias(&self, alias: &tree::TableAlias) -> Result<ast::TableAlias> {
        self.table_alias_of(alias, None)
    }

    /// An alias; one without a name goes by that of its function.
    fn table_alias_of(
        &self,
        alias: &tree::TableAlias,
        function: Option<&tree::Name>,
    ) -> Result<ast::TableAlias> {
        // A name before what it names says the same.
        let tree::TableAlias { name, columns, first: _ } = alias;
        let Some(name) = name.as_ref().or(function) else {
            let at = columns.first().map(|column| column.name.span).unwrap_or_default();
            return Err(self.unsupported("a list of columns without a name before it", at));
        };
        let columns = columns.iter().map(|tree::AliasColumn { name, ty }| {
            let data_type = ty.as_ref().map(|ty| self.data_type(ty)).transpose()?;
            Ok(ast::TableAliasColumnDef { name: ident(name), data_type })
        });
        Ok(ast::TableAlias {
            explicit: true,
            name: self.label(name),
            columns: columns.collect::<Result<_>>()?,
            at: None,
        })
    }

    /// A name that may be written as a text, `AS 'name'`.
    pub(super) fn label(&self, name: &tree::Name) -> ast::Ident {
        let mut made = ident(name);
        if name.quoted && self.text_of(name.span).starts_with('\'') {
            made.quote_style = Some('\'');
        }
        made
    }
}

/// An internal table function over texts of statements. Its name cannot be written in SQL.
pub(super) fn text_function(name: &str, texts: &[&str], at: Span, behind: Behind) -> ast::TableFactor {
    let name = ast::ObjectName(vec![ast::ObjectNamePart::Identifier(marker(name, at))]);
    let argument = |text: &&str| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(text_value(text, at)));
    let args = ast::TableFunctionArgs { args: texts.iter().map(argument).collect(), settings: None };
    named_factor(name, Some(args), false, behind)
}

/// A table, or a function where there are arguments.
pub(super) fn named_factor(
    name: ast::ObjectName,
    args: Option<ast::TableFunctionArgs>,
    with_ordinality: bool,
    Behind { alias, sample }: Behind,
) -> ast::TableFactor {
    ast::TableFactor::Table {
        name,
        alias,
        args,
        with_hints: vec![],
        version: None,
        with_ordinality,
        partitions: vec![],
        json_path: None,
        sample,
        index_hints: vec![],
    }
}

/// Where DESCRIBE, SHOW or SUMMARIZE stands, if a query is no more than that.
fn inspected(query: &tree::Query) -> Option<Span> {
    match query {
        tree::Query {
            with: None,
            body: tree::SetExpr::Inspect(_),
            order_by,
            limit: None,
            offset: None,
            locks,
            span,
        } if order_by.is_empty() && locks.is_empty() => Some(*span),
        _ => None,
    }
}
