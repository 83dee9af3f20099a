//! `COLUMNS(...)`: an expression of several columns, each in its turn.
//!
//! The item of the select list, or the condition, that holds it is bound once for every column; `Chosen` says whose
//! turn it is. The columns that COLUMNS selects are resolved when it is first met, so that no search precedes
//! binding.
//!
//! `* LIKE 'a%'` and its kin are COLUMNS, too: of a regular expression, or of a lambda over names. `* ILIKE` is an option
//! of the star (`star`).

use std::rc::Rc;

use plan::Expr;
use regex::Regex;
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, LikeKind, Literal};
use types::quote;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::bind::nested::paths::names_of;
use crate::bind::query::select::Item;
use crate::bind::scope::nearest;
use crate::bind::{folded, refusal};
use crate::names::Name;

/// Columns that one COLUMNS may stand for, over all expressions of a query.
const EXPANSION_MAX: usize = 10_000;

/// What says which columns are meant.
#[derive(Clone, Copy, PartialEq)]
enum Written<'a> {
    /// The brackets of COLUMNS.
    Brackets(&'a Ast),
    /// A pattern behind a star.
    Pattern(&'a tree::StarPattern),
}

/// The columns that are expanded, and the one whose turn it is.
#[derive(Default)]
pub(crate) struct Chosen<'a> {
    at: usize,
    /// Absent before COLUMNS has been met.
    written: Option<Written<'a>>,
    columns: Vec<(Rc<str>, Bound)>,
    pattern: Option<Regex>,
}

impl Chosen<'_> {
    /// Whether COLUMNS has been met at all.
    pub fn is_used(&self) -> bool {
        self.written.is_some()
    }

    /// Goes on to the next column; false when there is none.
    pub fn next(&mut self) -> bool {
        self.at += 1;
        self.at < self.columns.len()
    }

    /// The heading of the expression: the column's name, or the alias, in which `\0` is that name and `\1` what the
    /// pattern's first group has found.
    pub fn heading(&self, alias: Option<&str>) -> String {
        let name = self.columns.get(self.at).map_or("", |(name, _)| name);
        let Some(alias) = alias else { return name.to_owned() };
        let found = self.pattern.as_ref().and_then(|pattern| pattern.captures(name));
        let mut heading = String::new();
        let mut letters = alias.chars().peekable();
        while let Some(letter) = letters.next() {
            match letters.peek().and_then(|next| next.to_digit(10)).filter(|_| letter == '\\') {
                Some(group) => {
                    letters.next();
                    let part = found.as_ref().and_then(|f| f.get(group as usize)).map_or("", |m| m.as_str());
                    heading.push_str(if group == 0 { name } else { part });
                }
                None => heading.push(letter),
            }
        }
        heading
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// The column whose turn it is, for a call of COLUMNS.
    pub(crate) fn columns_call(&mut self, call: &'a tree::ColumnsCall, at: Span) -> Result<Bound> {
        if call.of.is_some() {
            return self.columns_of_table(call, at);
        }
        if call.unpacked {
            return self.unpacked_elsewhere(&call.which, at);
        }
        self.column_in_turn(Written::Brackets(&call.which), at)
    }

    /// `*COLUMNS(...)` that is no argument.
    fn unpacked_elsewhere(&mut self, which: &'a Ast, at: Span) -> Result<Bound> {
        const NAME: &str = "columns as arguments";
        if matches!(&which.kind, AstKind::Star(star) if !is_pattern(star)) {
            let what = format!("function {NAME}: the argument {which}");
            return Err(refusal::unsupported(what, self.binder.text, at));
        }
        let bound = self.bind(which)?;
        self.apply(NAME, vec![bound], at)
    }

    /// A star in the place of a value: COLUMNS where a pattern of names stands behind it.
    pub(crate) fn star_value(&mut self, star: &'a tree::Star, at: Span) -> Result<Bound> {
        let text = self.binder.text;
        if let Some(names) = star.names.as_ref().filter(|_| is_pattern(star)) {
            let others = star.exclude.first().map(tree::Path::span);
            let others = others.or(star.replace.first().map(|(value, _)| value.span));
            if let Some(other) = others.or(star.rename.first().map(|(from, _)| from.span())) {
                return Err(refusal::unsupported("an option of * behind a pattern of names", text, other));
            }
            return match &star.of {
                None => self.column_in_turn(Written::Pattern(names), at),
                Some(of) => {
                    let which = self.names_like(names, at)?;
                    let call = tree::ColumnsCall { of: Some(of.clone()), unpacked: false, which };
                    let kept = Ast { kind: AstKind::Columns(Box::new(call)), span: at };
                    self.bind(self.binder.texts.keep_expr(kept))
                }
            };
        }
        if has_options(star) {
            return Err(refusal::unsupported("* with options in this place", text, at));
        }
        // The row of a table as one value.
        if let Some(name) = star.of.as_ref().and_then(tree::Path::single)
            && let Some(row) = self.whole_row(name)?
        {
            return Ok(row);
        }
        let shown = match &star.of {
            None => "*".to_owned(),
            Some(of) => format!("{of}.*"),
        };
        Err(refusal::unsupported(format!("the expression {shown}"), text, at))
    }

    /// The column whose turn it is among those that are meant.
    fn column_in_turn(&mut self, written: Written<'a>, span: Span) -> Result<Bound> {
        let Some(mut chosen) = self.binder.chosen.take() else {
            let message = "COLUMNS stands in the select list, WHERE, ORDER BY and DISTINCT ON only";
            return Err(self.binder.error_at(Error::new(SqlState::SyntaxError, message), span));
        };
        match &chosen.written {
            None => {
                let which = match written {
                    Written::Brackets(which) => which,
                    Written::Pattern(names) => self.binder.texts.keep_expr(self.names_like(names, span)?),
                };
                let (columns, pattern) = self.expanded(which, span)?;
                if columns.len() > EXPANSION_MAX {
                    let message = format!("COLUMNS stands for more than {EXPANSION_MAX} columns");
                    return Err(self
                        .binder
                        .error_at(Error::new(SqlState::StatementTooComplex, message), span));
                }
                chosen = Chosen { at: 0, written: Some(written), columns, pattern };
            }
            Some(known) if *known != written => {
                let error = Error::unsupported("different COLUMNS in one expression are not supported");
                return Err(self.binder.error_at(error, span));
            }
            Some(_) => {}
        }
        let bound = chosen.columns.get(chosen.at).map(|(_, bound)| bound.clone());
        self.binder.chosen = Some(chosen);
        bound.ok_or_else(|| Error::internal("COLUMNS of no column"))
    }

    /// What COLUMNS is told for a pattern behind a star: a regular expression, or a lambda over names.
    fn names_like(&self, names: &'a tree::StarPattern, at: Span) -> Result<Ast> {
        let text = self.text_of_pattern(names)?;
        let tree::StarPattern { kind, negated, pattern, escape } = names;
        let own = Span::new(at.start, (at.start + 1).min(at.end));
        let made = |kind| Ast { kind, span: own };
        let word = |word: &str| tree::Name { text: word.into(), quoted: false, span: own };
        let name = || made(AstKind::Column(tree::Path { names: vec![word("name")] }));
        let constant =
            |text: &str| Ast { kind: AstKind::Literal(Literal::Text(text.into())), span: pattern.span };
        let regular = match kind {
            // As DuckDB has it: a regular expression over the whole name.
            LikeKind::SimilarTo => Some(format!("^({text})$")),
            LikeKind::Glob => Some(glob(text)),
            LikeKind::RLike => Some(text.to_owned()),
            LikeKind::Like | LikeKind::ILike => None,
        };
        let holds = match regular {
            Some(regular) if !negated => return Ok(constant(&regular)),
            Some(regular) => {
                let argument = |value| tree::Argument { variadic: false, name: None, value };
                let list = vec![argument(name()), argument(constant(&regular))];
                made(AstKind::Call(Box::new(tree::Call {
                    name: tree::Path { names: vec![word("regexp_matches")] },
                    arguments: Some(tree::Arguments { list, ..tree::Arguments::default() }),
                    within_group: vec![],
                    filter: None,
                    nulls: None,
                    over: None,
                })))
            }
            None => made(AstKind::Like(Box::new(tree::LikeTest {
                expr: name(),
                negated: false,
                kind: *kind,
                quantifier: None,
                pattern: constant(text),
                escape: escape.clone(),
            }))),
        };
        let body = match negated {
            false => holds,
            true => {
                let not = tree::Operator { kind: tree::OperatorKind::Not, span: own };
                made(AstKind::Prefix(not, Box::new(made(AstKind::Nested(Box::new(holds))))))
            }
        };
        let lambda = tree::Lambda { worded: false, parameters: vec![word("name")], body };
        Ok(made(AstKind::Lambda(Box::new(lambda))))
    }

    /// The columns of `*COLUMNS(...)`, each an argument of the function around it; `None` for any other argument.
    pub(crate) fn unpacked_columns(&mut self, argument: &'a Ast) -> Result<Option<Vec<Bound>>> {
        match &argument.kind {
            AstKind::Columns(call) if call.unpacked => {
                let (columns, _) = self.expanded(&call.which, argument.span)?;
                Ok(Some(columns.into_iter().map(|(_, bound)| bound).collect()))
            }
            _ => Ok(None),
        }
    }

    /// The items whose names a lambda holds true of.
    fn chosen_by(&mut self, lambda: &'a tree::Lambda, items: Vec<Item>, span: Span) -> Result<Vec<Item>> {
        let [parameter] = lambda.parameters.as_slice() else {
            let error = Error::new(SqlState::SyntaxError, "the lambda of COLUMNS takes a column's name");
            return Err(self.binder.error_at(error, span));
        };
        let mut held = Vec::with_capacity(items.len());
        for item in &items {
            let name = Expr::literal(Value::text(&item.name), Type::Text);
            self.binder.arguments.push(vec![(folded(parameter), Bound::typed(name, span))]);
            let value = self.bind(&lambda.body);
            self.binder.arguments.pop();
            held.push(crate::bind::expression::fold::fold(value?.expr).as_literal().cloned());
        }
        if held.iter().any(Option::is_none) {
            // What is no constant here is asked for.
            let names = items.iter().map(|item| format!("({})", quote::text(&item.name)));
            let names = names.collect::<Vec<_>>().join(", ");
            let query = format!("SELECT ({}) FROM (VALUES {names}) AS names({parameter})", lambda.body);
            let answer = self.binder.relations.answer(&query).map_err(|e| self.binder.error_at(e, span))?;
            held = answer.rows.into_iter().map(|row| row.into_iter().next()).collect();
        }
        let holds = held.into_iter().map(|value| value == Some(Value::Bool(true)));
        let chosen: Vec<Item> =
            items.into_iter().zip(holds).filter(|(_, holds)| *holds).map(|(item, _)| item).collect();
        if chosen.is_empty() {
            let error = Error::new(SqlState::UndefinedColumn, "no column's name is chosen by COLUMNS");
            return Err(self.binder.error_at(error, span));
        }
        Ok(chosen)
    }

    /// The columns that the brackets name, and the pattern if they hold one.
    #[allow(clippy::type_complexity)]
    fn expanded(&mut self, which: &'a Ast, span: Span) -> Result<(Vec<(Rc<str>, Bound)>, Option<Regex>)> {
        let scope = self.scope.clone();
        let all: Vec<Item> = scope.star().map(|e| self.star_item(e, span)).collect();
        let items = match &which.kind {
            AstKind::Star(star) if !is_pattern(star) => match &star.of {
                None if has_options(star) => self.apply_options(all, star, span)?,
                None => all,
                Some(_) if has_options(star) => {
                    let what = "* of a table with options as an argument";
                    return Err(refusal::unsupported(what, self.binder.text, which.span));
                }
                Some(of) => self.qualified_star(of, span)?,
            },
            AstKind::List { array: _, elements } => {
                let mut items = Vec::with_capacity(elements.len());
                for element in elements {
                    let name = match (&element.kind, names_of(element)) {
                        (AstKind::Literal(Literal::Text(text)), _) => {
                            let (text, span) = (text.clone(), element.span);
                            Name::of(&tree::Name { text, quoted: false, span })
                        }
                        (_, Some([name])) => Name::of(name),
                        _ => Name::exact(&element.to_string()),
                    };
                    match scope.find_here(None, None, &name).map_err(|e| self.binder.error_at(e, span))? {
                        Some(entry) => items.push(self.star_item(entry, span)),
                        None => return Err(self.binder.error_at(scope.unknown(None, &name.text), span)),
                    }
                }
                items
            }
            AstKind::Lambda(lambda) => self.chosen_by(lambda, all, span)?,
            _ => {
                let (value, _) = self.binder.constant(which)?;
                let Some(text) = value.as_text() else {
                    let error =
                        Error::new(SqlState::InvalidParameterValue, "COLUMNS takes a pattern as text");
                    let error =
                        error.with_hint("write COLUMNS('pattern'), COLUMNS(*) or COLUMNS(ARRAY['a', 'b'])");
                    return Err(self.binder.error_at(error, span));
                };
                let pattern = Regex::new(text).map_err(|_| {
                    let message = format!("invalid regular expression: {text}");
                    self.binder.error_at(Error::new(SqlState::InvalidParameterValue, message), span)
                })?;
                let items: Vec<Item> = all.into_iter().filter(|i| pattern.is_match(&i.name)).collect();
                if items.is_empty() {
                    let message = format!("no column's name matches \"{text}\"");
                    let error = Error::new(SqlState::UndefinedColumn, message);
                    let error = match nearest(text, scope.star().map(|e| &*e.name)) {
                        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                        None => error,
                    };
                    return Err(self.binder.error_at(error, span));
                }
                return Ok((named(items), Some(pattern)));
            }
        };
        if items.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "COLUMNS of no tables is not valid");
            return Err(self.binder.error_at(error, span));
        }
        Ok((named(items), None))
    }
}

fn named(items: Vec<Item>) -> Vec<(Rc<str>, Bound)> {
    let bound = |i: Item| (i.name, Bound { expr: i.expr, untyped: i.untyped, span: i.span });
    items.into_iter().map(bound).collect()
}

/// Whether a pattern of names stands behind a star that makes it COLUMNS: any but `* ILIKE` without ESCAPE.
pub(crate) fn is_pattern(star: &tree::Star) -> bool {
    let is_option =
        |names: &tree::StarPattern| names.kind == LikeKind::ILike && !names.negated && names.escape.is_none();
    star.names.as_ref().is_some_and(|names| !is_option(names))
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
