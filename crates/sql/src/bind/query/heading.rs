//! What unnamed items of a select list are called.
//!
//! Called by `select` for each item without AS. The rules are PostgreSQL's: a column's name, a function's, a type's
//! of a cast, `case` of CASE; what has none is `?column?`.

use plan::FileSource;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result, Type};

use crate::bind::expression::unbracketed;
use crate::bind::folded;
use crate::bind::function::{Worded, arguments, worded};
use crate::bind::nested::paths;
use crate::{RelationInfo, Relations};

/// What has no name.
const UNNAMED: &str = "?column?";

/// The heading of an unnamed item, as PostgreSQL gives it.
pub(crate) fn heading(ast: &Ast) -> String {
    match &ast.kind {
        AstKind::Column(path) => path.last().map_or_else(String::new, folded),
        AstKind::Position(number) => format!("#{number}"),
        AstKind::Nested(inner) | AstKind::Collate(inner, _) => heading(inner),
        AstKind::Field(_, Some(field)) => folded(field),
        AstKind::Index(..) | AstKind::Slice(_) => root_heading(ast),
        AstKind::Method(_, call) => call_heading(call),
        AstKind::Call(call) => call_heading(call),
        AstKind::Special(special) => special_heading(special).to_owned(),
        AstKind::Columns(_) => "columns".into(),
        AstKind::Star(_) if !arguments::is_star(ast) => "columns".into(),
        AstKind::Cast(cast) => match heading(below_casts(&cast.expr)).as_str() {
            UNNAMED => type_heading(&cast.to),
            named => named.to_owned(),
        },
        AstKind::Literal(tree::Literal::Typed(ty, _)) => type_heading(ty),
        AstKind::Literal(tree::Literal::Bytes(_)) => "bytea".into(),
        AstKind::Literal(tree::Literal::Interval(interval)) => match heading(&interval.value) {
            // With a precision it is a cast of the value.
            named if interval.precision.is_some() && named != UNNAMED => named,
            _ => "interval".into(),
        },
        AstKind::Case(case) => match case.otherwise.as_ref().map(heading) {
            Some(named) if named != UNNAMED => named,
            _ => "case".into(),
        },
        AstKind::Exists(_) => "exists".into(),
        AstKind::Prefix(operator, operand)
            if operator.kind == tree::OperatorKind::Not && matches!(operand.kind, AstKind::Exists(_)) =>
        {
            "exists".into()
        }
        AstKind::Subquery(query) => query_heading(unbracketed(query)),
        AstKind::ArrayOf(_) => "array".into(),
        AstKind::Comprehension(_) => "list_transform".into(),
        AstKind::Row { row: true, .. } => "row".into(),
        AstKind::Default => "default".into(),
        _ => UNNAMED.into(),
    }
}

/// What is cast, once or several times: of something without a name the last type is the heading.
fn below_casts(ast: &Ast) -> &Ast {
    let mut below = ast;
    while let AstKind::Cast(cast) = &below.kind {
        below = &cast.expr;
    }
    below
}

/// An element goes by its list, and a part of a table's column by the path's first name.
fn root_heading(ast: &Ast) -> String {
    let mut root = ast;
    loop {
        root = match &root.kind {
            AstKind::Index(inner, _) | AstKind::Field(inner, Some(_)) => inner,
            AstKind::Method(_, call) => return call_heading(call),
            AstKind::Slice(slice) => &slice.expr,
            AstKind::Column(path) => return path.names.first().map_or_else(String::new, folded),
            AstKind::Call(call) if call.name.names.len() > 1 => {
                return call.name.names.first().map_or_else(String::new, folded);
            }
            _ => return heading(root),
        };
    }
}

fn call_heading(call: &tree::Call) -> String {
    if let Some(word) = paths::bare_word(call) {
        return folded(word);
    }
    match worded(call) {
        Some(Worded::Ceil(_)) => "ceil".into(),
        Some(Worded::Floor(_)) => "floor".into(),
        Some(Worded::Substring { .. }) => "substring".into(),
        Some(Worded::Trim(_)) => "btrim".into(),
        Some(Worded::Interval(_)) => "interval".into(),
        None => call.name.last().map_or_else(|| UNNAMED.into(), folded),
    }
}

fn special_heading(special: &tree::SpecialCall) -> &'static str {
    use tree::SpecialCall as S;
    match special {
        S::Extract(..) => "extract",
        S::Position(..) => "position",
        S::Substring { .. } | S::SubstringSimilar(..) => "substring",
        S::Trim { side: Some(tree::TrimSide::Leading), .. } => "ltrim",
        S::Trim { side: Some(tree::TrimSide::Trailing), .. } => "rtrim",
        S::Trim { .. } => "btrim",
        S::Overlay(..) => "overlay",
        S::RoundTo { up: true, .. } => "ceil",
        S::RoundTo { up: false, .. } => "floor",
        S::Normalize(..) => "normalize",
        S::Try(_) => "try",
    }
}

/// A query that is a value goes by its only column.
fn query_heading(query: &tree::Query) -> String {
    let tree::SetExpr::Select(select) = &query.body else { return UNNAMED.into() };
    match select.items.first() {
        Some(tree::SelectItem { value, .. }) if arguments::is_star(value) => UNNAMED.into(),
        Some(tree::SelectItem { alias: Some(alias), .. }) => folded(alias),
        Some(tree::SelectItem { value, .. }) => heading(value),
        None => UNNAMED.into(),
    }
}

fn type_heading(name: &tree::TypeName) -> String {
    let (plain, _) = crate::data_type::limited(name);
    match crate::data_type::column_type("", &plain, &NoTypes) {
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
        Err(_) => match (&plain.kind, plain.lists.is_empty()) {
            // A type of CREATE TYPE by its name.
            (tree::TypeKind::Named { name, .. }, true) => name.last().map_or_else(|| UNNAMED.into(), folded),
            (tree::TypeKind::Struct { .. } | tree::TypeKind::Map(..) | tree::TypeKind::List(_), true) => {
                plain.to_string()
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
