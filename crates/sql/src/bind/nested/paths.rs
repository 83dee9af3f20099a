//! Steps into values: names behind points, and what stands in brackets.
//!
//! A name with points is tried as schema, table and column first, then as a column and fields of it: the longest that
//! is a column counts. Called while expressions are bound, and for the names of columns in headings.

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Result, Type};

use crate::bind::decorrelate::packing::where_known;
use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::bind::{folded, refusal};
use crate::stack;

/// Steps into a value that follow each other, at most: each is a level of the expression.
const STEPS_MAX: usize = types::nested::NESTING_MAX as usize + 3;

/// Functions that are called without brackets; other words without them are columns.
const BARE: [&str; 10] = [
    "current_catalog",
    "current_date",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

fn is_bare(name: &tree::Name) -> bool {
    BARE.iter().any(|known| name.text.eq_ignore_ascii_case(known))
}

/// The name of a call without brackets that is a column: a word that is no function, with nothing behind it.
pub(crate) fn bare_word(call: &tree::Call) -> Option<&tree::Name> {
    let tree::Call { name, arguments: None, within_group, filter: None, nulls: None, over: None } = call
    else {
        return None;
    };
    name.single().filter(|name| within_group.is_empty() && !is_bare(name))
}

/// The names of what is a column's path, or may be one with fields behind it; `user` is a function.
pub(crate) fn names_of(ast: &Ast) -> Option<&[tree::Name]> {
    match &ast.kind {
        AstKind::Column(path) => match path.single() {
            Some(name) if !name.quoted && name.text.eq_ignore_ascii_case("user") => None,
            _ => Some(&path.names),
        },
        AstKind::Call(call) => bare_word(call).map(std::slice::from_ref),
        _ => None,
    }
}

/// One step from a value into it.
enum Step<'a> {
    Index(&'a Ast),
    Slice(&'a tree::SliceStep),
    Field(&'a tree::Name),
}

/// The steps of `x.a[1]` and its like from `root` on, and the root.
fn steps<'a>(ast: &'a Ast, text: &str) -> Result<(&'a Ast, Vec<Step<'a>>)> {
    let (mut steps, mut root) = (Vec::new(), ast);
    loop {
        let (inner, step) = match &root.kind {
            AstKind::Index(inner, index) => (&**inner, Step::Index(index)),
            AstKind::Slice(slice) => (&slice.expr, Step::Slice(slice)),
            AstKind::Field(inner, Some(name)) => (&**inner, Step::Field(name)),
            AstKind::Field(_, None) => {
                return Err(refusal::unsupported("all fields of a value as columns", text, root.span));
            }
            _ => break,
        };
        steps.push(step);
        root = inner;
    }
    steps.reverse();
    Ok((root, steps))
}

impl<'a> ExprBinder<'_, 'a> {
    /// `x.a`, `x[1]`, `x['a']`, `x[1:2]` and chains of them.
    pub(crate) fn access(&mut self, ast: &'a Ast) -> Result<Bound> {
        let (root, steps) = steps(ast, self.binder.text)?;
        let mut names: Vec<&'a tree::Name> = names_of(root).unwrap_or_default().iter().collect();
        if names.len().saturating_sub(1) + steps.len() > STEPS_MAX {
            return Err(self.at(stack::too_deep(), Span::default()));
        }
        // `t.s[1].a`: as many leading names as make a column are one.
        let mut rest = steps.as_slice();
        if !names.is_empty() {
            while let Some((Step::Field(name), after)) = rest.split_first() {
                names.push(name);
                rest = after;
            }
        }
        let mut bound = match names.as_slice() {
            [] => self.bind(root)?,
            names => self.value_named(names)?,
        };
        for step in rest {
            bound = match step {
                Step::Field(name) => self.field(bound, &folded(name), name.span)?,
                Step::Index(index) => {
                    let index = self.bind(index)?;
                    self.subscript(bound, index)?
                }
                Step::Slice(tree::SliceStep { expr: _, from, to, step }) => {
                    let mut bounds = Vec::with_capacity(3);
                    for part in [from, to, step] {
                        bounds.push(match part {
                            Some(part) => Some(self.bind(part)?),
                            None => None,
                        });
                    }
                    self.slice(bound, bounds)?
                }
            };
        }
        Ok(bound)
    }

    /// `e.f(x)`, which is `f(e, x)`. A chain of calls is written so at once: its text would be copied for each of them.
    pub(crate) fn method(&mut self, of: &Ast, call: &tree::Call, span: Span) -> Result<Bound> {
        let (mut root, mut calls) = (of, vec![(call, span)]);
        while let AstKind::Method(inner, inner_call) = &root.kind {
            calls.push((&**inner_call, root.span));
            root = &**inner;
        }
        let mut ast = root.clone();
        for (call, span) in calls.into_iter().rev() {
            let mut call = call.clone();
            let value = tree::Argument { variadic: false, name: None, value: ast };
            call.arguments.get_or_insert_default().list.insert(0, value);
            ast = Ast { kind: AstKind::Call(Box::new(call)), span };
        }
        let ast = self.binder.texts.keep_expr(ast);
        self.bind(ast)
    }

    /// `a.f(x)` where `a` is no schema but a value: the call `f(a, x)`. `None` where it is a schema, or nothing.
    pub(crate) fn method_of_names(&mut self, call: &'a tree::Call, span: Span) -> Result<Option<Bound>> {
        let [before @ .., last] = call.name.names.as_slice() else { return Ok(None) };
        if before.is_empty() || call.arguments.is_none() {
            return Ok(None);
        }
        let is_schema = match self.binder.schema_of_function(&call.name) {
            Ok(Some(schema)) => {
                let refused = self.binder.refuse_in_schema(&schema, &folded(last), last.span);
                refused.is_ok() || self.binder.relations.schema_names().contains(&schema)
            }
            Ok(None) => true,
            Err(_) => false,
        };
        if is_schema || self.identifier(before).is_err() {
            return Ok(None);
        }
        let of = Ast { kind: AstKind::Column(tree::Path { names: before.to_vec() }), span };
        let call = tree::Call { name: tree::Path { names: vec![last.clone()] }, ..call.clone() };
        self.method(&of, &call, span).map(Some)
    }

    /// A column by as many names as it takes, and the fields of it that the others name.
    pub(crate) fn named_value(&mut self, names: &'a [tree::Name]) -> Result<Bound> {
        self.value_named(&names.iter().collect::<Vec<_>>())
    }

    fn value_named(&mut self, names: &[&'a tree::Name]) -> Result<Bound> {
        if names.len() > STEPS_MAX {
            return Err(self.at(stack::too_deep(), names[STEPS_MAX].span));
        }
        let owned: Vec<tree::Name> = names.iter().map(|name| (*name).clone()).collect();
        let mut first = None;
        for count in (1..=owned.len().min(3)).rev() {
            match self.column(&owned[..count]) {
                // A column that has no fields is not what stands before a point.
                Ok(Some(bound))
                    if count < owned.len()
                        && !matches!(
                            bound.ty(),
                            Type::Struct(_) | Type::Union(_) | Type::Json | Type::Jsonb
                        ) => {}
                Ok(Some(bound)) => return self.fields(bound, &names[count..]),
                Ok(None) => {}
                Err(error) => first = first.or(Some(error)),
            }
        }
        match self.listed_alias(names[0])? {
            Some(bound) => self.fields(bound, &names[1..]),
            None => Err(first.unwrap_or_else(|| self.unknown_column(&owned))),
        }
    }

    fn fields(&self, mut bound: Bound, names: &[&tree::Name]) -> Result<Bound> {
        for name in names {
            bound = self.field(bound, &folded(name), name.span)?;
        }
        Ok(bound)
    }

    /// The functions of lists that take a part, of a text or of bytes: what the brackets of a subscript do.
    pub(crate) fn part_of_text(&mut self, name: &str, arguments: &[Bound]) -> Result<Option<Bound>> {
        let Some((of, places)) = arguments.split_first() else { return Ok(None) };
        if !(of.ty().is_text() || of.ty() == Type::Bytea) {
            return Ok(None);
        }
        match (name, places) {
            ("array_extract" | "list_extract" | "list_element", [place]) if !of.ty().is_json() => {
                self.subscript(of.clone(), place.clone()).map(Some)
            }
            ("array_slice" | "list_slice", [_, _] | [_, _, _]) => {
                let part = self.slice(of.clone(), places.iter().cloned().map(Some).collect())?;
                let places = places.iter().map(|place| place.expr.clone()).collect();
                Ok(Some(Bound::typed(where_known(places, part.expr), part.span)))
            }
            _ => Ok(None),
        }
    }
}
