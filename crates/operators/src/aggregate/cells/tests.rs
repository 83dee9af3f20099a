//! Cells against rows: the same aggregation of the same codes, gathered and evaluated row by row.
//!
//! Random batches of coded columns, with or without a selection, and random expressions over them, among them such as
//! overflow, divide by zero or are NULL. Both ways must give the same sums, or fail with the same SQLSTATE. Random
//! inputs have fixed seeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use hash::aggregate::CELLS_MAX;
use plan::{
    AggregateCall, AggregateFunction, Arithmetic, Expr, ExprKind, OutputColumn, PhysicalNode, PhysicalPlan,
};
use types::{Comparison, Result, Type, Value};
use vector::{Batch, Coded, Codes, Data, Meaning, Vector};
use workorder::WorkContext;

use super::super::codes::CodesWanted;
use super::super::local::LocalGroups;
use super::super::{Aggregate, Strategies};
use crate::context::ExecutionSettings;
use crate::hash_join::tests::{Random, Row, Side, query};
use crate::pipeline::{Flow, Local, Work, local_state};

const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

/// Type, meaning, greatest code and width of the codes.
struct Column(Type, Meaning, u32, usize);

/// Keys 0 and 1; small columns 2, 3 and 6, the last on no line; wide ones 4 and 5.
fn columns(random: &mut Random) -> Vec<Column> {
    let values = |values: &[Value], ty| Meaning::Values(Arc::new(Vector::from_values(ty, values)));
    let flags: Vec<Value> = ["a", "b", "c"].iter().map(|text| Value::text(text)).collect();
    let odd: Vec<Value> = [0, 1, -7, 30, 1000].iter().map(|v| Value::I32(*v)).collect();
    vec![
        Column(Type::Text, values(&flags, Type::Text), 2, 1),
        Column(Type::SmallInt, Meaning::Line { base: 7, step: 1 }, 4, 1),
        Column(MONEY, Meaning::Line { base: 0, step: 1 }, 10, 1),
        Column(Type::Integer, Meaning::Line { base: -4, step: 2 }, 6, 1),
        Column(
            MONEY,
            Meaning::Line { base: 90_000 - random.below(3) as i64 * 90_000, step: 1 },
            10_000_000,
            4,
        ),
        Column(Type::BigInt, Meaning::Line { base: -500, step: 3 }, 60_000, 2),
        Column(Type::Integer, values(&odd, Type::Integer), 4, 1),
    ]
}

fn batch(columns: &[Column], rows: usize, random: &mut Random) -> Batch {
    let vectors = columns.iter().map(|Column(ty, meaning, last, width)| {
        let codes: Vec<u32> = (0..rows).map(|_| random.below(u64::from(*last) + 1) as u32).collect();
        let codes = match width {
            1 => Codes::U8(codes.iter().map(|c| *c as u8).collect::<Vec<_>>().into()),
            2 => Codes::U16(codes.iter().map(|c| *c as u16).collect::<Vec<_>>().into()),
            _ => Codes::U32(codes.into()),
        };
        Vector::new(*ty, Data::Coded(Coded { codes, meaning: meaning.clone(), last: *last }), None)
    });
    let mut batch = Batch::new(vectors.collect(), rows);
    if random.below(2) == 0 {
        let words = (0..rows.div_ceil(64)).map(|word| {
            let bits = (0..64).fold(0u64, |bits, bit| bits | u64::from(random.below(5) > 0) << bit);
            bits & simd::rows_of_word(rows, word)
        });
        batch.selection = Some(words.collect());
    }
    batch
}

fn arithmetic(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: left.into(), right: right.into(), checked: true }, ty)
}

/// Integers of all kinds; some overflow, divide by zero, are NULL, or multiply two wide columns.
fn expression(random: &mut Random, depth: u32) -> Expr {
    let big = Type::BigInt;
    if depth == 0 || random.below(6) == 0 {
        return match random.below(12) {
            0 => Expr::literal(Value::Null, big),
            1 => Expr::literal(Value::I64(1 << 40), big),
            2 | 3 => Expr::literal(Value::I64(random.below(9) as i64 - 4), big),
            4..=6 => Expr::input(3, Type::Integer).cast(big),
            7 => Expr::input(6, Type::Integer).cast(big),
            8 => Expr::input(1, Type::SmallInt).cast(big),
            _ => Expr::input(5, big),
        };
    }
    let mut next = || expression(random, depth - 1);
    let (a, b) = (next(), next());
    match random.below(9) {
        0 | 1 => arithmetic(Arithmetic::Add, a, b, big),
        2 => arithmetic(Arithmetic::Subtract, a, b, big),
        3..=5 => arithmetic(Arithmetic::Multiply, a, b, big),
        6 => Expr::new(ExprKind::Negate(a.into()), big),
        7 => {
            let ten = Expr::literal(Value::I64(10), big);
            let divisor = Expr::input(3 + 3 * random.below(2) as usize, Type::Integer).cast(big);
            arithmetic(Arithmetic::Add, a, arithmetic(Arithmetic::Divide, ten, divisor, big), big)
        }
        _ => {
            let flag = Expr::literal(Value::text("b"), Type::Text);
            let when = Expr::compare(Comparison::Equal, Expr::input(0, Type::Text), flag);
            let otherwise = (random.below(3) > 0).then(|| b.into());
            Expr::new(ExprKind::Case { branches: vec![(when, a)], otherwise }, big)
        }
    }
}

fn plan(columns: &[Column], keys: &[usize], arguments: &[Expr]) -> PhysicalPlan {
    let types: Vec<Type> = columns.iter().map(|c| c.0).collect();
    let mut input = Side { types, rows: vec![] }.plan();
    input.output.iter_mut().for_each(|column| column.nullable = false);
    let call = |function, argument: Option<&Expr>, ty| AggregateCall {
        function,
        argument: argument.cloned(),
        distinct: false,
        filter: None,
        ty,
    };
    let mut aggregates = vec![call(AggregateFunction::CountStar, None, Type::BigInt)];
    for argument in arguments {
        let ty = Type::Decimal { precision: 38, scale: argument.ty.scale() };
        aggregates.push(call(AggregateFunction::Sum, Some(argument), ty));
        aggregates.push(call(AggregateFunction::Count, Some(argument), Type::BigInt));
    }
    let groups: Vec<Expr> = keys.iter().map(|at| Expr::input(*at, columns[*at].0)).collect();
    let column = |ty| OutputColumn { name: "c".into(), ty, nullable: true, bounds: None };
    let output = groups.iter().map(|g| g.ty).chain(aggregates.iter().map(|a| a.ty)).map(column).collect();
    PhysicalPlan::new(PhysicalNode::Aggregate { input: input.into(), groups, aggregates }, output, 10.0)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Rows,
    Cells,
    /// With products in passes of their own.
    Products,
}

/// The groups, and how many batches were summed the wanted way.
fn run(plan: &PhysicalPlan, batches: &[Batch], way: Way) -> Result<(BTreeSet<Row>, u64)> {
    let query = query(ExecutionSettings::default(), plan);
    let aggregate = Aggregate::with_strategies(plan, Strategies::of(&query))?;
    let (cells, masks) = (way == Way::Cells, way == Way::Products);
    let wanted = CodesWanted { keys: vec![], cells, masks, refused: Default::default() };
    let _ = aggregate.codes_wanted.set(Arc::new(wanted));
    let context = WorkContext::detached();
    let work = Work { query: &query, context: &context };
    let sink = aggregate.sink();
    let mut locals: Vec<Local> = (0..2).map(|_| sink.local()).collect();
    for (at, batch) in batches.iter().enumerate() {
        sink.consume(batch.clone(), at as u64, &mut locals[at % 2], &work)?;
    }
    let taken = |local: &mut Local| {
        let groups = local_state::<LocalGroups>(local);
        groups.cells.batches + groups.masked.with_products
    };
    let taken: u64 = locals.iter_mut().map(taken).sum();
    sink.finish(locals, &query)?;
    let step = aggregate.merge_step();
    for partition in 0..step.start(&query)? {
        step.run(partition, &work)?;
    }
    step.finish(&query)?;
    let source = aggregate.source();
    let mut groups = BTreeSet::new();
    let mut local = source.local();
    for unit in 0..source.start(&query)? {
        source.run(unit, &mut local, &work, &mut |batch: Batch| {
            for row in 0..batch.rows {
                let values: Row = batch.columns.iter().map(|c| c.value(row)).collect();
                assert!(groups.insert(values), "a group twice");
            }
            Ok(Flow::More)
        })?;
    }
    Ok((groups, taken))
}

/// Cells and rows alike, errors included; how many batches cells took.
fn compare(keys: &[usize], arguments: &[Expr], random: &mut Random) -> u64 {
    compare_with(Way::Cells, keys, arguments, random)
}

fn compare_with(way: Way, keys: &[usize], arguments: &[Expr], random: &mut Random) -> u64 {
    let blocks: Vec<Vec<Column>> = (0..3).map(|_| columns(random)).collect();
    let plan = plan(&blocks[0], keys, arguments);
    let batches: Vec<Batch> =
        (0..6).map(|at| batch(&blocks[at / 2], [2000, 3000, 600][at % 3], random)).collect();
    let rows = run(&plan, &batches, Way::Rows);
    let others = run(&plan, &batches, way);
    match (rows, others) {
        (Ok((rows, none)), Ok((others, taken))) => {
            assert_eq!(none, 0);
            assert_eq!(others, rows, "{way:?} {keys:?} {arguments:?}");
            taken
        }
        (Err(rows), Err(others)) => {
            assert_eq!(others.state(), rows.state(), "{way:?} {keys:?} {arguments:?}");
            0
        }
        (rows, others) => panic!("{keys:?} {arguments:?}: rows {rows:?}, {way:?} {others:?}"),
    }
}

/// A sum of prices less a discount, the same with a tax, and two sums of columns.
fn report() -> [Expr; 4] {
    let one = || Expr::literal(Value::I64(100), MONEY);
    let narrow = |scale| Type::Decimal { precision: 18, scale };
    let rest = arithmetic(Arithmetic::Subtract, one(), Expr::input(2, MONEY), MONEY);
    let price = arithmetic(Arithmetic::Multiply, Expr::input(4, MONEY), rest, narrow(4));
    let more = arithmetic(Arithmetic::Add, one(), Expr::input(2, MONEY), MONEY);
    let charge = arithmetic(Arithmetic::Multiply, price.clone(), more, narrow(6));
    [price, charge, Expr::input(5, Type::BigInt), Expr::input(2, MONEY)]
}

#[test]
fn products_of_prices_as_in_reports() {
    let mut random = Random::new(5);
    let arguments = report();
    for keys in [vec![], vec![0], vec![0, 1], vec![1]] {
        assert_eq!(compare(&keys, &arguments, &mut random), 6, "every batch by cells");
    }
}

/// Masks need a processor that has them.
#[test]
fn products_are_summed_under_masks() {
    if !simd::masks_pay() {
        return;
    }
    let mut random = Random::new(5);
    let [price, charge, ..] = report();
    let big = Type::BigInt;
    let week = || Expr::input(1, Type::SmallInt).cast(big);
    // The order in which factors are written does not matter, nor whether their product is summed as well.
    let reversed = arithmetic(
        Arithmetic::Multiply,
        Expr::input(2, MONEY),
        Expr::input(4, MONEY),
        Type::Decimal { precision: 18, scale: 4 },
    );
    // In one block of three, about, some prices are negative.
    let mut suitable = 0;
    for arguments in
        [vec![price.clone(), charge.clone()], vec![charge, reversed.clone(), price], vec![reversed]]
    {
        for keys in [vec![], vec![0], vec![0, 1]] {
            suitable += compare_with(Way::Products, &keys, &arguments, &mut random);
        }
    }
    assert!((20..54).contains(&suitable), "{suitable} of 54 batches");
    // Negative values, steps other than one, and two wide columns do not suit.
    let wide = || Expr::input(5, big);
    for product in [
        arithmetic(Arithmetic::Multiply, week(), wide(), big),
        arithmetic(Arithmetic::Multiply, wide(), wide(), big),
    ] {
        assert_eq!(compare_with(Way::Products, &[0], &[product], &mut random), 0);
    }
    let (mut taken, mut others) = (0, 0);
    for _ in 0..100 {
        let arguments: Vec<Expr> = (0..1 + random.below(3)).map(|_| product(&mut random)).collect();
        let by_products = compare_with(Way::Products, &[0], &arguments, &mut random);
        taken += by_products;
        others += 6 - by_products;
    }
    assert!(taken > 60 && others > 60, "{taken} batches by products, {others} otherwise");
}

/// Two or three factors of which some are wide, some negative, and some leave their product's type.
fn product(random: &mut Random) -> Expr {
    let factor = |random: &mut Random| {
        let column = Expr::input([2, 2, 4][random.below(3) as usize], MONEY);
        let constant = [100, 7, -3, 1 << 40][random.below(16u64).saturating_sub(12) as usize];
        let constant = Expr::literal(Value::I64(constant), MONEY);
        match random.below(3) {
            0 => column,
            1 => arithmetic(Arithmetic::Add, column, constant, MONEY),
            _ => arithmetic(Arithmetic::Subtract, constant, column, MONEY),
        }
    };
    let scaled = |scale| Type::Decimal { precision: 18, scale };
    let first = factor(random);
    let two = arithmetic(Arithmetic::Multiply, first, factor(random), scaled(4));
    match random.below(2) {
        0 => two,
        _ => arithmetic(Arithmetic::Multiply, two, factor(random), scaled(6)),
    }
}

#[test]
fn any_expression_as_row_by_row() {
    let mut random = Random::new(83);
    let mut taken = 0;
    for _ in 0..300 {
        let keys: Vec<usize> = (0..2).filter(|_| random.below(2) == 0).collect();
        let arguments: Vec<Expr> = (0..1 + random.below(3)).map(|_| expression(&mut random, 3)).collect();
        taken += compare(&keys, &arguments, &mut random);
    }
    assert!(taken > 300, "{taken} of 1800 batches went by cells");
}

/// Too many cells, values that no proof covers, and two wide columns go by rows.
#[test]
fn what_does_not_suit_is_left_alone() {
    let mut random = Random::new(31);
    let big = Type::BigInt;
    let wide = || Expr::input(5, big);
    assert_eq!(compare(&[0], &[arithmetic(Arithmetic::Multiply, wide(), wide(), big)], &mut random), 0);
    let huge = Expr::literal(Value::I64(1 << 50), big);
    assert_eq!(compare(&[0], &[arithmetic(Arithmetic::Multiply, wide(), huge, big)], &mut random), 0);
    let small = |at, ty: Type| Expr::input(at, ty).cast(big);
    let product = [small(3, Type::Integer), small(6, Type::Integer), small(1, Type::SmallInt), wide()]
        .into_iter()
        .reduce(|a, b| arithmetic(Arithmetic::Multiply, a, b, big));
    // 5 * 7 * 5 cells for each of 15 keys are more than the shorter batches have rows, and fewer than CELLS_MAX.
    const { assert!(15 * 175 < CELLS_MAX) };
    assert_eq!(compare(&[0, 1], &[product.unwrap()], &mut random), 2);
}
