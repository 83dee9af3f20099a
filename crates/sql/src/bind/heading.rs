//! What unnamed items of a select list are called.

use plan::FileSource;
use plan::functions::GLOB;
use sqlparser::ast::{AccessExpr, DataType, Expr as Ast, SelectItem};
use types::{Error, Result, Type};

use super::folded;
use crate::made::IN_LIST;
use crate::{RelationInfo, Relations};

/// Whether a call stands for an operator that the tree has no node for.
fn is_operator(call: &sqlparser::ast::Function) -> bool {
    let name = call.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| [IN_LIST, GLOB].contains(&name.value.as_str()))
}

/// The heading of an unnamed item, as PostgreSQL gives it.
pub(super) fn heading(ast: &Ast) -> String {
    match ast {
        Ast::Identifier(ident) => folded(ident),
        Ast::CompoundIdentifier(idents) => idents.last().map_or_else(String::new, folded),
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => heading(inner),
        // A field by its name, an element by its list.
        Ast::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(AccessExpr::Dot(Ast::Identifier(field))) => folded(field),
            _ => heading(root),
        },
        Ast::Function(call) if is_operator(call) => "?column?".into(),
        Ast::Function(call) => {
            call.name.0.last().and_then(|p| p.as_ident()).map_or_else(|| "?column?".into(), folded)
        }
        Ast::Cast { expr, data_type, .. } => match heading(expr).as_str() {
            "?column?" => type_heading(data_type),
            named => named.to_owned(),
        },
        Ast::TypedString(typed) => type_heading(&typed.data_type),
        Ast::Interval(_) => "interval".into(),
        Ast::Case { else_result: Some(otherwise), .. } => match heading(otherwise).as_str() {
            "?column?" => "case".into(),
            named => named.to_owned(),
        },
        Ast::Case { .. } => "case".into(),
        Ast::Exists { .. } => "exists".into(),
        Ast::Extract { .. } => "extract".into(),
        Ast::Substring { .. } => "substring".into(),
        Ast::Position { .. } => "position".into(),
        Ast::Overlay { .. } => "overlay".into(),
        Ast::Ceil { .. } => "ceil".into(),
        Ast::Floor { .. } => "floor".into(),
        Ast::Trim { trim_where, .. } => match trim_where {
            Some(sqlparser::ast::TrimWhereField::Leading) => "ltrim".into(),
            Some(sqlparser::ast::TrimWhereField::Trailing) => "rtrim".into(),
            _ => "btrim".into(),
        },
        Ast::Subquery(query) => match query.body.as_ref() {
            sqlparser::ast::SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(expr)) => heading(expr),
                Some(SelectItem::ExprWithAlias { alias, .. }) => folded(alias),
                _ => "?column?".into(),
            },
            _ => "?column?".into(),
        },
        _ => "?column?".into(),
    }
}

fn type_heading(name: &DataType) -> String {
    let (plain, _) = crate::data_type::limited(name);
    match crate::data_type::column_type(&plain, &NoTypes) {
        Ok(ty) => match ty {
            Type::Boolean => "bool".into(),
            Type::SmallInt => "int2".into(),
            Type::Integer => "int4".into(),
            Type::BigInt => "int8".into(),
            Type::Real => "float4".into(),
            Type::Double => "float8".into(),
            Type::Decimal { .. } => "numeric".into(),
            Type::Char(_) => "bpchar".into(),
            Type::Varchar(_) => "varchar".into(),
            ty if ty.is_interval() => "interval".into(),
            other => other.sql_name().to_lowercase(),
        },
        Err(_) => match plain.as_ref() {
            // A type of CREATE TYPE by its name.
            DataType::Custom(name, _) => {
                name.0.last().and_then(|part| part.as_ident()).map_or_else(|| "?column?".into(), folded)
            }
            _ => "interval".into(),
        },
    }
}

/// For names of types alone.
struct NoTypes;

impl Relations for NoTypes {
    fn table(&self, _schema: Option<&str>, _name: &str) -> Result<Option<RelationInfo>> {
        Ok(None)
    }
    fn file(&self, path: &str, _options: &[(String, String)]) -> Result<FileSource> {
        Err(Error::internal(format!("no file is read for a heading: {path}")))
    }
    fn table_names(&self) -> Vec<String> {
        vec![]
    }
}
