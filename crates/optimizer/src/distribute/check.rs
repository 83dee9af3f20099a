//! Proof that every operator of a distributed plan finds its rows where it needs them.
//!
//! Properties are derived anew from shares and exchanges, bottom-up, by what operators do and not by how the plan came to
//! be; each operator's requirement is held against them. What is true for a while only is a state of its own: groups of a
//! node's rows have to be put together before anything else looks at them, the first rows of each node have to be merged
//! and cut again, and the row that a grouping without keys makes at every node has to be dropped at all but one.
//!
//! Not proved: that rows come in the order of one machine where LIMIT without ORDER BY and its kin look at it.

use plan::{
    AggregateCall, AggregateFunction as F, Distributed, Exchange, ExchangeKind as X, Expr, ExprKind,
    JoinOutput, PhysicalJoinKind as Kind, PhysicalNode as N, PhysicalPlan, Share, SortKey,
};
use types::{Error, Result};

use super::place::{Place, of_join, of_side, same};
use super::rows::{is_input, takes_rows_as_they_come};

/// Where rows lie, and whether they are rows yet.
#[derive(Clone, Debug)]
enum Lies {
    Rows(Place),
    /// Groups of each node's rows, by so many keys.
    Partial {
        keys: usize,
        calls: Vec<AggregateCall>,
        place: Place,
    },
    /// The first rows of each node, in this order; `here`: all of them are at the coordinator.
    First {
        rows: u64,
        order: Vec<SortKey>,
        here: bool,
    },
    /// The coordinator's row is right, and each other node has a wrong one.
    Stray,
}

/// Whether the plan gives every operator what it needs, and the coordinator the result.
///
/// # Errors
/// The first node that does not get what it needs, and why.
pub fn check(distributed: &Distributed) -> Result<()> {
    plan::encoding::Document::validate(distributed)?;
    if distributed.nodes == 1 {
        // Everywhere is one place.
        return Ok(());
    }
    let root = Walk { distributed }.lies(&distributed.plan)?;
    if !matches!(root, Lies::Rows(Place::Single | Place::Replicated)) {
        return Err(wrong(&distributed.plan, "the result is not at the coordinator"));
    }
    let mut settled = distributed.clone();
    super::filters::settle(&mut settled)?;
    match settled == *distributed {
        true => Ok(()),
        false => Err(wrong(&distributed.plan, "a scan has a filter that other nodes' rows are not in")),
    }
}

/// Whether all rows of the plan are at every node.
pub(super) fn whole_everywhere(plan: &PhysicalPlan, distributed: &Distributed) -> bool {
    matches!(Walk { distributed }.lies(plan), Ok(Lies::Rows(Place::Replicated)))
}

fn wrong(plan: &PhysicalPlan, why: &str) -> Error {
    let at = format!("node {}, {}", plan.id.0, plan::print::physical_title(plan));
    Error::internal(format!("the distributed plan is wrong: {why} ({at})"))
}

struct Walk<'d> {
    distributed: &'d Distributed,
}

impl Walk<'_> {
    fn lies(&self, plan: &PhysicalPlan) -> Result<Lies> {
        let inputs = plan.children().into_iter().map(|c| self.lies(c)).collect::<Result<Vec<_>>>()?;
        let volatile = plan.expressions().into_iter().any(|e| e.is_volatile() || e.has_effects());
        let elsewhere = |lies: &Lies| !matches!(lies, Lies::Rows(Place::Single));
        if volatile && inputs.iter().any(elsewhere) {
            return Err(wrong(plan, "a volatile function away from the coordinator"));
        }
        match (&plan.node, inputs.as_slice()) {
            (_, []) => self.source(plan, volatile),
            (N::Exchange { input, exchange }, [below]) => exchanged(plan, input, exchange, below),
            (N::Aggregate { groups, aggregates, .. }, [below]) => grouped(plan, groups, aggregates, below),
            (N::Sort { keys, limit, .. }, [Lies::Rows(place)]) => Ok(match (place, limit) {
                (Place::Single | Place::Replicated, _) | (_, None) => Lies::Rows(place.clone()),
                (_, Some(rows)) => Lies::First { rows: *rows, order: keys.clone(), here: false },
            }),
            (N::Limit { offset, count, .. }, [below]) => limited(plan, *offset, *count, below),
            (N::Window { partition, .. }, [Lies::Rows(place)]) => {
                let together = match partition.is_empty() {
                    true => matches!(place, Place::Single | Place::Replicated),
                    false => place.brings_together(partition),
                };
                match together {
                    true => Ok(Lies::Rows(place.clone())),
                    false => Err(wrong(plan, "rows of a partition are at several nodes")),
                }
            }
            (N::UnionAll { .. }, inputs) => union(plan, inputs),
            (N::HashJoin { .. } | N::NestedLoopJoin { .. }, [probe, build]) => {
                self.joined(plan, probe, build)
            }
            (N::Insert { .. }, [Lies::Rows(Place::Single)]) => Ok(Lies::Rows(Place::Single)),
            (N::Insert { .. }, _) => Err(wrong(plan, "rows are inserted away from the coordinator")),
            (_, [Lies::Rows(place)]) => Ok(Lies::Rows(place.above(plan))),
            _ => Err(wrong(plan, "its input is not whole")),
        }
    }

    fn source(&self, plan: &PhysicalPlan, volatile: bool) -> Result<Lies> {
        match self.distributed.share(plan.id) {
            Some(Share::Coordinator) => Ok(Lies::Rows(Place::Single)),
            Some(_) if volatile => Err(wrong(plan, "a volatile function away from the coordinator")),
            Some(Share::Part) => Ok(Lies::Rows(Place::Any)),
            Some(Share::Whole) => Ok(Lies::Rows(Place::Replicated)),
            None => Err(wrong(plan, "a source without a share")),
        }
    }

    fn joined(&self, plan: &PhysicalPlan, probe: &Lies, build: &Lies) -> Result<Lies> {
        if let (Lies::Stray, N::NestedLoopJoin { kind: Kind::Inner, predicate: None, build: here, .. }) =
            (probe, &plan.node)
        {
            let alone = matches!(&here.node, N::Values { rows } if rows.len() == 1)
                && self.distributed.share(here.id) == Some(Share::Coordinator);
            if alone {
                return Ok(Lies::Rows(Place::Single));
            }
        }
        let (Lies::Rows(probe), Lies::Rows(build)) = (probe, build) else {
            return Err(wrong(plan, "its input is not whole"));
        };
        let (kind, aware, pairs, output) = match &plan.node {
            N::HashJoin { kind, null_aware, probe_keys, build_keys, output, .. } => {
                let pairs: Vec<(Expr, Expr)> =
                    probe_keys.iter().cloned().zip(build_keys.iter().cloned()).collect();
                (*kind, *null_aware, pairs, output)
            }
            N::NestedLoopJoin { kind, null_aware, output, .. } => (*kind, *null_aware, vec![], output),
            _ => return Err(wrong(plan, "no join")),
        };
        use Place::{Replicated, Single};
        let by_probe: (&dyn Fn(usize) -> JoinOutput, &dyn Fn(usize) -> JoinOutput) =
            (&JoinOutput::Probe, &JoinOutput::Build);
        let by_build: (&dyn Fn(usize) -> JoinOutput, &dyn Fn(usize) -> JoinOutput) =
            (&JoinOutput::Build, &JoinOutput::Probe);
        let equal = if kind == Kind::Inner { pairs.clone() } else { vec![] };
        let place = match (probe, build) {
            (Single, Single) => Single,
            (Replicated, Replicated) => Replicated,
            // A build row without a partner would come out at every node.
            (_, Replicated) if !kind.marks_build_rows() => of_side(probe, by_probe, &equal, output),
            (Replicated, _) if !kind.keeps_probe_rows() && kind != Kind::ProbeSemi => {
                let equal: Vec<_> = equal.into_iter().map(|(p, b)| (b, p)).collect();
                of_side(build, by_build, &equal, output)
            }
            _ if aware => return Err(wrong(plan, "NOT IN over a part of its list")),
            _ => {
                let (probes, builds): (Vec<Expr>, Vec<Expr>) = pairs.iter().cloned().unzip();
                let (a, b) = (probe.among(&probes), build.among(&builds));
                let places = a.filter(|a| Some(a) == b.as_ref());
                let places = places.ok_or_else(|| wrong(plan, "rows that match may be at several nodes"))?;
                let used: Vec<_> = places.into_iter().map(|at| pairs[at].clone()).collect();
                of_join(kind, &used, output)
            }
        };
        Ok(Lies::Rows(place))
    }
}

fn exchanged(plan: &PhysicalPlan, input: &PhysicalPlan, exchange: &Exchange, below: &Lies) -> Result<Lies> {
    if let X::Gather { order } = &exchange.kind
        && !order.is_empty()
        && !matches!(&input.node, N::Sort { keys, .. } if keys == order)
    {
        return Err(wrong(plan, "rows are merged in an order in which they do not come"));
    }
    let to = match &exchange.kind {
        X::Hash { keys } => Place::hashed(keys),
        X::Gather { .. } => Place::Single,
        X::Broadcast => Place::Replicated,
        X::Range { .. } | X::Scatter => Place::Any,
    };
    match (below, &exchange.kind) {
        (Lies::Rows(Place::Replicated), _) => Err(wrong(plan, "rows that every node has are sent")),
        (Lies::Rows(_), _) => Ok(Lies::Rows(to)),
        (Lies::Partial { keys, calls, .. }, X::Hash { .. } | X::Gather { .. } | X::Broadcast) => {
            Ok(Lies::Partial { keys: *keys, calls: calls.clone(), place: to })
        }
        (Lies::First { rows, order, here: false }, X::Gather { order: merged }) if order == merged => {
            Ok(Lies::First { rows: *rows, order: order.clone(), here: true })
        }
        _ => Err(wrong(plan, "what is sent is not whole")),
    }
}

fn limited(plan: &PhysicalPlan, offset: u64, count: Option<u64>, below: &Lies) -> Result<Lies> {
    let most = count.and_then(|count| count.checked_add(offset));
    match (below, most) {
        (Lies::Rows(place @ (Place::Single | Place::Replicated)), _) => Ok(Lies::Rows(place.clone())),
        (Lies::Rows(_), Some(rows)) if offset == 0 => Ok(Lies::First { rows, order: vec![], here: false }),
        (Lies::First { rows, here: true, .. }, Some(most)) if most <= *rows => Ok(Lies::Rows(Place::Single)),
        _ => Err(wrong(plan, "other rows than the first ones are cut")),
    }
}

fn union(plan: &PhysicalPlan, inputs: &[Lies]) -> Result<Lies> {
    let mut places = Vec::with_capacity(inputs.len());
    for input in inputs {
        let Lies::Rows(place) = input else { return Err(wrong(plan, "its input is not whole")) };
        places.push(place);
    }
    let whole = places.iter().filter(|place| ***place == Place::Replicated).count();
    match whole {
        0 if places.iter().all(|place| **place == Place::Single) => Ok(Lies::Rows(Place::Single)),
        0 => Ok(Lies::Rows(Place::Any)),
        _ if whole == places.len() => Ok(Lies::Rows(Place::Replicated)),
        _ => Err(wrong(plan, "rows that every node has beside rows that one has")),
    }
}

fn grouped(plan: &PhysicalPlan, groups: &[Expr], calls: &[AggregateCall], below: &Lies) -> Result<Lies> {
    let (place, merges) = match below {
        Lies::Rows(place) => (place, None),
        Lies::Partial { keys, calls, place } => (place, Some((*keys, calls))),
        _ => return Err(wrong(plan, "its input is not whole")),
    };
    let together = match groups.is_empty() {
        true => matches!(place, Place::Single | Place::Replicated),
        false => place.brings_together(groups),
    };
    let by_arrival = calls.iter().any(|call| takes_rows_as_they_come(&call.function));
    if by_arrival && *place != Place::Single {
        return Err(wrong(plan, "an aggregate in order of arrival away from the coordinator"));
    }
    if let Some((keys, lower)) = merges {
        if !together {
            return Err(wrong(plan, "groups of several nodes are not brought together"));
        }
        if !puts_together(groups, calls, keys, lower) {
            return Err(wrong(plan, "it does not put together what nodes have grouped"));
        }
    } else if !together {
        if calls.iter().any(|call| call.distinct && !is_indifferent(&call.function)) {
            return Err(wrong(plan, "different values are counted at several nodes"));
        }
        return Ok(Lies::Partial { keys: groups.len(), calls: calls.to_vec(), place: Place::Any });
    }
    if groups.is_empty() && *place == Place::Single {
        return Ok(Lies::Stray);
    }
    let place = place.renamed(|expr| {
        let found = groups.iter().position(|key| same(key, expr));
        found.map(|at| Expr::input(at, groups[at].ty)).into_iter().collect()
    });
    Ok(Lies::Rows(place))
}

/// Whether repeated values make no difference.
fn is_indifferent(function: &F) -> bool {
    matches!(function, F::Min | F::Max | F::BoolAnd | F::BoolOr | F::BitAnd | F::BitOr | F::AnyValue)
}

/// Whether an aggregation over groups of `keys` and `lower` is the one of the rows that those were made of.
fn puts_together(groups: &[Expr], calls: &[AggregateCall], keys: usize, lower: &[AggregateCall]) -> bool {
    let in_order = groups.iter().enumerate().all(|(at, key)| is_input(key, at));
    // Different values, of which others are told apart again: what counts them must not count repeated ones.
    if lower.is_empty() && groups.len() <= keys {
        let of_keys = |call: &AggregateCall| {
            let of = call.argument.as_ref();
            of.is_some_and(|e| (groups.len()..keys).any(|at| is_input(e, at))) && call.filter.is_none()
        };
        let distinct = |call: &AggregateCall| call.distinct || is_indifferent(&call.function);
        return in_order && calls.iter().all(|call| of_keys(call) && distinct(call));
    }
    let merges = |call: &AggregateCall| {
        let Some(argument) = &call.argument else { return false };
        let column = match &argument.kind {
            ExprKind::Cast { input, lenient: false } => input,
            _ => argument,
        };
        let ExprKind::Input(at) = column.kind else { return false };
        let Some(of) = at.checked_sub(keys).and_then(|at| lower.get(at)) else { return false };
        let fits = match (&of.function, &call.function) {
            (F::CountStar | F::Count | F::Sum, F::Sum) => true,
            (F::State(form), function) => function.state_form() == Some(*form),
            (F::BitXor, F::BitXor) | (F::Product, F::Product) => true,
            (a, b) => a == b && is_indifferent(a),
        };
        fits && !call.distinct && call.filter.is_none()
    };
    in_order && groups.len() == keys && calls.iter().all(merges)
}
