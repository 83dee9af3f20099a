//! Plans for any values of parameters: with values they are what literals would have given.

mod tpch;

use optimizer::Settings;
use optimizer::parameters::{generic, with_values};
use plan::{Expr, ExprKind, LogicalQuery, Parameter, PhysicalNode};
use tpch::*;
use types::{Comparison, Type, Value};

fn parameter(number: u32, ty: Type) -> Expr {
    Expr::new(ExprKind::Parameter(Parameter { number, at: 0 }), ty)
}

#[test]
fn conditions_on_parameters_become_predicates_of_the_blocks() {
    let mut b = Builder::default();
    let lineitem = b.scan("lineitem");
    let conditions = Expr::and(vec![
        Expr::compare(Comparison::Less, b.c("l_shipdate"), parameter(1, Type::Date)),
        Expr::or(vec![
            Expr::compare(Comparison::Equal, b.c("l_quantity"), parameter(2, b.c("l_quantity").ty)),
            Expr::compare(Comparison::Equal, b.c("l_quantity"), parameter(3, b.c("l_quantity").ty)),
        ]),
        Expr::compare(Comparison::Greater, b.c("l_discount"), parameter(2, b.c("l_discount").ty)),
    ]);
    let plan = filter(lineitem, conditions);
    let output = vec![(b.id("l_orderkey"), "l_orderkey".to_owned())];
    let query = LogicalQuery {
        plan,
        columns: b.columns.clone(),
        subqueries: vec![],
        common: vec![],
        materialized: 0,
        output,
    };
    let settings = Settings::default();
    let open = generic(query, &Stub::default(), &settings).unwrap().expect("one plan");
    let text = plan::print::physical(&open, None);
    assert!(text.contains("l_shipdate < $1"), "{text}");
    let money = Type::Decimal { precision: 15, scale: 2 };
    let values = [(Value::I32(9_000), Type::Date), (Value::I64(500), money), (Value::I64(700), money)];
    let closed = with_values(&open, &values, &settings);
    check(&closed);
    let PhysicalNode::TableScan { predicates, filters, .. } = &closed.node else { panic!("{closed:?}") };
    assert_eq!((predicates.len(), filters.len()), (3, 0), "{predicates:?} {filters:?}");
    // NULL is met by nothing.
    let values = [(Value::Null, Type::Date), (Value::I64(500), money), (Value::I64(700), money)];
    let closed = with_values(&open, &values, &settings);
    let text = plan::print::physical(&closed, None);
    assert!(!text.contains('$') && text.contains("NULL"), "{text}");
}
