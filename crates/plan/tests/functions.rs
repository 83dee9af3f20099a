//! Calls with an identity after reading: copies stay copies, functions of the host program are found again by name.

mod plans;

use std::sync::Arc;

use plan::encoding::{decode, encode};
use plan::{ExprKind, ExternalFunction, FunctionBinder, FunctionHandle, Held, PhysicalPlan};
use types::{SqlState, Type};

struct Nothing;

impl Held for Nothing {}

fn read() -> PhysicalPlan {
    decode(&encode(&plans::all()[1]).unwrap()).unwrap()
}

/// The calls of `plus`, in the plan's order.
fn calls(plan: &PhysicalPlan) -> Vec<Arc<ExternalFunction>> {
    let mut found = Vec::new();
    plan.visit_expressions(&mut |expr| {
        if let ExprKind::External { function, .. } = &expr.kind {
            found.push(function.clone());
        }
    });
    found
}

fn plus(arguments: Vec<Type>, volatile: bool) -> Arc<ExternalFunction> {
    let body = Some(FunctionHandle::new(u64::from(volatile), Arc::new(Nothing)));
    Arc::new(ExternalFunction { name: "plus".into(), arguments, returns: Type::BigInt, volatile, body })
}

#[test]
fn copies_of_a_call_stay_copies() {
    let plan = read();
    let calls = calls(&plan);
    let same = |a: usize, b: usize| Arc::ptr_eq(&calls[a], &calls[b]);
    assert!(same(0, 1) && !same(0, 2) && !same(2, 3));
    let mut random = Vec::new();
    plan.visit_expressions(&mut |expr| {
        if let ExprKind::Library { name, .. } = &expr.kind
            && &**name == "random"
        {
            random.push(name.clone());
        }
    });
    assert!(random.len() == 2 && Arc::ptr_eq(&random[0], &random[1]));
}

#[test]
fn functions_are_found_by_name_and_types() {
    let (volatile, stable) = (plus(vec![Type::Integer], true), plus(vec![Type::Integer], false));
    let mut plan = read();
    let find = |wanted: &ExternalFunction| {
        (&*wanted.name == "plus").then(|| if wanted.volatile { volatile.clone() } else { stable.clone() })
    };
    plan.bind_functions(&mut FunctionBinder::new(&find)).unwrap();
    let calls = calls(&plan);
    assert!(calls.iter().all(|call| call.body().is_ok()));
    assert!(Arc::ptr_eq(&calls[0], &calls[1]) && !Arc::ptr_eq(&calls[0], &calls[2]));
    assert!(Arc::ptr_eq(&calls[3], &stable));

    let unknown = read().bind_functions(&mut FunctionBinder::new(&|_| None)).unwrap_err();
    assert_eq!(unknown.state(), SqlState::UndefinedFunction);
    let other = plus(vec![Type::Text], true);
    let find = |_: &ExternalFunction| Some(other.clone());
    let unlike = read().bind_functions(&mut FunctionBinder::new(&find)).unwrap_err();
    assert!(unlike.message().contains("plus"), "{unlike}");
}
