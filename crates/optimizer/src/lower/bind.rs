//! Binding: a logical expression over column ids becomes a physical one over positions in the input batch.
//!
//! On the way its types are settled anew (rule `narrow_decimals`): the inputs may be narrower than the logical plan
//! says, so each node takes the type its operands and their bounds allow, and casts appear where a parent insists on
//! the type it was declared with. With the rule off nothing is narrower and every node keeps its type.

use plan::bounds::{self, Bounds};
use plan::{Arithmetic, ColumnId, Expr, ExprKind, Function, OutputColumn};
use types::{Error, Result, Type, Value, cast};

use crate::lower::Relation;
use crate::rules::narrow_decimals as narrow;

/// What an expression may refer to: one relation's columns, or a probe's followed by a build's.
pub(crate) struct Inputs<'a> {
    parts: [Option<&'a Relation>; 2],
    narrow: bool,
}

impl<'a> Inputs<'a> {
    /// Binds over one relation's columns; `narrow` is the setting `narrow_decimals`.
    pub(crate) fn one(relation: &'a Relation, narrow: bool) -> Self {
        Inputs { parts: [Some(relation), None], narrow }
    }
    /// Binds over a join's columns: the probe's, then the build's.
    pub(crate) fn two(probe: &'a Relation, build: &'a Relation, narrow: bool) -> Self {
        Inputs { parts: [Some(probe), Some(build)], narrow }
    }
    fn find(&self, id: ColumnId) -> Option<(usize, &'a OutputColumn)> {
        let mut before = 0;
        for part in self.parts.into_iter().flatten() {
            if let Some(at) = part.position(id) {
                return Some((before + at, &part.plan.output[at]));
            }
            before += part.columns.len();
        }
        None
    }
    /// The expression over positions, in the type that its inputs allow. An internal error for a column that is not
    /// there.
    pub(crate) fn bind(&self, expr: Expr) -> Result<Expr> {
        Ok(self.typed(expr)?.0)
    }
    /// Bound, and cast back to the declared type where it came out narrower.
    pub(crate) fn bind_as_declared(&self, expr: Expr) -> Result<Expr> {
        let declared = expr.ty;
        Ok(restore(self.bind(expr)?, declared))
    }
    /// Both sides of an equality, brought to one representation.
    pub(crate) fn unify(left: Expr, right: Expr) -> (Expr, Expr) {
        unify(left, right)
    }

    /// As `bind`, with bounds on the values where they are known.
    pub(crate) fn typed(&self, expr: Expr) -> Result<(Expr, Bounds)> {
        use ExprKind as K;
        let Expr { kind, ty } = expr;
        match kind {
            K::Column(id) => {
                let (at, column) = self.find(id).ok_or_else(|| {
                    Error::internal(format!("column #{} is not delivered by the node below", id.0))
                })?;
                Ok((Expr::input(at, column.ty), column.bounds))
            }
            K::Literal(value) => {
                let bounds = if bounds::has_bounds(ty) { bounds::literal(&value) } else { None };
                let literal = Expr::literal(value, ty);
                Ok((if self.narrow { narrow::literal(literal) } else { literal }, bounds))
            }
            K::Compare { op, left, right } => {
                let (left, right) = unify(self.bind(*left)?, self.bind(*right)?);
                Ok((Expr::compare(op, left, right), None))
            }
            K::NotDistinct { left, right, negated } => {
                let (left, right) = unify(self.bind(*left)?, self.bind(*right)?);
                let kind = K::NotDistinct { left: Box::new(left), right: Box::new(right), negated };
                Ok((Expr::new(kind, ty), None))
            }
            K::Arithmetic { op, left, right, checked } => self.arithmetic(op, *left, *right, checked, ty),
            K::Negate(input) => self.negation(*input, ty),
            K::Cast { input, lenient } => self.cast(*input, lenient, ty),
            K::Case { branches, otherwise } => {
                let mut whens = Vec::with_capacity(branches.len());
                let mut values = Vec::with_capacity(branches.len() + 1);
                for (when, then) in branches {
                    whens.push(self.bind(when)?);
                    values.push(then);
                }
                let has_otherwise = otherwise.is_some();
                values.extend(otherwise.map(|e| *e));
                let (mut values, ty, bounds) = self.choice(values, ty)?;
                let otherwise = if has_otherwise { values.pop().map(Box::new) } else { None };
                let branches = whens.into_iter().zip(values).collect();
                Ok((Expr::new(K::Case { branches, otherwise }, ty), bounds))
            }
            K::Function { function: Function::Coalesce, arguments } => {
                let (arguments, ty, bounds) = self.choice(arguments, ty)?;
                Ok((Expr::new(K::Function { function: Function::Coalesce, arguments }, ty), bounds))
            }
            K::Function { function, arguments } => {
                let mut first = None;
                let mut bound = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let declared = argument.ty;
                    let (argument, bounds) = self.typed(argument)?;
                    first = first.or(Some((argument.ty, bounds)));
                    bound.push(restore(argument, declared));
                }
                let bounds = bounds::function(function, first);
                Ok((Expr::new(K::Function { function, arguments: bound }, ty), bounds))
            }
            K::IsNull { input, negated } => {
                let input = Box::new(self.bind(*input)?);
                Ok((Expr::new(K::IsNull { input, negated }, ty), None))
            }
            // The rest neither gains from narrower operands nor says anything of its own bounds.
            K::InList { input, values, has_null, negated } => {
                let input = Box::new(self.bind_as_declared(*input)?);
                Ok((Expr::new(K::InList { input, values, has_null, negated }, ty), None))
            }
            kind => {
                let mut expr = Expr::new(kind, ty);
                for child in expr.children_mut() {
                    let taken = std::mem::replace(child, Expr::boolean(false));
                    *child = self.bind_as_declared(taken)?;
                }
                Ok((expr, None))
            }
        }
    }

    fn negation(&self, input: Expr, ty: Type) -> Result<(Expr, Bounds)> {
        let declared = input.ty;
        let (input, bounds) = self.typed(input)?;
        let bounds = bounds::negate(bounds);
        let narrowed = if self.narrow { narrow::narrower(ty, bounds) } else { None };
        let (input, ty) = match narrowed {
            Some(narrowed) if input.ty.physical() == narrowed.physical() => (input, narrowed),
            _ => (restore(input, declared), ty),
        };
        Ok((Expr::new(ExprKind::Negate(Box::new(input)), ty), bounds))
    }

    fn cast(&self, input: Expr, lenient: bool, ty: Type) -> Result<(Expr, Bounds)> {
        let (input, bounds) = self.typed(input)?;
        let from = input.ty;
        if from == ty {
            return Ok((input, bounds));
        }
        let bounds = bounds::cast(from, ty, bounds);
        if self.narrow {
            if let Some(free) = narrow::free_cast(from, ty, bounds) {
                return Ok((Expr { ty: free, ..input }, bounds));
            }
            if let Some(narrowed) = narrow::narrower_cast(from, ty, bounds) {
                let kind = ExprKind::Cast { input: Box::new(input), lenient };
                return Ok((Expr::new(kind, narrowed), bounds));
            }
        }
        let bounds = bounds.filter(|_| !lenient);
        Ok((Expr::new(ExprKind::Cast { input: Box::new(input), lenient }, ty), bounds))
    }

    fn arithmetic(
        &self,
        op: Arithmetic,
        left: Expr,
        right: Expr,
        checked: bool,
        ty: Type,
    ) -> Result<(Expr, Bounds)> {
        let declared = (left.ty, right.ty);
        let ((left, l), (right, r)) = (self.typed(left)?, self.typed(right)?);
        let bounds = bounds::arithmetic(op, left.ty, right.ty, ty, l, r);
        let make = |left, right, checked, ty| {
            let kind = ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked };
            (Expr::new(kind, ty), bounds)
        };
        let tolerant = matches!(op, Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply)
            && left.ty.is_decimal()
            && right.ty.is_decimal()
            && ty.is_decimal();
        if !self.narrow {
            return Ok(make(left, right, checked, ty));
        }
        let (left, right) =
            if tolerant { (left, right) } else { (restore(left, declared.0), restore(right, declared.1)) };
        let result = if tolerant { narrow::narrower(ty, bounds).unwrap_or(ty) } else { ty };
        let checked = checked
            && !(op != Arithmetic::Divide && op != Arithmetic::Modulo && narrow::fits(result, bounds));
        Ok(make(left, right, checked, result))
    }

    /// The values of CASE or COALESCE: all narrow, or all as declared.
    fn choice(&self, values: Vec<Expr>, ty: Type) -> Result<(Vec<Expr>, Type, Bounds)> {
        let mut typed = Vec::with_capacity(values.len());
        for value in values {
            let declared = value.ty;
            let (value, bounds) = self.typed(value)?;
            typed.push((value, bounds, declared));
        }
        let is_null = |e: &Expr| e.as_literal().is_some_and(Value::is_null);
        let bounds = bounds::union(&mut typed.iter().map(|(e, b, _)| (is_null(e), *b)));
        let narrowed = if self.narrow { narrow::narrower(ty, bounds) } else { None };
        let narrowed =
            narrowed.filter(|n| typed.iter().all(|(e, ..)| is_null(e) || e.ty.same_representation(*n)));
        let values = typed
            .into_iter()
            .map(|(e, _, declared)| match narrowed {
                Some(n) if is_null(&e) => Expr::literal(Value::Null, n),
                Some(_) => e,
                None => restore(e, declared),
            })
            .collect();
        Ok((values, narrowed.unwrap_or(ty), bounds))
    }
}

/// `expr` in the type its parent was promised.
pub(crate) fn restore(expr: Expr, declared: Type) -> Expr {
    if expr.ty == declared {
        return expr;
    }
    match &expr.kind {
        ExprKind::Literal(value) => match cast::cast_value(value, expr.ty, declared) {
            Ok(value) => Expr::literal(value, declared),
            Err(_) => expr.cast(declared),
        },
        // Widening what was just cast to the same scale: one cast does both.
        ExprKind::Cast { lenient: false, .. }
            if expr.ty.is_decimal() && declared.is_decimal() && expr.ty.scale() == declared.scale() =>
        {
            Expr { ty: declared, ..expr }
        }
        _ => expr.cast(declared),
    }
}

/// Operands of a comparison in one representation: the narrower decimal is widened.
fn unify(left: Expr, right: Expr) -> (Expr, Expr) {
    if left.ty.same_representation(right.ty) || !(left.ty.is_decimal() && right.ty.is_decimal()) {
        return (left, right);
    }
    if left.ty.physical().width() < right.ty.physical().width() {
        let ty = right.ty;
        (restore(left, ty), right)
    } else {
        let ty = left.ty;
        (left, restore(right, ty))
    }
}

/// Whether a bound expression may be NULL.
pub(crate) fn nullable(expr: &Expr, inputs: &[OutputColumn]) -> bool {
    use ExprKind as K;
    let any = |es: &[Expr]| es.iter().any(|e| nullable(e, inputs));
    match &expr.kind {
        K::Input(at) => inputs.get(*at).is_none_or(|c| c.nullable),
        K::Literal(value) => value.is_null(),
        K::IsNull { .. } | K::IsBoolean { .. } | K::NotDistinct { .. } => false,
        K::Compare { left, right, .. } | K::Arithmetic { left, right, .. } => {
            nullable(left, inputs) || nullable(right, inputs)
        }
        K::And(parts) | K::Or(parts) => any(parts),
        // An infinite moment has no field and no time of day.
        K::Function {
            function: Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay,
            arguments,
        } => {
            any(arguments)
                || arguments.iter().any(|a| {
                    let of = plan::bounds::expr_bounds(a, inputs);
                    !a.ty.is_interval()
                        && plan::bounds::function(Function::ExtractYear, Some((a.ty, of))).is_none()
                })
        }
        K::Cast { input, .. }
            if matches!(expr.ty, types::Type::Time | types::Type::TimeTz)
                && matches!(input.ty, types::Type::Timestamp | types::Type::TimestampTz) =>
        {
            true
        }
        K::Not(input) | K::Negate(input) | K::Like { input, .. } | K::Cast { input, lenient: false } => {
            nullable(input, inputs)
        }
        K::InList { input, has_null, .. } => *has_null || nullable(input, inputs),
        K::Case { branches, otherwise } => {
            otherwise.as_ref().is_none_or(|e| nullable(e, inputs))
                || branches.iter().any(|(_, then)| nullable(then, inputs))
        }
        K::Function { function: Function::Coalesce, arguments } => {
            arguments.iter().all(|a| nullable(a, inputs))
        }
        K::Function { function: Function::NullIf | Function::Try, .. } => true,
        K::Function { arguments, .. } => any(arguments),
        K::Column(_)
        | K::Cast { .. }
        | K::Library { .. }
        | K::Lambda(_)
        | K::External { .. }
        | K::ScalarSubquery(_)
        | K::Parameter(_) => true,
    }
}
