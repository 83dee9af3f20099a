//! Plans that have a bit of everything in them.

use std::sync::Arc;

use plan::file::{FileColumn, FilePart, PartColumn, TextOptions};
use plan::lake::{Deletions, LakeFile, StoredColumn};
use plan::{
    AggregateCall, AggregateFunction, Arithmetic, Exchange, ExchangeKind, ExchangeNumber, Exclusion, Expr,
    ExprKind, ExternalFunction, FetchOutput, FileFormat, FileSource, FilterId, Fraction, Frame, FrameBound,
    FrameUnit, Function, JoinOutput, OutputColumn, PhysicalJoinKind, PhysicalNode as N, PhysicalPlan,
    Pruning, ROW_REFERENCE, Rejects, RowReference, RuntimeFilter, Series, SortKey, SubqueryId, TableId,
    WindowCall, WindowFunction, Zone,
};
use types::{
    Bound, ColumnPredicate, Comparison, Field, LikePattern, Position, PredicateTree, Sample, SampleOf,
    Schema, Type, Value,
};

const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

pub fn column(name: &str, ty: Type) -> OutputColumn {
    OutputColumn { name: name.into(), ty, nullable: true, bounds: None }
}

fn columns(types: &[Type]) -> Vec<OutputColumn> {
    types.iter().enumerate().map(|(at, ty)| column(&format!("c{at}"), *ty)).collect()
}

fn input(at: usize, ty: Type) -> Expr {
    Expr::input(at, ty)
}

fn text(value: &str) -> Expr {
    Expr::literal(Value::text(value), Type::Text)
}

fn pattern(text: &str) -> Arc<LikePattern> {
    Arc::new(LikePattern::new(text, Some('\\')).unwrap())
}

fn boxed(kind: ExprKind, ty: Type) -> Expr {
    Expr::new(kind, ty)
}

/// A table of an INTEGER, a TEXT, money and a reference, read with all that a scan can do.
fn table_scan(filter: Option<FilterId>) -> PhysicalPlan {
    let types = [Type::Integer, Type::Text, MONEY, Type::BigInt];
    let mut fetched = columns(&types);
    fetched[0].bounds = Some((-5, 1 << 20));
    let like = ColumnPredicate::Like { pattern: pattern("a\\%%_b"), negated: true };
    let range = ColumnPredicate::Range {
        low: Some(Bound { value: Value::I32(3), inclusive: true }),
        high: Some(Bound { value: Value::I32(90), inclusive: false }),
    };
    let node = N::TableScan {
        table: TableId(7),
        name: "t".into(),
        sample: Some(Sample { of: SampleOf::Rows, share: 0.25, seed: 9 }),
        columns: vec![0, 4, 2, ROW_REFERENCE],
        predicates: vec![(0, range.clone()), (1, like)],
        trees: vec![PredicateTree::Or(vec![
            PredicateTree::Leaf(0, ColumnPredicate::NotIn([Value::I32(1), Value::I32(2)].into())),
            PredicateTree::And(vec![
                PredicateTree::Leaf(1, ColumnPredicate::IsNull),
                PredicateTree::Leaf(0, range),
            ]),
        ])],
        filters: vec![Expr::compare(Comparison::Less, input(0, Type::Integer), input(0, Type::Integer))],
        runtime_filters: filter
            .map(|filter| RuntimeFilter { filter, column: 0, passing: 0.5 })
            .into_iter()
            .collect(),
        projection: vec![0, 1, 2, 3],
        fetched: fetched.clone(),
    };
    PhysicalPlan::new(node, fetched, 1e6)
}

fn file_scan() -> PhysicalPlan {
    let schema = Schema::new(vec![Field::new("a", Type::Integer, true), Field::new("b", Type::Text, true)]);
    let mut text_options =
        TextOptions { time_zone: types::Zone::parse("Europe/Berlin").unwrap(), ..TextOptions::default() };
    text_options.header_names = ["a".to_owned(), "b".to_owned()].into();
    text_options.rejects = Some(Rejects::noted("reject_errors", 3));
    let alone = FileSource {
        paths: ["/data/a.csv".to_owned()].into(),
        format: FileFormat::Csv,
        schema: schema.clone(),
        text: text_options,
        rows: Some(12),
        statistics: vec![
            FileColumn {
                zone: Zone { min: Some(Value::I32(1)), max: None, null_count: Some(2), rows: 12 },
                distinct: Some(4),
            },
            FileColumn::default(),
        ],
        parts: Arc::default(),
    };
    let part = FilePart {
        source: alone.clone(),
        columns: vec![PartColumn::File(0), PartColumn::Constant(Value::text("2024"))],
        lake: None,
    };
    let table_file = FilePart {
        source: FileSource { paths: ["/data/b.parquet".to_owned()].into(), ..alone.clone() },
        columns: vec![PartColumn::Stored(0), PartColumn::Constant(Value::Null)],
        lake: Some(Arc::new(lake_file())),
    };
    let paths = ["/data/a.csv".to_owned(), "/data/b.parquet".to_owned()].into();
    let file = FileSource { paths, parts: [part, table_file].into(), ..alone };
    let fetched = columns(&[Type::Text, Type::Integer]);
    let is = ColumnPredicate::In([Value::text("x"), Value::text("y")].into());
    let node = N::FileScan {
        file: Arc::new(file),
        columns: vec![1, 0],
        filters: vec![boxed(
            ExprKind::InList {
                input: Box::new(input(0, Type::Text)),
                values: [Value::text("x"), Value::text("y")].into(),
                has_null: true,
                negated: false,
            },
            Type::Boolean,
        )],
        pruning: vec![Pruning::Any(vec![
            Pruning::Column(0, is),
            Pruning::All(vec![Pruning::Column(1, ColumnPredicate::NotEqual(Value::I32(5)))]),
        ])],
        runtime_filters: vec![],
        projection: vec![1],
        fetched,
    };
    PhysicalPlan::new(node, columns(&[Type::Integer]), 12.0)
}

/// A table's file, with rows deleted in every way.
fn lake_file() -> LakeFile {
    let column = |name: &str, ty, inner| StoredColumn {
        id: Some(1),
        names: vec![name.to_owned()],
        ty,
        inner,
        missing: Value::Null,
    };
    let pair = Type::structure(vec![("x".into(), Type::Text)]).unwrap();
    let nested = column("s", pair, vec![column("x", Type::Text, vec![])]);
    let zone = Zone { min: Some(Value::I32(1)), max: Some(Value::I32(9)), null_count: Some(0), rows: 12 };
    LakeFile {
        stored: [column("a", Type::Integer, vec![]), nested].into(),
        zones: vec![(0, zone)],
        deletions: vec![
            Deletions::Vector { path: "/data/d.bin".into(), offset: 1, bytes: 40, rows: 2 },
            Deletions::Inline { bitmap: vec![1, 2, 3], rows: 1 },
            Deletions::Positions { path: "/data/p.parquet".into(), data_path: "/data/b.parquet".into() },
            Deletions::Values {
                path: "/data/v.parquet".into(),
                columns: vec![column("a", Type::Integer, vec![])],
            },
        ],
    }
}

/// One expression of each kind, over an INTEGER, a TEXT, money and a BIGINT.
fn expressions() -> Vec<Expr> {
    let (number, word, money) = (input(0, Type::Integer), input(1, Type::Text), input(2, MONEY));
    let list = Type::list(Type::Integer).unwrap();
    let mood = Type::enumeration(Some("mood"), vec!["sad".into(), "ok".into()]).unwrap();
    let record = Type::structure(vec![("a".into(), list), ("b".into(), mood)]).unwrap();
    let numbers = types::nested::encoding::list_of([&Value::I32(1), &Value::Null], Type::Integer);
    let truth = Expr::compare(Comparison::GreaterOrEqual, number.clone(), number.clone());
    let random = boxed(ExprKind::Library { name: "random".into(), arguments: vec![] }, Type::Double);
    let function = |volatile| {
        Arc::new(ExternalFunction {
            name: "plus".into(),
            arguments: vec![Type::Integer],
            returns: Type::BigInt,
            volatile,
            body: None,
        })
    };
    let call = |function: &Arc<ExternalFunction>| {
        let place = Some(Position { line: 1, column: 8, offset: 7 });
        let kind = ExprKind::External { function: function.clone(), arguments: vec![number.clone()], place };
        boxed(kind, Type::BigInt)
    };
    let nextval = function(true);
    let lambda = Expr::new(
        ExprKind::Lambda(Arc::new(Expr::compare(
            Comparison::Less,
            input(0, Type::Integer),
            input(2, Type::Integer),
        ))),
        Type::Boolean,
    );
    vec![
        boxed(
            ExprKind::NotDistinct {
                left: Box::new(word.clone()), right: Box::new(text("é")), negated: true
            },
            Type::Boolean,
        ),
        Expr::and(vec![truth.clone(), Expr::or(vec![truth.clone(), Expr::boolean(false)])]),
        boxed(ExprKind::Not(Box::new(truth.clone())), Type::Boolean),
        boxed(ExprKind::IsNull { input: Box::new(money.clone()), negated: true }, Type::Boolean),
        boxed(
            ExprKind::IsBoolean { input: Box::new(truth.clone()), value: false, negated: true },
            Type::Boolean,
        ),
        boxed(
            ExprKind::Arithmetic {
                op: Arithmetic::Multiply,
                left: Box::new(money.clone()),
                right: Box::new(money.clone()),
                checked: false,
            },
            Type::Decimal { precision: 30, scale: 4 },
        ),
        boxed(ExprKind::Negate(Box::new(money.clone())), MONEY),
        boxed(ExprKind::Cast { input: Box::new(word.clone()), lenient: true }, Type::Date),
        boxed(
            ExprKind::Case {
                branches: vec![(truth.clone(), money.clone())],
                otherwise: Some(Box::new(Expr::literal(Value::Null, MONEY))),
            },
            MONEY,
        ),
        boxed(
            ExprKind::Like {
                input: Box::new(word.clone()),
                pattern: pattern("%x_"),
                negated: false,
                case_insensitive: true,
            },
            Type::Boolean,
        ),
        boxed(
            ExprKind::Function { function: Function::Concatenate, arguments: vec![word.clone(), text("z")] },
            Type::Text,
        ),
        boxed(ExprKind::Library { name: "md5".into(), arguments: vec![word.clone()] }, Type::Text),
        Expr::compare(Comparison::Less, random.clone(), random),
        boxed(
            ExprKind::Library {
                name: "list_filter".into(),
                arguments: vec![Expr::literal(numbers, list), number.clone(), lambda],
            },
            list,
        ),
        call(&nextval),
        call(&nextval),
        call(&function(true)),
        call(&function(false)),
        boxed(ExprKind::ScalarSubquery(SubqueryId(2)), Type::Real),
        Expr::literal(Value::I32(1), mood),
        Expr::literal(Value::Null, record),
        Expr::literal(Value::F64(f64::NEG_INFINITY), Type::Double),
        Expr::literal(Value::I128(i128::MIN + 1), Type::HugeInt),
        Expr::literal(Value::I128(-7), Type::Uuid),
        Expr::literal(Value::Bytes([0u8, 255, 7][..].into()), Type::Bytea),
    ]
}

fn project(input: PhysicalPlan) -> PhysicalPlan {
    let expressions = expressions();
    let output = columns(&expressions.iter().map(|e| e.ty).collect::<Vec<_>>());
    let node = N::Project { input: Box::new(input), expressions };
    let mut plan = PhysicalPlan::new(node, output, 3.5);
    plan.remarks = vec!["something was done".into()];
    plan
}

fn key(expr: Expr) -> SortKey {
    SortKey { expr, descending: true, nulls_first: false }
}

fn join() -> PhysicalPlan {
    let (probe, build) = (table_scan(Some(FilterId(4))), file_scan());
    let output = columns(&[Type::Integer, MONEY, Type::BigInt, Type::Integer]);
    let node = N::HashJoin {
        probe: Box::new(probe),
        build: Box::new(build),
        kind: PhysicalJoinKind::Inner,
        probe_keys: vec![input(0, Type::Integer)],
        build_keys: vec![input(0, Type::Integer)],
        residual: Some(Expr::compare(Comparison::Less, input(0, Type::Integer), input(4, Type::Integer))),
        null_equals_null: false,
        null_aware: false,
        output: vec![JoinOutput::Probe(0), JoinOutput::Probe(2), JoinOutput::Probe(3), JoinOutput::Build(0)],
        fills: vec![(FilterId(4), 0)],
        build_unique: true,
    };
    PhysicalPlan::new(node, output, 50.0)
}

fn fetch(input: PhysicalPlan) -> PhysicalPlan {
    let node = N::Fetch {
        input: Box::new(input),
        references: vec![RowReference { column: 2, table: TableId(7), name: "t".into() }],
        output: vec![
            FetchOutput::Input(0),
            FetchOutput::Late { reference: 0, column: 5 },
            FetchOutput::Input(1),
        ],
    };
    PhysicalPlan::new(node, columns(&[Type::Integer, Type::Text, MONEY]), 50.0)
}

fn aggregate(of: PhysicalPlan) -> PhysicalPlan {
    use AggregateFunction as F;
    let call = |function, argument: Option<Expr>, ty| AggregateCall {
        function,
        distinct: argument.is_some(),
        argument,
        filter: Some(Expr::boolean(true)),
        ty,
    };
    let number = || Some(input(0, Type::Integer));
    let half = Fraction::new(0.5).unwrap();
    let aggregates = vec![
        call(F::CountStar, None, Type::BigInt),
        call(F::Sum, number(), Type::BigInt),
        call(
            F::StringAgg { delimiter: ", ".into(), ordered: false, most: None },
            Some(input(1, Type::Text)),
            Type::Text,
        ),
        call(F::QuantileDisc { fraction: half, descending: true }, number(), Type::Integer),
        call(F::Arrival { last: true }, Some(input(2, MONEY)), MONEY),
    ];
    let types: Vec<Type> = [Type::Integer].into_iter().chain(aggregates.iter().map(|call| call.ty)).collect();
    let node = N::Aggregate { input: Box::new(of), groups: vec![input(0, Type::Integer)], aggregates };
    PhysicalPlan::new(node, columns(&types), 5.0)
}

fn window(of: PhysicalPlan) -> PhysicalPlan {
    let number = || input(0, Type::Integer);
    let frame = Frame {
        unit: FrameUnit::Range,
        start: FrameBound::Value { key: number(), bound: number() },
        end: FrameBound::Offset(-3),
        exclusion: Exclusion::Ties,
    };
    let call = |function, arguments: Vec<Expr>, ty| WindowCall {
        function,
        arguments,
        filter: None,
        ignore_nulls: true,
        frame: frame.clone(),
        peers: 1,
        ty,
    };
    let calls = vec![
        WindowCall::row_number(),
        call(WindowFunction::NthValue, vec![number(), input(3, Type::BigInt)], Type::Integer),
        call(WindowFunction::Aggregate(AggregateFunction::Avg), vec![number()], Type::Double),
    ];
    let mut output = of.output.clone();
    output.extend(calls.iter().map(|call| column("w", call.ty)));
    let node = N::Window {
        input: Box::new(of),
        partition: vec![input(1, Type::Text)],
        order: vec![key(number())],
        calls,
        sorted: false,
        first: None,
    };
    PhysicalPlan::new(node, output, 5.0)
}

fn others() -> PhysicalPlan {
    let list = Type::list(Type::Integer).unwrap();
    let values = N::Values {
        rows: vec![vec![Value::I64(1), types::nested::encoding::list_of([&Value::I32(1)], Type::Integer)]],
    };
    let values = PhysicalPlan::new(values, columns(&[Type::BigInt, list]), 1.0);
    let unnest = N::Unnest {
        input: Box::new(values),
        keep: vec![0],
        lists: vec![input(1, list)],
        ordinality: true,
        outer: false,
    };
    let unnest = PhysicalPlan::new(unnest, columns(&[Type::BigInt, Type::Integer, Type::BigInt]), 1.0);
    let read = N::Materialized { index: 0, columns: vec![2, 0, 1] };
    let read = PhysicalPlan::new(read, columns(&[Type::BigInt, Type::Integer, Type::BigInt]), 1.0);
    let union = N::UnionAll { inputs: vec![unnest, read] };
    let union = PhysicalPlan::new(union, columns(&[Type::BigInt, Type::Integer, Type::BigInt]), 2.0);
    let series = Series::to(1, 10, 3, Type::BigInt).unwrap();
    let series = PhysicalPlan::new(N::Series { series, columns: vec![0] }, columns(&[Type::BigInt]), 4.0);
    let made = N::Generate { suite: "tpch".into(), table: "region".into(), scale: 1.0, columns: vec![0] };
    let made = PhysicalPlan::new(made, columns(&[Type::Integer]), 5.0);
    let filter = N::Filter { input: Box::new(made), predicate: Expr::boolean(true) };
    let filter = PhysicalPlan::new(filter, columns(&[Type::Integer]), 5.0);
    let nested = N::NestedLoopJoin {
        probe: Box::new(series),
        build: Box::new(filter),
        kind: PhysicalJoinKind::ProbeMark,
        predicate: Some(Expr::boolean(true)),
        null_aware: true,
        by_range: false,
        output: vec![JoinOutput::Probe(0), JoinOutput::Mark],
    };
    let nested = PhysicalPlan::new(nested, columns(&[Type::BigInt, Type::Boolean]), 4.0);
    let both = N::NestedLoopJoin {
        probe: Box::new(union),
        build: Box::new(nested),
        kind: PhysicalJoinKind::FullOuter,
        predicate: None,
        null_aware: false,
        by_range: false,
        output: vec![JoinOutput::Build(0), JoinOutput::Probe(1)],
    };
    let both = PhysicalPlan::new(both, columns(&[Type::BigInt, Type::Integer]), f64::INFINITY);
    let sort = N::Sort { input: Box::new(both), keys: vec![key(input(0, Type::BigInt))], limit: Some(10) };
    let sort = PhysicalPlan::new(sort, columns(&[Type::BigInt, Type::Integer]), 10.0);
    let limit = N::Limit { input: Box::new(sort), offset: 2, count: None };
    let limit = PhysicalPlan::new(limit, columns(&[Type::BigInt, Type::Integer]), 8.0);
    let insert = N::Insert { input: Box::new(limit), table: TableId(1), name: "into".into() };
    PhysicalPlan::new(insert, columns(&[Type::BigInt]), 1.0)
}

/// Rows that go to other nodes in every way.
fn exchanges() -> PhysicalPlan {
    let types = [Type::Integer, Type::Text, MONEY, Type::BigInt];
    let by = || vec![key(input(0, Type::Integer))];
    let kinds = [
        ExchangeKind::Hash { keys: vec![input(1, Type::Text), input(0, Type::Integer)] },
        ExchangeKind::Range { keys: by() },
        ExchangeKind::Broadcast,
        ExchangeKind::Scatter,
        ExchangeKind::Gather { order: by() },
    ];
    kinds.into_iter().enumerate().fold(table_scan(None), |below, (at, kind)| {
        let exchange = Exchange { number: ExchangeNumber(at as u32), kind };
        let node = N::Exchange { input: Box::new(below), exchange };
        PhysicalPlan::new(node, columns(&types), 10.0)
    })
}

/// Plans that are numbered, with every node and every kind of expression in one of them.
pub fn all() -> Vec<PhysicalPlan> {
    let mut plans = vec![
        fetch(join()),
        project(table_scan(None)),
        window(table_scan(None)),
        aggregate(table_scan(None)),
        others(),
        file_scan(),
        exchanges(),
    ];
    plans.iter_mut().for_each(|plan| {
        plan.number();
    });
    plans
}
