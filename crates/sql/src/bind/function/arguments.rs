//! Arguments of calls: which are values by their place, and which have names.
//!
//! `a = b` is a comparison in a call, and a name with its value in functions of FROM. A star is no value, but for one
//! with a pattern of names, which is COLUMNS. Calls of expressions, of table functions and of macros read their
//! arguments by these.

use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result};

use crate::bind::Binder;

/// The arguments of a call; none where it has no brackets.
pub(crate) fn list(call: &tree::Call) -> &[tree::Argument] {
    call.arguments.as_ref().map_or(&[], |arguments| &arguments.list)
}

/// Whether DISTINCT, ALL, ORDER BY or LIMIT stands in a call's brackets.
pub(crate) fn has_clauses(call: &tree::Call) -> bool {
    call.arguments
        .as_ref()
        .is_some_and(|a| a.distinct.is_some() || !a.order_by.is_empty() || a.limit.is_some())
}

/// Whether DISTINCT stands in a call's brackets.
pub(crate) fn is_distinct(call: &tree::Call) -> bool {
    call.arguments.as_ref().is_some_and(|arguments| arguments.distinct == Some(true))
}

/// The ORDER BY or LIMIT in a call's brackets, as messages show it.
pub(crate) fn clause_shown(call: &tree::Call) -> Option<String> {
    let arguments = call.arguments.as_ref()?;
    if !arguments.order_by.is_empty() {
        let keys: Vec<String> = arguments.order_by.iter().map(order_shown).collect();
        return Some(format!("ORDER BY {}", keys.join(", ")));
    }
    limit_shown(call)
}

/// The LIMIT in a call's brackets, as messages show it.
pub(crate) fn limit_shown(call: &tree::Call) -> Option<String> {
    let limit = call.arguments.as_ref()?.limit.as_ref()?;
    Some(format!("LIMIT {limit}"))
}

fn order_shown(item: &tree::OrderItem) -> String {
    let mut shown = match &item.key {
        tree::OrderKey::All => "ALL".to_owned(),
        tree::OrderKey::Expr(value) => value.to_string(),
        tree::OrderKey::Using(value, operator) => format!("{value} USING {operator}"),
    };
    match item.descending {
        None => {}
        Some(true) => shown.push_str(" DESC"),
        Some(false) => shown.push_str(" ASC"),
    }
    match item.nulls_first {
        None => {}
        Some(true) => shown.push_str(" NULLS FIRST"),
        Some(false) => shown.push_str(" NULLS LAST"),
    }
    shown
}

/// Whether an argument is `*` and nothing more.
pub(crate) fn is_bare_star(argument: &tree::Argument) -> bool {
    match &argument.value.kind {
        AstKind::Star(star) => argument.name.is_none() && star.of.is_none() && !has_options(star),
        _ => false,
    }
}

/// Name and value of `name => value` and `name := value`.
pub(crate) fn named(argument: &tree::Argument) -> Option<(&tree::Name, &Ast)> {
    match &argument.name {
        Some((_, tree::ArgumentSign::Equals)) => None,
        _ => name_and_value(argument),
    }
}

/// Name and value of an argument that has a name, `name = value` among them.
pub(crate) fn name_and_value(argument: &tree::Argument) -> Option<(&tree::Name, &Ast)> {
    let (name, _) = argument.name.as_ref()?;
    (!is_star(&argument.value)).then_some((name, &argument.value))
}

/// An argument as messages show it.
pub(crate) fn shown(argument: &tree::Argument) -> String {
    let tree::Argument { variadic, name, value } = argument;
    let variadic = if *variadic { "VARIADIC " } else { "" };
    let name = name.as_ref().map_or_else(String::new, |(name, sign)| {
        let sign = match sign {
            tree::ArgumentSign::Arrow => "=>",
            tree::ArgumentSign::ColonEquals => ":=",
            tree::ArgumentSign::Equals => "=",
        };
        format!("{name} {sign} ")
    });
    format!("{variadic}{name}{value}")
}

/// Whether it is a star that stands for no value.
pub(crate) fn is_star(value: &Ast) -> bool {
    matches!(&value.kind, AstKind::Star(star) if !names_columns(star))
}

/// Whether a star stands for the columns that a pattern chooses; `* ILIKE` is an option of the star.
fn names_columns(star: &tree::Star) -> bool {
    star.names.as_ref().is_some_and(|names| names.kind != tree::LikeKind::ILike || names.negated)
}

/// Whether a star has no options.
pub(crate) fn is_plain(star: &tree::Star) -> bool {
    !has_options(star)
}

fn has_options(star: &tree::Star) -> bool {
    let tree::Star { of: _, exclude, except: _, replace, rename, names } = star;
    !exclude.is_empty() || !replace.is_empty() || !rename.is_empty() || names.is_some()
}

impl<'a> Binder<'a> {
    /// Fails where an argument is VARIADIC, or a table's star with options.
    pub(crate) fn no_variadic(&self, arguments: &[tree::Argument]) -> Result<()> {
        for tree::Argument { variadic, name: _, value } in arguments {
            let what = match &value.kind {
                _ if *variadic => "VARIADIC",
                AstKind::Star(star) if star.of.is_some() && has_options(star) && !names_columns(star) => {
                    "* of a table with options as an argument"
                }
                _ => continue,
            };
            return Err(self.error_at(Error::unsupported(format!("{what} is not supported")), value.span));
        }
        Ok(())
    }

    /// The value of an argument without a name; None for names and stars.
    pub(crate) fn argument_value(&self, argument: &'a tree::Argument) -> Option<&'a Ast> {
        match &argument.name {
            None => (!is_star(&argument.value)).then_some(&argument.value),
            Some((name, tree::ArgumentSign::Equals)) => Some(self.compared(name, &argument.value)),
            Some(_) => None,
        }
    }

    /// The values of arguments without names, or the first argument that is none.
    pub(crate) fn positional(
        &self,
        arguments: &'a [tree::Argument],
    ) -> std::result::Result<Vec<&'a Ast>, &'a tree::Argument> {
        arguments.iter().map(|argument| self.argument_value(argument).ok_or(argument)).collect()
    }

    /// `name = value` as the comparison that it is.
    fn compared(&self, name: &tree::Name, value: &Ast) -> &'a Ast {
        let left = Ast { kind: AstKind::Column(tree::Path { names: vec![name.clone()] }), span: name.span };
        let sign = tree::Operator { kind: tree::OperatorKind::Equal, span: name.span };
        let span = name.span.to(value.span);
        let kind = AstKind::Chain(Box::new(left), vec![(sign, value.clone())]);
        self.texts.keep_expr(Ast { kind, span })
    }
}
