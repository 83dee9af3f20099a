//! The rows of `pragma_...` functions, as queries over the engine's own listings; and `getvariable`.
//!
//! A PRAGMA without a value is the query over the function of its name; `table_functions` binds it,
//! `statement::session` makes it of the statement. Unknown ones are errors that name what is near.

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal};
use types::quote;
use types::{Error, Result, SqlState, Type};

use plan::Expr;

use crate::bind::Binder;
use crate::bind::expression::coerce::Bound;
use crate::bind::from::pivot_statement::everything;
use crate::pragmas::LISTS;

impl<'a> Binder<'a> {
    /// The query that gives a function's rows; `None` when there is no such function.
    pub(crate) fn pragma_rows(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<String>> {
        let Some(name) = function.strip_prefix("pragma_").filter(|name| LISTS.contains(name)) else {
            return Ok(None);
        };
        let wrong = |binder: &Self, message: &str| {
            let error = Error::new(SqlState::UndefinedFunction, format!("{function} takes {message}"));
            binder.error_at(error, span)
        };
        if matches!(name, "table_info" | "show") {
            let Some(table) = self.only_value(arguments) else {
                return Err(wrong(self, "a table's name"));
            };
            let (table, _) = self.constant(table)?;
            let Some(table) = table.as_text() else { return Err(wrong(self, "a table's name")) };
            return self.table_info(table, name == "show", span).map(Some);
        }
        if !arguments.is_empty() {
            return Err(wrong(self, "no arguments"));
        }
        let version = env!("CARGO_PKG_VERSION");
        Ok(Some(match name {
            "database_list" => {
                "SELECT row_number() OVER (ORDER BY database_name) AS seq, database_name AS name, path AS file \
                 FROM duckdb_databases() WHERE NOT internal ORDER BY seq"
                    .to_owned()
            }
            "version" => format!(
                "SELECT 'v{version}' AS library_version, '' AS source_id, 'Quickstep' AS codename"
            ),
            "user_agent" => format!("SELECT 'quickstep/v{version}' AS user_agent"),
            "platform" => {
                format!("SELECT '{}_{}' AS platform", std::env::consts::OS, std::env::consts::ARCH)
            }
            "collations" => {
                let names: Vec<String> =
                    types::Collation::names().into_iter().map(|name| format!("({})", quote::text(name))).collect();
                format!("SELECT collname FROM (VALUES {}) AS c(collname) ORDER BY collname", names.join(", "))
            }
            "functions" => "SELECT function_name AS name, function_type AS type, parameters, \
                 return_type, has_side_effects AS side_effects FROM duckdb_functions() ORDER BY 1"
                .to_owned(),
            _ => "SELECT d.database_name, coalesce(sum(t.bytes), 0) AS database_size, \
                 coalesce(sum(t.blocks), 0) AS total_blocks FROM quickstep_databases() AS d \
                 LEFT JOIN quickstep_tables() AS t ON t.database_name = d.database_name \
                 GROUP BY d.database_name ORDER BY 1"
                .to_owned(),
        }))
    }

    /// The value of the only argument.
    fn only_value(&self, arguments: &'a [tree::Argument]) -> Option<&'a Ast> {
        match arguments {
            [argument] => self.argument_value(argument),
            _ => None,
        }
    }

    /// What a PRAGMA that lists something says: `SELECT * FROM pragma_name(arguments)`; a table's name is its text.
    pub(crate) fn pragma_query(
        &self,
        name: &str,
        arguments: &[tree::Argument],
        span: Span,
    ) -> &'a tree::Query {
        let function = tree::Name { text: format!("pragma_{name}").into(), quoted: false, span };
        let argument = |argument: &tree::Argument| match &argument.value.kind {
            AstKind::Column(path) => {
                let text = match path.single() {
                    Some(name) => name.text.clone(),
                    None => path.span().of(self.text).into(),
                };
                let value = Ast { kind: AstKind::Literal(Literal::Text(text)), span };
                tree::Argument { variadic: false, name: None, value }
            }
            _ => argument.clone(),
        };
        let kind = tree::TableKind::Function {
            lateral: false,
            name: tree::Path { names: vec![function] },
            arguments: arguments.iter().map(argument).collect(),
            ordinality: false,
        };
        let table = tree::Table { kind, alias: None, sample: None, pivots: vec![], span };
        let from = tree::TableWithJoins { table, joins: vec![] };
        self.texts.keep_query(everything(from, span))
    }

    fn table_info(&mut self, table: &str, short: bool, span: Span) -> Result<String> {
        let parts: Vec<&str> = table.split('.').collect();
        let (schema, name) = match parts.as_slice() {
            [schema, name] => (Some(self.relations.schema_key(None, schema)?), *name),
            [database, schema, name] => (Some(self.relations.schema_key(Some(database), schema)?), *name),
            _ => (None, table),
        };
        let known = self.relations.view(schema.as_deref(), name).is_some()
            || self.relations.table(schema.as_deref(), name).map_err(|e| self.error_at(e, span))?.is_some();
        if !known {
            return Err(self.error_at(self.unknown_table(schema.as_deref(), name), span));
        }
        let mut condition = format!("lower(table_name) = lower({})", quote::text(name));
        let database = match schema {
            Some(schema) => {
                let (database, schema) = self.relations.database_and_schema(&schema);
                condition.push_str(&format!(" AND schema_name = {}", quote::text(&schema)));
                database
            }
            None => self.relations.database_and_schema(&self.relations.current_schema()).0,
        };
        condition.push_str(&format!(" AND database_name = {}", quote::text(&database)));
        Ok(match short {
            true => format!(
                "SELECT column_name, data_type AS column_type, CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS \
                 \"null\", key, column_default AS \"default\", NULL AS extra \
                 FROM quickstep_columns() WHERE {condition} ORDER BY column_index"
            ),
            false => format!(
                "SELECT CAST(column_index - 1 AS INTEGER) AS cid, column_name AS name, data_type AS type, \
                 NOT is_nullable AS \"notnull\", column_default AS dflt_value, \
                 coalesce(key = 'PRI', false) AS pk FROM quickstep_columns() WHERE {condition} ORDER BY column_index"
            ),
        })
    }

    /// `getvariable('x')`: NULL where it has not been set.
    pub(crate) fn variable(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Bound> {
        let name = match self.only_value(arguments) {
            Some(name) => self.constant(name)?.0.as_text().map(str::to_lowercase),
            None => None,
        };
        let Some(name) = name else {
            let error = Error::new(SqlState::UndefinedFunction, "getvariable takes a variable's name");
            return Err(self.error_at(error.with_hint("write getvariable('name')"), span));
        };
        Ok(match self.relations.variable(&name) {
            Some((value, ty)) => Bound::typed(Expr::literal(value, ty), span),
            None => Bound::typed(crate::bind::null_of(Type::Null), span),
        })
    }
}
