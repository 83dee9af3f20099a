//! Deep plans: they are written and read on any stack, and what is nested beyond all measure is refused.

use plan::encoding::{decode, encode};
use plan::{Expr, ExprKind, PhysicalJoinKind, PhysicalNode, PhysicalPlan, SortKey};
use types::{SqlState, Type};

/// Runs on the smallest stack that threads of the engine have.
fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

fn values() -> PhysicalPlan {
    PhysicalPlan::new(PhysicalNode::Values { rows: vec![vec![]] }, vec![], 1.0)
}

fn truth() -> Expr {
    Expr::boolean(true)
}

fn nested(depth: usize, wrap: impl Fn(Expr) -> Expr) -> PhysicalPlan {
    let predicate = (0..depth).fold(truth(), |inner, _| wrap(inner));
    let node = PhysicalNode::Filter { input: Box::new(values()), predicate };
    let mut plan = PhysicalPlan::new(node, vec![], 1.0);
    plan.number();
    plan
}

fn case(inner: Expr) -> Expr {
    let kind = ExprKind::Case { branches: vec![(inner, truth())], otherwise: Some(Box::new(truth())) };
    Expr::new(kind, Type::Boolean)
}

fn again(plan: &PhysicalPlan) {
    let bytes = encode(plan).unwrap();
    let read: PhysicalPlan = decode(&bytes).unwrap();
    assert!(read == *plan);
    assert_eq!(encode(&read).unwrap(), bytes);
}

#[test]
fn deep_expressions_come_back() {
    on_small_stack(|| {
        again(&nested(900, |inner| Expr::new(ExprKind::Not(Box::new(inner)), Type::Boolean)));
        again(&nested(900, |inner| Expr::and(vec![truth(), inner])));
        again(&nested(900, case));
    });
}

#[test]
fn deep_plans_come_back() {
    on_small_stack(|| {
        let mut plan = values();
        for _ in 0..1500 {
            let keys = vec![SortKey { expr: truth(), descending: false, nulls_first: false }];
            plan = PhysicalPlan::new(
                PhysicalNode::Sort { input: Box::new(plan), keys, limit: Some(1) },
                vec![],
                1.0,
            );
        }
        plan.number();
        again(&plan);
    });
}

#[test]
fn deep_trees_of_joins_come_back() {
    on_small_stack(|| {
        let mut plan = values();
        for _ in 0..700 {
            let node = PhysicalNode::HashJoin {
                probe: Box::new(values()),
                build: Box::new(plan),
                kind: PhysicalJoinKind::Inner,
                probe_keys: vec![truth()],
                build_keys: vec![truth()],
                residual: Some(truth()),
                null_equals_null: false,
                null_aware: false,
                output: vec![],
                fills: vec![],
                build_unique: false,
            };
            plan = PhysicalPlan::new(node, vec![], 1.0);
        }
        plan.number();
        again(&plan);
    });
}

#[test]
fn what_is_too_deep_is_refused() {
    on_small_stack(|| {
        // Bytes that begin as an encoding does, and then nest without end.
        let good = encode(&nested(1, case)).unwrap();
        for filler in [0x91u8, 0x81, 0x92] {
            let bytes = [&good[..10], &vec![filler; 1 << 20]].concat();
            assert!(decode::<PhysicalPlan>(&bytes).is_err());
            let mut bytes = [&good[..10], &vec![0x91; 25_000]].concat();
            bytes.push(0xC0);
            assert_eq!(decode::<PhysicalPlan>(&bytes).unwrap_err().state(), SqlState::DataCorrupted);
        }
    });
}
