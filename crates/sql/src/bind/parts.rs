//! Expressions that many rules make or take apart.

use plan::{ColumnId, Expr, ExprKind};
use types::{Result, Type, Value};

use crate::stack;

/// Nesting of a bound expression: what evaluates it recurses on stacks of its own.
const EXPRESSION_DEPTH_MAX: usize = 900;

/// Replaces columns by what `find` says for them.
pub(crate) fn substitute(expr: Expr, find: &dyn Fn(ColumnId) -> Option<Expr>) -> Expr {
    expr.transform(&mut |e| match e.kind {
        ExprKind::Column(id) => find(id).unwrap_or(e),
        _ => e,
    })
}

pub(crate) fn null_of(ty: Type) -> Expr {
    Expr::literal(Value::Null, ty)
}

pub(crate) fn check_depth(expr: &Expr) -> Result<()> {
    let mut open = vec![(expr, 1)];
    while let Some((expr, depth)) = open.pop() {
        if depth > EXPRESSION_DEPTH_MAX {
            return Err(stack::too_deep());
        }
        open.extend(expr.children().into_iter().map(|c| (c, depth + 1)));
        // The body of a lambda is no operand, but compiled with the call around it.
        if let ExprKind::Lambda(body) = &expr.kind {
            open.push((&**body, depth + 1));
        }
    }
    Ok(())
}

/// The path of a key.
pub(crate) fn key(name: &str) -> Expr {
    // A name that would be read as a path is quoted in one.
    let path = match name.starts_with(['$', '/']) {
        true => format!("$.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
        false => name.to_owned(),
    };
    Expr::literal(Value::text(&path), Type::Text)
}

/// A call of a kernel by its name, without checks.
pub(crate) fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}
