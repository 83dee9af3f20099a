//! Expressions as a graph in which equal parts are one node.
//!
//! Nodes stand in a list, operands before users. A node is looked up by its operation, type and operand nodes, so
//! structural equality of whole expressions costs one look-up a node. Calls of volatile functions (`random()`)
//! are shared by copies of one call only. `compile` turns `plan::Expr` into nodes and casts operands whose physical
//! types differ.
//!
//! The graph is public and only read: a compiler of expressions walks it from its first node to its last, as `frame` does.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use plan::{Arithmetic, Function};
use types::{Comparison, LikePattern, Type, Value};

use crate::fallback::LibraryCall;
pub use crate::kernels::in_list::ValueSet;

/// The place of a node in the graph's list.
pub type NodeId = usize;

/// Whether evaluating may end in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fails {
    /// Evaluating never fails.
    Never,
    /// Overflow of checked arithmetic: worth trying on rows that are not needed, and again without them.
    Rarely,
    /// Division, casts of text, library functions: evaluated only for rows that need it.
    Maybe,
}

/// What a node computes from its operands.
#[derive(Debug)]
pub enum Operation {
    /// The column of the batch at this place.
    Input(usize),
    /// The same value in every row.
    Literal(Value),
    /// Compares two operands of one physical type; NULL where one of them is.
    Compare(Comparison),
    /// IS NOT DISTINCT FROM: NULL equals NULL.
    NotDistinct {
        /// IS DISTINCT FROM.
        negated: bool,
    },
    /// Three-valued AND of all operands.
    And,
    /// Three-valued OR of all operands.
    Or,
    /// Three-valued NOT.
    Not,
    /// IS NULL.
    IsNull {
        /// IS NOT NULL.
        negated: bool,
    },
    /// IS TRUE and IS FALSE.
    IsBoolean {
        /// What is asked for.
        value: bool,
        /// IS NOT.
        negated: bool,
    },
    /// Arithmetic of two operands.
    Arithmetic {
        /// Which.
        op: Arithmetic,
        /// Overflow is looked for, and is an error.
        checked: bool,
    },
    /// The operand with the other sign.
    Negate,
    /// The operand as the node's type.
    Cast {
        /// TRY_CAST: NULL instead of an error.
        lenient: bool,
    },
    /// Operands: condition and result of each branch, then the result otherwise.
    Case,
    /// LIKE and ILIKE with a pattern that is known.
    Like {
        /// The pattern, taken apart.
        pattern: Arc<LikePattern>,
        /// NOT LIKE.
        negated: bool,
        /// ILIKE.
        case_insensitive: bool,
    },
    /// IN with a list of values.
    InList {
        /// The values that are not NULL.
        set: ValueSet,
        /// The list has a NULL.
        has_null: bool,
        /// NOT IN.
        negated: bool,
    },
    /// A function with a kernel.
    Function(Function),
    /// Any other function.
    Library(LibraryCall),
}

impl Operation {
    /// The same operation, operands aside.
    fn same(&self, other: &Operation) -> bool {
        use Operation as O;
        match (self, other) {
            (O::Input(a), O::Input(b)) => a == b,
            (O::Literal(a), O::Literal(b)) => same_literal(a, b),
            (O::Compare(a), O::Compare(b)) => a == b,
            (O::NotDistinct { negated: a }, O::NotDistinct { negated: b })
            | (O::IsNull { negated: a }, O::IsNull { negated: b })
            | (O::Cast { lenient: a }, O::Cast { lenient: b }) => a == b,
            (O::And, O::And)
            | (O::Or, O::Or)
            | (O::Not, O::Not)
            | (O::Negate, O::Negate)
            | (O::Case, O::Case) => true,
            (O::IsBoolean { value, negated }, O::IsBoolean { value: v, negated: n }) => {
                value == v && negated == n
            }
            (O::Arithmetic { op, checked }, O::Arithmetic { op: o, checked: c }) => op == o && checked == c,
            (
                O::Like { pattern, negated, case_insensitive },
                O::Like { pattern: p, negated: n, case_insensitive: c },
            ) => pattern == p && negated == n && case_insensitive == c,
            (O::InList { set, has_null, negated }, O::InList { set: s, has_null: h, negated: n }) => {
                has_null == h && negated == n && set.values() == s.values()
            }
            (O::Function(a), O::Function(b)) => a == b,
            (O::Library(a), O::Library(b)) => a.same(b),
            _ => false,
        }
    }

    /// `literal` tells the value of an operand that is one.
    fn fails<'a>(&self, ty: Type, operands: &[Type], literal: impl Fn(usize) -> Option<&'a Value>) -> Fails {
        use Operation as O;
        let from = operands.first().copied();
        match self {
            O::Arithmetic { op: Arithmetic::Divide | Arithmetic::Modulo, .. } => match literal(1) {
                // NULL or a number that is not zero.
                Some(divisor) if !is_zero(divisor) => Fails::Rarely,
                _ => Fails::Maybe,
            },
            O::Arithmetic { checked: true, .. } | O::Negate | O::Function(Function::Absolute) => {
                Fails::Rarely
            }
            // Dates and intervals are always checked.
            O::Arithmetic { .. } if !ty.is_numeric() => Fails::Rarely,
            O::Cast { lenient: true } => Fails::Never,
            // Text is checked when it becomes JSON.
            O::Cast { .. } if ty.is_json() && from.is_some_and(|f| f.is_text()) => Fails::Maybe,
            O::Cast { .. } if ty.is_text() => Fails::Never,
            O::Cast { .. } if from.is_some_and(|f| f.is_integer()) && ty.is_float() => Fails::Never,
            O::Cast { .. } if from.is_some_and(|f| f.is_numeric() || f == Type::Date) => Fails::Rarely,
            O::Function(Function::Substring) if operands.len() == 2 => Fails::Never,
            O::Function(Function::Substring) => match literal(2) {
                Some(Value::I64(length)) if *length >= 0 => Fails::Never,
                _ => Fails::Maybe,
            },
            O::Cast { .. } | O::Library(_) => Fails::Maybe,
            _ => Fails::Never,
        }
    }

    /// A guess at nanoseconds a row, to order conjuncts.
    fn cost(&self, operand: Option<Type>, ty: Type) -> u32 {
        use Operation as O;
        let text = operand.is_some_and(|t| t.is_text());
        match self {
            O::Input(_) | O::Literal(_) => 0,
            O::Like { case_insensitive, .. } => 30 + 30 * u32::from(*case_insensitive),
            O::Library(_) => 60,
            O::Compare(_) | O::NotDistinct { .. } | O::InList { .. } if text => 6,
            O::Cast { .. } if text || ty.is_text() => 60,
            O::Arithmetic { op: Arithmetic::Divide | Arithmetic::Modulo, .. } => 6,
            O::Function(_) => 10,
            _ => 1,
        }
    }
}

fn is_zero(value: &Value) -> bool {
    value.as_i128() == Some(0) || value.as_f64() == Some(0.0)
}

fn same_literal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
        _ => a.physical() == b.physical() && a == b,
    }
}

/// One node; its operands stand before it in the list.
#[derive(Debug)]
pub struct Node {
    /// What it computes.
    pub operation: Operation,
    /// The type of its value.
    pub ty: Type,
    /// What it computes it from.
    pub operands: Vec<NodeId>,
    /// Whether more than one node or result uses it, so that its value is worth keeping.
    pub shared: bool,
    /// Shared, and another evaluation would give another value: it has one for the whole frame.
    pub once: bool,
    /// Whether the node or anything below it may fail.
    pub fails: Fails,
    /// A guess at nanoseconds a row, with everything below.
    pub cost: u32,
}

/// The nodes of a program, operands before users.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    by_key: HashMap<u64, Vec<NodeId>>,
}

impl Graph {
    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }
    /// The number of nodes; ids are below it.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// The value, when the node is a literal.
    pub fn literal(&self, id: NodeId) -> Option<&Value> {
        if let Operation::Literal(value) = &self.nodes[id].operation { Some(value) } else { None }
    }

    /// The node for this operation over these operands; an equal one is found again.
    pub(crate) fn intern(&mut self, operation: Operation, ty: Type, operands: Vec<NodeId>) -> NodeId {
        let mut hasher = DefaultHasher::new();
        (std::mem::discriminant(&operation), ty, &operands).hash(&mut hasher);
        // Leaves differ in nothing else: a long list of literals would be one long list under one key.
        match &operation {
            Operation::Input(at) => at.hash(&mut hasher),
            Operation::Literal(value) => value.hash(&mut hasher),
            Operation::Like { pattern, .. } => pattern.text().hash(&mut hasher),
            Operation::Library(call) => call.name().hash(&mut hasher),
            _ => {}
        }
        let key = hasher.finish();
        for id in self.by_key.get(&key).into_iter().flatten() {
            let node = &self.nodes[*id];
            if node.ty == ty && node.operands == operands && node.operation.same(&operation) {
                return *id;
            }
        }
        let types: Vec<Type> = operands.iter().map(|o| self.nodes[*o].ty).collect();
        let literal = |at: usize| operands.get(at).and_then(|id: &NodeId| self.literal(*id));
        let mut fails = operation.fails(ty, &types, literal);
        let mut cost = operation.cost(types.first().copied(), ty);
        for operand in &operands {
            fails = fails.max(self.nodes[*operand].fails);
            cost = cost.saturating_add(self.nodes[*operand].cost);
        }
        let id = self.nodes.len();
        self.by_key.entry(key).or_default().push(id);
        self.nodes.push(Node { operation, ty, operands, shared: false, once: false, fails, cost });
        id
    }

    /// Marks the nodes that are used more than once, counting `results` as uses.
    pub(crate) fn mark_shared(&mut self, results: &[NodeId]) {
        let mut uses = vec![0u32; self.nodes.len()];
        for node in &self.nodes {
            for operand in &node.operands {
                uses[*operand] += 1;
            }
        }
        for result in results {
            uses[*result] += 1;
        }
        for (node, uses) in self.nodes.iter_mut().zip(uses) {
            // Inputs and literals are at hand anyway.
            node.shared = uses > 1 && !node.operands.is_empty();
            node.once = uses > 1 && matches!(&node.operation, Operation::Library(call) if call.is_volatile());
            node.shared |= node.once;
        }
    }
}
