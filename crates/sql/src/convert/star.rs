//! Items of SELECT: values, stars with their options, and COLUMNS.
//!
//! EXCLUDE, REPLACE and RENAME become options of the wildcard. `* LIKE`, `* GLOB` and their kin become COLUMNS of a
//! pattern or a lambda. `*COLUMNS(...)` among arguments becomes the internal call `UNPACKED`. Called by `select`, and
//! by `call` for stars as arguments.

use sqlparser::ast::{
    self, ExcludeSelectItem, FunctionArgExpr, IdentWithAlias, IlikeSelectItem, ObjectName, ObjectNamePart,
    RenameSelectItem, ReplaceSelectElement, ReplaceSelectItem, SelectItem, SelectItemQualifiedWildcardKind,
    UnaryOperator, Value, WildcardAdditionalOptions,
};
use syntax::Span;
use syntax::tree::{self, ExprKind, LikeKind, Literal};
use types::Result;

use super::call::{listed, plain, unnamed};
use super::expr::attached;
use super::nested::{function_name, lambda_of};
use super::{Converter, ident, made, object_name, span};
use crate::made::UNPACKED;

impl Converter<'_> {
    /// An item of a select list or of RETURNING.
    pub(crate) fn select_item(&self, o: &tree::SelectItem) -> Result<SelectItem> {
        let tree::SelectItem { value, alias, alias_first: _ } = o;
        if let ExprKind::Star(star) = &value.kind {
            if let Some(pattern) = self.columns_by_pattern(star, value.span)? {
                return Ok(self.named(pattern, alias.as_ref()));
            }
            let mut options = self.options(star, value.span)?;
            options.opt_alias = alias.as_ref().map(|name| self.label(name));
            return Ok(match &star.of {
                None => SelectItem::Wildcard(options),
                Some(of) => {
                    let of = SelectItemQualifiedWildcardKind::ObjectName(object_name(of));
                    SelectItem::QualifiedWildcard(of, options)
                }
            });
        }
        Ok(self.named(self.expr(value)?, alias.as_ref()))
    }

    fn named(&self, expr: ast::Expr, alias: Option<&tree::Name>) -> SelectItem {
        match alias {
            None => SelectItem::UnnamedExpr(expr),
            Some(alias) => SelectItem::ExprWithAlias { expr, alias: self.label(alias) },
        }
    }

    /// A star where a value is expected.
    pub(super) fn star_value(&self, star: &tree::Star, at: Span) -> Result<ast::Expr> {
        if let Some(columns) = self.columns_by_pattern(star, at)? {
            return Ok(columns);
        }
        if has_options(star) {
            return Err(self.unsupported("* with options in this place", at));
        }
        let token = attached("*", at);
        Ok(match &star.of {
            None => ast::Expr::Wildcard(token),
            Some(of) => ast::Expr::QualifiedWildcard(object_name(of), token),
        })
    }

    /// A star as an argument.
    pub(super) fn star_argument(&self, star: &tree::Star, at: Span) -> Result<FunctionArgExpr> {
        if let Some(columns) = self.columns_by_pattern(star, at)? {
            return Ok(FunctionArgExpr::Expr(columns));
        }
        match &star.of {
            None if has_options(star) => Ok(FunctionArgExpr::WildcardWithOptions(self.options(star, at)?)),
            None => Ok(FunctionArgExpr::Wildcard),
            Some(_) if has_options(star) => {
                Err(self.unsupported("* of a table with options as an argument", at))
            }
            Some(of) => Ok(FunctionArgExpr::QualifiedWildcard(object_name(of))),
        }
    }

    fn options(&self, star: &tree::Star, at: Span) -> Result<WildcardAdditionalOptions> {
        let tree::Star { of: _, exclude, except: _, replace, rename, names } = star;
        let opt_ilike = match names {
            None => None,
            Some(names) => Some(IlikeSelectItem { pattern: self.pattern_text(names)?.to_owned() }),
        };
        if let (Some(_), Some(first)) = (names, exclude.first()) {
            return Err(self.unsupported("EXCLUDE behind a pattern of names", first.span()));
        }
        let several = |first: Span| self.after_bracket(first);
        let opt_exclude = match exclude.as_slice() {
            [] => None,
            [one] if !several(one.span()) => Some(ExcludeSelectItem::Single(object_name(one))),
            all => Some(ExcludeSelectItem::Multiple(all.iter().map(object_name).collect())),
        };
        let replaced = |(expr, name): &(tree::Expr, tree::Name)| {
            let (expr, column_name) = (self.expr(expr)?, ident(name));
            Ok(Box::new(ReplaceSelectElement { expr, column_name, as_keyword: true }))
        };
        let opt_replace = match replace.as_slice() {
            [] => None,
            all => Some(ReplaceSelectItem { items: all.iter().map(replaced).collect::<Result<_>>()? }),
        };
        let renamed = |(from, to): &(tree::Path, tree::Name)| match from.single() {
            Some(from) => Ok(IdentWithAlias { ident: ident(from), alias: ident(to) }),
            None => Err(self.unsupported("a qualified name behind RENAME", from.span())),
        };
        let opt_rename = match rename.as_slice() {
            [] => None,
            [one] if !several(one.0.span()) => Some(RenameSelectItem::Single(renamed(one)?)),
            all => Some(RenameSelectItem::Multiple(all.iter().map(renamed).collect::<Result<_>>()?)),
        };
        Ok(WildcardAdditionalOptions {
            wildcard_token: attached("*", at),
            opt_ilike,
            opt_exclude,
            opt_except: None,
            opt_replace,
            opt_rename,
            opt_alias: None,
        })
    }

    /// Whether an opening bracket stands before a place.
    fn after_bracket(&self, at: Span) -> bool {
        self.text_of(Span { start: 0, end: at.start }).trim_end().ends_with('(')
    }

    fn pattern_text<'p>(&self, names: &'p tree::StarPattern) -> Result<&'p str> {
        match &names.pattern.kind {
            ExprKind::Literal(Literal::Text(text)) => Ok(text),
            _ => Err(self.unexpected(names.pattern.span)),
        }
    }

    /// `* LIKE 'a%'` and its kin as COLUMNS: of a regular expression, or of a lambda over names. `* ILIKE` is an
    /// option of the star.
    fn columns_by_pattern(&self, star: &tree::Star, at: Span) -> Result<Option<ast::Expr>> {
        let tree::Star { of, exclude, except: _, replace, rename, names } = star;
        let Some(names) = names else { return Ok(None) };
        let tree::StarPattern { kind, negated, pattern } = names;
        if *kind == LikeKind::ILike && !negated {
            return Ok(None);
        }
        let others = exclude.first().map(tree::Path::span);
        let others = others.or(replace.first().map(|(e, _)| e.span)).or(rename.first().map(|r| r.0.span()));
        if let Some(other) = others {
            return Err(self.unsupported("an option of * behind a pattern of names", other));
        }
        let own = |name: &str| made(name, Span { start: at.start, end: (at.start + 1).min(at.end) });
        let text = self.pattern_text(names)?;
        let regular = match kind {
            // As DuckDB has it: a regular expression over the whole name.
            LikeKind::SimilarTo => Some(format!("^({text})$")),
            LikeKind::Glob => Some(glob(text)),
            LikeKind::RLike => Some(text.to_owned()),
            LikeKind::Like | LikeKind::ILike => None,
        };
        let constant =
            |text: String| ast::Expr::Value(Value::SingleQuotedString(text).with_span(span(pattern.span)));
        let name = || ast::Expr::Identifier(own("name"));
        let which = match (regular, negated) {
            (Some(regular), false) => constant(regular),
            (Some(regular), true) => {
                let arguments = listed(vec![unnamed(name()), unnamed(constant(regular))]);
                ast::Expr::Function(plain(function_name(own("regexp_matches")), arguments))
            }
            (None, _) => {
                let (expr, pattern) = (Box::new(name()), Box::new(constant(text.to_owned())));
                let (negated, any, escape_char) = (false, false, None);
                match kind {
                    LikeKind::ILike => ast::Expr::ILike { negated, any, expr, pattern, escape_char },
                    _ => ast::Expr::Like { negated, any, expr, pattern, escape_char },
                }
            }
        };
        let which = match (which, negated) {
            (which @ ast::Expr::Value(_), _) => which,
            (which, false) => lambda_of(vec![own("name")], which),
            (which, true) => {
                let expr = Box::new(ast::Expr::Nested(Box::new(which)));
                lambda_of(vec![own("name")], ast::Expr::UnaryOp { op: UnaryOperator::Not, expr })
            }
        };
        let mut path = of.as_ref().map_or(ObjectName(vec![]), object_name);
        path.0.push(ObjectNamePart::Identifier(own("columns")));
        Ok(Some(ast::Expr::Function(plain(path, listed(vec![unnamed(which)])))))
    }

    /// `COLUMNS(...)`, `t.COLUMNS(...)`, and `*COLUMNS(...)` among arguments.
    pub(super) fn columns(&self, call: &tree::ColumnsCall, at: Span) -> Result<ast::Function> {
        let tree::ColumnsCall { of, unpacked, which } = call;
        let word = "COLUMNS".len() as u32;
        let mut path = of.as_ref().map_or(ObjectName(vec![]), object_name);
        let name = if *unpacked {
            let star = Span { start: at.start, end: (at.start + 1).min(at.end) };
            ast::Ident { quote_style: Some('"'), ..made(UNPACKED, star) }
        } else {
            // The word stands behind the dot.
            let begin = of.as_ref().map_or(at.start, |of| of.span().end);
            let before = self.text_of(Span { start: begin, end: which.span.start.max(begin) });
            let skipped = before.to_ascii_lowercase().find("columns").unwrap_or_default();
            let start = begin + u32::try_from(skipped).unwrap_or_default();
            let written = Span { start, end: (start + word).min(at.end) };
            made(self.text_of(written), written)
        };
        path.0.push(ObjectNamePart::Identifier(name));
        let which = ast::FunctionArg::Unnamed(self.argument_value(which)?);
        Ok(plain(path, listed(vec![which])))
    }
}

fn has_options(star: &tree::Star) -> bool {
    let tree::Star { of: _, exclude, except: _, replace, rename, names } = star;
    !exclude.is_empty() || !replace.is_empty() || !rename.is_empty() || names.is_some()
}

/// A glob as a regular expression.
fn glob(pattern: &str) -> String {
    let mut made = String::from("^");
    for letter in pattern.chars() {
        match letter {
            '*' => made.push_str(".*"),
            '?' => made.push('.'),
            '[' | ']' => made.push(letter),
            other => made.push_str(&regex::escape(&other.to_string())),
        }
    }
    made.push('$');
    made
}
