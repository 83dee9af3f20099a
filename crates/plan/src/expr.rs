//! Bound, typed expressions.
//!
//! The same type serves logical plans, where a column is a query-wide `ColumnId`, and physical ones, where it is a
//! position in the input batch (`Input`). Every node knows its result type. Operand types are already coerced:
//! * comparisons: both sides have the same representation (`Type::same_representation`);
//! * decimal `+ - %`: both operands and the result have one scale; `*`: the scales add up; operands and result may be
//!   64 or 128 bits wide each, independently;
//! * decimal `/`: the result's scale is the node's, rounded half away from zero;
//! * DATE, TIME and TIMESTAMP with intervals, and their differences: as the types say.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Comparison, LikePattern, Position, Type, Value};

use crate::{ExternalFunction, VOLATILE};

/// A column of a logical plan, unique within its query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColumnId(pub u32);

/// An uncorrelated scalar subquery, run once before the query that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SubqueryId(pub u32);

/// The arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, of integers towards zero.
    Divide,
    /// `%`, with the sign of the dividend.
    Modulo,
}

impl Arithmetic {
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

/// Functions with kernels of our own. Everything else is `ExprKind::Library`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Function {
    /// `extract(field from x)`; BIGINT for whole fields.
    ExtractYear,
    /// EXTRACT(MONTH FROM date), 1 to 12.
    ExtractMonth,
    /// EXTRACT(DAY FROM date), 1 to 31.
    ExtractDay,
    /// `substring(text from start [for length])`, 1-based, by characters.
    Substring,
    /// A text in lower case.
    Lower,
    /// A text in upper case.
    Upper,
    /// The number of characters.
    CharacterLength,
    /// `a || b || ...`; NULL when any argument is.
    Concatenate,
    /// The first argument that is not NULL.
    Coalesce,
    /// NULL where both arguments are equal, the first one otherwise.
    NullIf,
    /// The distance from zero.
    Absolute,
    /// `try(x)`: NULL where evaluating `x` for the row ends in an error of the data (`Error::is_of_the_data`).
    Try,
    /// Where a row's number lies at random, by a seed: two BIGINTs, 0 to 2^63 - 1 (`types::sample`).
    SamplePlace,
}

impl Function {
    /// The function's name, as EXPLAIN prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExtractYear => "extract_year",
            Self::ExtractMonth => "extract_month",
            Self::ExtractDay => "extract_day",
            Self::Substring => "substring",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::CharacterLength => "character_length",
            Self::Concatenate => "concat",
            Self::Coalesce => "coalesce",
            Self::NullIf => "nullif",
            Self::Absolute => "abs",
            Self::Try => "try",
            Self::SamplePlace => "sample_place",
        }
    }
}

/// A typed expression. Equality is structural, and equal expressions hash alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// The operation and its operands.
    pub kind: ExprKind,
    /// The result's type.
    pub ty: Type,
}

/// What an expression computes. Operand types are coerced as the head of this file says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A column of a logical plan; physical expressions have `Input` instead.
    Column(ColumnId),
    /// Position in the input batch.
    Input(usize),
    /// A constant of the node's type.
    Literal(Value),
    /// A comparison; NULL where an operand is.
    Compare {
        /// How they are compared.
        op: Comparison,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// IS NOT DISTINCT FROM (`negated`: IS DISTINCT FROM); never NULL.
    NotDistinct {
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// IS DISTINCT FROM.
        negated: bool,
    },
    /// At least two operands.
    And(Vec<Expr>),
    /// At least two operands.
    Or(Vec<Expr>),
    /// NOT; NULL of NULL.
    Not(Box<Expr>),
    /// IS NULL; never NULL.
    IsNull {
        /// The operand.
        input: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// IS TRUE, IS FALSE, and with `negated` IS NOT TRUE, IS NOT FALSE.
    IsBoolean {
        /// The operand.
        input: Box<Expr>,
        /// IS TRUE, or IS FALSE.
        value: bool,
        /// The opposite.
        negated: bool,
    },
    /// `checked` is false where bounds prove that the result fits.
    Arithmetic {
        /// Which operation.
        op: Arithmetic,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// An error is possible where the result leaves its type.
        checked: bool,
    },
    /// The sign turned round.
    Negate(Box<Expr>),
    /// To the node's type; `lenient` (TRY_CAST) gives NULL instead of an error.
    Cast {
        /// The operand.
        input: Box<Expr>,
        /// NULL instead of an error.
        lenient: bool,
    },
    /// The first branch (condition, value) whose condition is TRUE decides; without one `otherwise`, or NULL.
    Case {
        /// Condition and value, in order.
        branches: Vec<(Expr, Expr)>,
        /// The value where no condition is TRUE; NULL when absent.
        otherwise: Option<Box<Expr>>,
    },
    /// A constant pattern. Case-insensitive patterns are already in lower case.
    Like {
        /// The operand.
        input: Box<Expr>,
        /// The pattern, taken apart.
        pattern: Arc<LikePattern>,
        /// NOT LIKE.
        negated: bool,
        /// ILIKE: the text is folded to lower case.
        case_insensitive: bool,
    },
    /// `values` are sorted, distinct, not NULL; `has_null` says that the list contained a NULL as well.
    InList {
        /// The operand.
        input: Box<Expr>,
        /// Sorted, distinct, not NULL.
        values: Arc<[Value]>,
        /// The list contained a NULL, so that no row is certainly outside of it.
        has_null: bool,
        /// NOT IN.
        negated: bool,
    },
    /// A function with a kernel of its own.
    Function {
        /// Which function.
        function: Function,
        /// The arguments, in order.
        arguments: Vec<Expr>,
    },
    /// A scalar function of the function library, by its registered name, or an operator it evaluates
    /// (LIKE with a computed pattern, regular expressions).
    Library {
        #[serde(with = "crate::encoding::called")]
        /// The registered name.
        name: Arc<str>,
        /// The arguments, in order.
        arguments: Vec<Expr>,
    },
    /// The body of a lambda, an argument of a library function; its inputs are the function's to give, none of the
    /// batch's, so that it has no operands here.
    Lambda(Arc<Expr>),
    /// A function of the host program, and where the call stands in the statement's text.
    External {
        #[serde(with = "crate::encoding::external")]
        /// The function.
        function: Arc<ExternalFunction>,
        /// The arguments, in order.
        arguments: Vec<Expr>,
        /// Where the call stands, for errors.
        place: Option<Position>,
    },
    /// The value of a subquery that has run before; NULL when it had no row.
    ScalarSubquery(SubqueryId),
    /// The value of a parameter of the statement, put in its place before the plan runs (`parameters`).
    Parameter(Parameter),
}

/// A parameter of a statement whose values come later: `$1`, or a `?`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Parameter {
    /// Counted from 1.
    pub number: u32,
    /// The byte of the statement's text that it begins at.
    pub at: u32,
}

/// By number: where it stands says nothing of its value.
impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Parameter {}
impl Hash for Parameter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// Structural equality; patterns by text.
impl PartialEq for ExprKind {
    fn eq(&self, other: &Self) -> bool {
        use ExprKind as K;
        match (self, other) {
            (K::Column(a), K::Column(b)) => a == b,
            (K::Input(a), K::Input(b)) => a == b,
            (K::Literal(a), K::Literal(b)) => a == b,
            (K::Compare { op, left, right }, K::Compare { op: o, left: l, right: r }) => {
                op == o && left == l && right == r
            }
            (K::NotDistinct { left, right, negated }, K::NotDistinct { left: l, right: r, negated: n }) => {
                left == l && right == r && negated == n
            }
            (K::And(a), K::And(b)) | (K::Or(a), K::Or(b)) => a == b,
            (K::Not(a), K::Not(b)) | (K::Negate(a), K::Negate(b)) => a == b,
            (K::IsNull { input, negated }, K::IsNull { input: i, negated: n }) => input == i && negated == n,
            (K::IsBoolean { input, value, negated }, K::IsBoolean { input: i, value: v, negated: n }) => {
                input == i && value == v && negated == n
            }
            (
                K::Arithmetic { op, left, right, checked },
                K::Arithmetic { op: o, left: l, right: r, checked: c },
            ) => op == o && left == l && right == r && checked == c,
            (K::Cast { input, lenient }, K::Cast { input: i, lenient: l }) => input == i && lenient == l,
            (K::Case { branches, otherwise }, K::Case { branches: b, otherwise: o }) => {
                branches == b && otherwise == o
            }
            (
                K::Like { input, pattern, negated, case_insensitive },
                K::Like { input: i, pattern: p, negated: n, case_insensitive: c },
            ) => input == i && pattern == p && negated == n && case_insensitive == c,
            (
                K::InList { input, values, has_null, negated },
                K::InList { input: i, values: v, has_null: h, negated: n },
            ) => input == i && values == v && has_null == h && negated == n,
            (K::Function { function, arguments }, K::Function { function: f, arguments: a }) => {
                function == f && arguments == a
            }
            // Two calls of a volatile function are two values; copies of one call are one (see `volatility`).
            (K::Library { name, arguments }, K::Library { name: n, arguments: a }) => {
                let alike = if VOLATILE.contains(&&**name) { Arc::ptr_eq(name, n) } else { name == n };
                alike && arguments == a
            }
            (K::Lambda(a), K::Lambda(b)) => a == b,
            (K::External { function, arguments, .. }, K::External { function: f, arguments: a, .. }) => {
                function.is_same(f) && arguments == a
            }
            (K::ScalarSubquery(a), K::ScalarSubquery(b)) => a == b,
            (K::Parameter(a), K::Parameter(b)) => a == b,
            _ => false,
        }
    }
}

/// Equal expressions hash alike, so that long lists of them can be searched without comparing each with each.
impl Hash for ExprKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        use ExprKind as K;
        std::mem::discriminant(self).hash(state);
        match self {
            K::Column(id) => id.hash(state),
            K::Input(at) => at.hash(state),
            K::Literal(value) => value.hash(state),
            K::Compare { op, .. } => op.hash(state),
            K::NotDistinct { negated, .. } | K::IsNull { negated, .. } => negated.hash(state),
            K::And(_) | K::Or(_) | K::Not(_) | K::Negate(_) => {}
            K::IsBoolean { value, negated, .. } => (value, negated).hash(state),
            K::Arithmetic { op, checked, .. } => (op, checked).hash(state),
            K::Cast { lenient, .. } => lenient.hash(state),
            K::Case { branches, otherwise } => (branches.len(), otherwise.is_some()).hash(state),
            K::Like { pattern, negated, case_insensitive, .. } => {
                (pattern.text(), negated, case_insensitive).hash(state);
            }
            K::InList { values, has_null, negated, .. } => (values, has_null, negated).hash(state),
            K::Function { function, .. } => function.hash(state),
            K::Library { name, .. } => name.hash(state),
            K::Lambda(body) => body.hash(state),
            K::External { function, .. } => function.name.hash(state),
            K::ScalarSubquery(id) => id.hash(state),
            K::Parameter(parameter) => parameter.hash(state),
        }
    }
}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.kind, self.ty).hash(state);
        let children = self.children();
        children.len().hash(state);
        children.into_iter().for_each(|child| child.hash(state));
    }
}

/// `Value` compares by total order, so equality is an equivalence.
impl Eq for ExprKind {}
impl Eq for Expr {}

impl Expr {
    /// An expression of a known result type; nothing is checked.
    pub fn new(kind: ExprKind, ty: Type) -> Self {
        Expr { kind, ty }
    }
    /// A reference to a logical column; `ty` must be the column's type.
    pub fn column(id: ColumnId, ty: Type) -> Self {
        Expr { kind: ExprKind::Column(id), ty }
    }
    /// A reference to the input batch's column at `position`, whose type is `ty`.
    pub fn input(position: usize, ty: Type) -> Self {
        Expr { kind: ExprKind::Input(position), ty }
    }
    /// A constant. `value` must be NULL or have the representation of `ty`.
    pub fn literal(value: Value, ty: Type) -> Self {
        Expr { kind: ExprKind::Literal(value), ty }
    }
    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Self {
        Expr::literal(Value::Bool(value), Type::Boolean)
    }
    /// `left op right`; both sides must have the same representation.
    pub fn compare(op: Comparison, left: Expr, right: Expr) -> Self {
        Expr::new(ExprKind::Compare { op, left: Box::new(left), right: Box::new(right) }, Type::Boolean)
    }
    /// A strict cast to `ty`; the expression itself when it already has that type.
    pub fn cast(self, ty: Type) -> Self {
        if self.ty == ty {
            return self;
        }
        Expr::new(ExprKind::Cast { input: Box::new(self), lenient: false }, ty)
    }
    /// The conjunction; TRUE for none, the operand itself for one.
    pub fn and(mut conjuncts: Vec<Expr>) -> Self {
        match conjuncts.len() {
            0 => Expr::boolean(true),
            1 => conjuncts.remove(0),
            _ => Expr::new(ExprKind::And(conjuncts), Type::Boolean),
        }
    }
    /// The disjunction; FALSE for none, the operand itself for one.
    pub fn or(mut disjuncts: Vec<Expr>) -> Self {
        match disjuncts.len() {
            0 => Expr::boolean(false),
            1 => disjuncts.remove(0),
            _ => Expr::new(ExprKind::Or(disjuncts), Type::Boolean),
        }
    }
    /// Appends the operands of nested ANDs to `out`.
    /// Those that use one volatile call together stay together, so that it is evaluated once for all of them.
    pub fn split_conjuncts(self, out: &mut Vec<Expr>) {
        let first = out.len();
        self.take_conjuncts(out);
        if out[first..].iter().any(Expr::is_volatile) {
            let parts = out.split_off(first);
            out.extend(crate::volatility::together(parts));
        }
    }
    fn take_conjuncts(self, out: &mut Vec<Expr>) {
        match self.kind {
            ExprKind::And(parts) => parts.into_iter().for_each(|p| p.take_conjuncts(out)),
            ExprKind::Literal(Value::Bool(true)) => {}
            _ => out.push(self),
        }
    }
    /// The constant, when the expression is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        if let ExprKind::Literal(v) = &self.kind { Some(v) } else { None }
    }
    /// The parameter, when the expression is nothing but one.
    pub fn as_parameter(&self) -> Option<Parameter> {
        if let ExprKind::Parameter(parameter) = self.kind { Some(parameter) } else { None }
    }
    /// Whether the expression is a literal or a parameter: one value for all rows, whatever it is.
    pub fn is_given(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(_) | ExprKind::Parameter(_))
    }
    /// The column, when the expression is nothing but a column reference.
    pub fn as_column(&self) -> Option<ColumnId> {
        if let ExprKind::Column(id) = self.kind { Some(id) } else { None }
    }
    /// Direct operands, in order.
    pub fn children(&self) -> Vec<&Expr> {
        use ExprKind as K;
        match &self.kind {
            K::Column(_)
            | K::Input(_)
            | K::Literal(_)
            | K::Lambda(_)
            | K::ScalarSubquery(_)
            | K::Parameter(_) => vec![],
            K::Compare { left, right, .. }
            | K::NotDistinct { left, right, .. }
            | K::Arithmetic { left, right, .. } => {
                vec![left, right]
            }
            K::And(parts) | K::Or(parts) => parts.iter().collect(),
            K::Not(e) | K::Negate(e) => vec![e],
            K::IsNull { input, .. }
            | K::IsBoolean { input, .. }
            | K::Cast { input, .. }
            | K::Like { input, .. }
            | K::InList { input, .. } => vec![input],
            K::Case { branches, otherwise } => {
                branches.iter().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref()).collect()
            }
            K::Function { arguments, .. } | K::Library { arguments, .. } | K::External { arguments, .. } => {
                arguments.iter().collect()
            }
        }
    }
    /// Direct operands, in the order of `children`.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        use ExprKind as K;
        match &mut self.kind {
            K::Column(_)
            | K::Input(_)
            | K::Literal(_)
            | K::Lambda(_)
            | K::ScalarSubquery(_)
            | K::Parameter(_) => vec![],
            K::Compare { left, right, .. }
            | K::NotDistinct { left, right, .. }
            | K::Arithmetic { left, right, .. } => {
                vec![left, right]
            }
            K::And(parts) | K::Or(parts) => parts.iter_mut().collect(),
            K::Not(e) | K::Negate(e) => vec![e],
            K::IsNull { input, .. }
            | K::IsBoolean { input, .. }
            | K::Cast { input, .. }
            | K::Like { input, .. }
            | K::InList { input, .. } => vec![input],
            K::Case { branches, otherwise } => {
                branches.iter_mut().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref_mut()).collect()
            }
            K::Function { arguments, .. } | K::Library { arguments, .. } | K::External { arguments, .. } => {
                arguments.iter_mut().collect()
            }
        }
    }
    /// Calls `visit` on this expression and all below it, parents first.
    pub fn visit(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        for child in self.children() {
            child.visit(visit);
        }
    }
    /// As `visit`, with the bodies of lambdas.
    pub fn visit_all(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        if let ExprKind::Lambda(body) = &self.kind {
            body.visit_all(visit);
        }
        for child in self.children() {
            child.visit_all(visit);
        }
    }
    /// Rewrites bottom-up.
    #[must_use]
    pub fn transform(mut self, rewrite: &mut impl FnMut(Expr) -> Expr) -> Expr {
        for child in self.children_mut() {
            let taken = std::mem::replace(child, Expr::boolean(false));
            *child = taken.transform(rewrite);
        }
        rewrite(self)
    }
    /// Columns used, each once, in ascending order.
    pub fn columns(&self) -> std::collections::BTreeSet<ColumnId> {
        let mut found = std::collections::BTreeSet::new();
        self.visit(&mut |e| {
            if let ExprKind::Column(id) = e.kind {
                found.insert(id);
            }
        });
        found
    }
    /// Input positions used, each once, in ascending order.
    pub fn inputs(&self) -> std::collections::BTreeSet<usize> {
        let mut found = std::collections::BTreeSet::new();
        self.visit(&mut |e| {
            if let ExprKind::Input(i) = e.kind {
                found.insert(i);
            }
        });
        found
    }
    /// Columns replaced by input positions, as `position` tells; a column it does not know is a broken invariant.
    #[must_use]
    pub fn bind(self, position: &dyn Fn(ColumnId) -> Option<usize>) -> Expr {
        self.transform(&mut |e| match e.kind {
            ExprKind::Column(id) => {
                let at = position(id).unwrap_or_else(|| panic!("column #{} is not among the inputs", id.0));
                Expr::input(at, e.ty)
            }
            _ => e,
        })
    }
    /// True when evaluating twice may differ, or an error may be raised (overflow, division, casts of text).
    pub fn may_fail(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| {
            found |= match &e.kind {
                ExprKind::Arithmetic { op, checked, .. } => {
                    *checked || matches!(op, Arithmetic::Divide | Arithmetic::Modulo)
                }
                ExprKind::Cast { lenient, .. } => !lenient,
                ExprKind::Library { .. } | ExprKind::External { .. } | ExprKind::Negate(_) => true,
                ExprKind::Function { function, .. } => matches!(function, Function::Absolute),
                _ => false,
            };
        });
        found
    }
}

/// One key of an ordering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SortKey {
    /// The value that rows are ordered by.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// Where NULLs go, whatever the direction.
    pub nulls_first: bool,
}
