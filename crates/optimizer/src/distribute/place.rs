//! Where the rows of a node lie, and what of that is left above the next one.
//!
//! A hash property names its keys by expressions over the node's output, for each key all that are known to be equal to
//! it: behind an inner join on a = b rows that lie by a lie by b. A key of which no name is left makes the property
//! useless, since nobody can ask for it.

use plan::{
    Expr, ExprKind, FetchOutput, JoinOutput, PhysicalJoinKind as Kind, PhysicalNode as N, PhysicalPlan,
};

/// Where rows lie.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// Each row at one node, whichever.
    Any,
    /// Each row at the node that the hash of its keys says, in their order.
    Hash(Vec<Names>),
    /// Each row at one node: those of the inputs of a union, of which each lies so, in the order of one machine or not.
    /// Gathered one by one they follow one another.
    Beside(Vec<(Place, bool)>),
    /// All rows at every node.
    Replicated,
    /// All rows at the coordinator, none elsewhere.
    Single,
}

/// Expressions over a node's output that have one value in every row.
pub(super) type Names = Vec<Expr>;

/// A part of a distributed plan.
pub(super) struct Placed {
    pub(super) plan: PhysicalPlan,
    pub(super) place: Place,
    /// By node, then as each node delivers them, rows are in the order of one machine.
    pub(super) ordered: bool,
}

/// Whether two expressions are the same column, or else the same expression: one column may go by types that are held
/// alike.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Input(a), ExprKind::Input(b)) => a == b,
        _ => a == b,
    }
}

/// The expression over columns that moved, if all of them are still there.
pub(super) fn moved(expr: &Expr, to: &dyn Fn(usize) -> Option<usize>) -> Option<Expr> {
    let whole = expr.inputs().into_iter().all(|at| to(at).is_some());
    whole.then(|| {
        expr.clone().transform(&mut |e| match e.kind {
            ExprKind::Input(at) => Expr::input(to(at).unwrap_or(at), e.ty),
            _ => e,
        })
    })
}

impl Place {
    /// The place where rows of a hash exchange lie.
    pub(super) fn hashed(keys: &[Expr]) -> Self {
        Place::Hash(keys.iter().map(|key| vec![key.clone()]).collect())
    }

    /// The place with every key renamed: `rename` gives all names that an expression has now.
    pub(super) fn renamed(&self, rename: impl Fn(&Expr) -> Names) -> Self {
        let Place::Hash(keys) = self else { return self.clone() };
        let keys: Vec<Names> = keys.iter().map(|names| names.iter().flat_map(&rename).collect()).collect();
        if keys.iter().any(Names::is_empty) { Place::Any } else { Place::Hash(keys) }
    }

    /// The place above a node that keeps rows where they are.
    pub(super) fn above(&self, node: &PhysicalPlan) -> Self {
        match &node.node {
            N::Project { expressions, .. } => self.renamed(|expr| {
                let as_whole = expressions.iter().enumerate().filter(|(_, e)| same(e, expr));
                let mut names: Names = as_whole.map(|(at, e)| Expr::input(at, e.ty)).collect();
                let column = |from: usize| {
                    expressions.iter().position(|e| matches!(e.kind, ExprKind::Input(at) if at == from))
                };
                if names.is_empty() {
                    names.extend(moved(expr, &column));
                }
                names
            }),
            N::Fetch { output, .. } => self.renamed(|expr| {
                let column =
                    |from| output.iter().position(|o| matches!(o, FetchOutput::Input(at) if *at == from));
                moved(expr, &column).into_iter().collect()
            }),
            N::Unnest { keep, .. } => self.renamed(|expr| {
                moved(expr, &|from| keep.iter().position(|at| *at == from)).into_iter().collect()
            }),
            _ => self.clone(),
        }
    }

    /// The keys' places among `keys`, where each key of the hash is one of those.
    pub(super) fn among(&self, keys: &[Expr]) -> Option<Vec<usize>> {
        let Place::Hash(own) = self else { return None };
        own.iter().map(|names| keys.iter().position(|key| names.iter().any(|name| same(name, key)))).collect()
    }

    /// Whether rows that agree in `keys` are at one node.
    pub(super) fn brings_together(&self, keys: &[Expr]) -> bool {
        match self {
            Place::Single | Place::Replicated => true,
            Place::Hash(_) => self.among(keys).is_some(),
            Place::Any | Place::Beside(_) => false,
        }
    }
}

/// The place of a join's output where both sides lie by the hash of these pairs of keys.
pub(super) fn of_join(kind: Kind, keys: &[(Expr, Expr)], output: &[JoinOutput]) -> Place {
    let from = |side: &dyn Fn(usize) -> JoinOutput, expr: &Expr| {
        moved(expr, &|at| output.iter().position(|o| *o == side(at)))
    };
    let (probe, build) = sides_named(kind);
    let names = keys.iter().map(|(p, b)| {
        let p = from(&JoinOutput::Probe, p).filter(|_| probe);
        let b = from(&JoinOutput::Build, b).filter(|_| build);
        p.into_iter().chain(b).collect()
    });
    let names: Vec<Names> = names.collect();
    if names.iter().any(Names::is_empty) { Place::Any } else { Place::Hash(names) }
}

/// Of which side's keys rows of a join still lie by the hash: not of one that is padded with NULLs.
fn sides_named(kind: Kind) -> (bool, bool) {
    match kind {
        Kind::Inner => (true, true),
        Kind::ProbeOuter | Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark => (true, false),
        Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti => (false, true),
        Kind::FullOuter => (false, false),
    }
}

/// The place of a join's output where one side stayed and the other was replicated. `stayed` makes the output's column
/// of one of that side's; `equal` are pairs of keys, that side's first, and empty where the other's may be NULL.
pub(super) fn of_side(
    place: &Place,
    (stayed, other): (&dyn Fn(usize) -> JoinOutput, &dyn Fn(usize) -> JoinOutput),
    equal: &[(Expr, Expr)],
    output: &[JoinOutput],
) -> Place {
    let at = |side: JoinOutput| output.iter().position(|o| *o == side);
    place.renamed(|expr| {
        let own = moved(expr, &|from| at(stayed(from)));
        let others = equal.iter().filter(|(key, _)| same(key, expr));
        let others = others.filter_map(|(_, key)| moved(key, &|from| at(other(from))));
        own.into_iter().chain(others).collect()
    })
}
