//! TPC-H at scale factor 1 as statistics, and a terse way to write logical plans over it: what the plan tests share.
#![allow(dead_code)]

pub mod queries;

use std::sync::Arc;

use optimizer::{Sample, Settings, Statistics, TableInfo, optimize_plan};
use plan::{
    AggregateCall, AggregateFunction, Arithmetic, ColumnId, ColumnTable, Expr, ExprKind, JoinKind,
    LogicalPlan, PhysicalPlan, ScanSource, SortKey, TableId,
};
use types::datetime::days_from_civil;
use types::{ColumnStatistics, Comparison, LikePattern, Type, Value};

/// Name, type, distinct values, smallest and largest value.
type ColumnStub = (&'static str, Type, u64, i128, i128);

const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };
const TEXT: Type = Type::Varchar(100);
const INT: Type = Type::Integer;
const BIG: Type = Type::BigInt;
const DATE: Type = Type::Date;

#[derive(Clone)]
pub struct TableStub {
    pub name: &'static str,
    pub rows: u64,
    pub key: &'static [usize],
    pub columns: Vec<ColumnStub>,
}

pub fn tables() -> Vec<TableStub> {
    [places_and_parties(), parts(), orders()].concat()
}

fn table(name: &'static str, rows: u64, key: &'static [usize], columns: Vec<ColumnStub>) -> TableStub {
    TableStub { name, rows, key, columns }
}

fn places_and_parties() -> Vec<TableStub> {
    vec![
        table(
            "region",
            5,
            &[0],
            vec![("r_regionkey", INT, 5, 0, 4), ("r_name", TEXT, 5, 0, 0), ("r_comment", TEXT, 5, 0, 0)],
        ),
        table(
            "nation",
            25,
            &[0],
            vec![
                ("n_nationkey", INT, 25, 0, 24),
                ("n_name", TEXT, 25, 0, 0),
                ("n_regionkey", INT, 5, 0, 4),
                ("n_comment", TEXT, 25, 0, 0),
            ],
        ),
        table(
            "supplier",
            10_000,
            &[0],
            vec![
                ("s_suppkey", BIG, 10_000, 1, 10_000),
                ("s_name", TEXT, 10_000, 0, 0),
                ("s_address", TEXT, 10_000, 0, 0),
                ("s_nationkey", INT, 25, 0, 24),
                ("s_phone", TEXT, 10_000, 0, 0),
                ("s_acctbal", MONEY, 9_955, -99_822, 999_972),
                ("s_comment", TEXT, 10_000, 0, 0),
            ],
        ),
        table(
            "customer",
            150_000,
            &[0],
            vec![
                ("c_custkey", BIG, 150_000, 1, 150_000),
                ("c_name", TEXT, 150_000, 0, 0),
                ("c_address", TEXT, 150_000, 0, 0),
                ("c_nationkey", INT, 25, 0, 24),
                ("c_phone", TEXT, 150_000, 0, 0),
                ("c_acctbal", MONEY, 140_187, -99_999, 999_999),
                ("c_mktsegment", TEXT, 5, 0, 0),
                ("c_comment", TEXT, 149_968, 0, 0),
            ],
        ),
    ]
}

fn parts() -> Vec<TableStub> {
    vec![
        table(
            "part",
            200_000,
            &[0],
            vec![
                ("p_partkey", BIG, 200_000, 1, 200_000),
                ("p_name", TEXT, 199_997, 0, 0),
                ("p_mfgr", TEXT, 5, 0, 0),
                ("p_brand", TEXT, 25, 0, 0),
                ("p_type", TEXT, 150, 0, 0),
                ("p_size", INT, 50, 1, 50),
                ("p_container", TEXT, 40, 0, 0),
                ("p_retailprice", MONEY, 20_899, 90_100, 209_899),
                ("p_comment", TEXT, 131_753, 0, 0),
            ],
        ),
        table(
            "partsupp",
            800_000,
            &[0, 1],
            vec![
                ("ps_partkey", BIG, 200_000, 1, 200_000),
                ("ps_suppkey", BIG, 10_000, 1, 10_000),
                ("ps_availqty", INT, 9_999, 1, 9_999),
                ("ps_supplycost", MONEY, 99_865, 100, 100_000),
                ("ps_comment", TEXT, 799_124, 0, 0),
            ],
        ),
    ]
}

fn orders() -> Vec<TableStub> {
    let (first, last) = (i128::from(days_from_civil(1992, 1, 1)), i128::from(days_from_civil(1998, 12, 31)));
    vec![
        table(
            "orders",
            1_500_000,
            &[0],
            vec![
                ("o_orderkey", BIG, 1_500_000, 1, 6_000_000),
                ("o_custkey", BIG, 99_996, 1, 149_999),
                ("o_orderstatus", TEXT, 3, 0, 0),
                ("o_totalprice", MONEY, 1_464_556, 85_771, 55_528_516),
                ("o_orderdate", DATE, 2_406, first, last),
                ("o_orderpriority", TEXT, 5, 0, 0),
                ("o_clerk", TEXT, 1_000, 0, 0),
                ("o_shippriority", INT, 1, 0, 0),
                ("o_comment", TEXT, 1_482_071, 0, 0),
            ],
        ),
        table(
            "lineitem",
            6_001_215,
            &[0, 3],
            vec![
                ("l_orderkey", BIG, 1_500_000, 1, 6_000_000),
                ("l_partkey", BIG, 200_000, 1, 200_000),
                ("l_suppkey", BIG, 10_000, 1, 10_000),
                ("l_linenumber", INT, 7, 1, 7),
                ("l_quantity", MONEY, 50, 100, 5_000),
                ("l_extendedprice", MONEY, 933_900, 90_100, 10_494_950),
                ("l_discount", MONEY, 11, 0, 10),
                ("l_tax", MONEY, 9, 0, 8),
                ("l_returnflag", TEXT, 3, 0, 0),
                ("l_linestatus", TEXT, 2, 0, 0),
                ("l_shipdate", DATE, 2_526, first, last),
                ("l_commitdate", DATE, 2_466, first, last),
                ("l_receiptdate", DATE, 2_554, first, last),
                ("l_shipinstruct", TEXT, 4, 0, 0),
                ("l_shipmode", TEXT, 7, 0, 0),
                ("l_comment", TEXT, 3_610_733, 0, 0),
            ],
        ),
    ]
}

pub struct Stub {
    tables: Vec<Arc<TableInfo>>,
}

impl Default for Stub {
    fn default() -> Self {
        let info = |t: TableStub| {
            let columns = t
                .columns
                .iter()
                .map(|(_, ty, distinct, min, max)| {
                    let value = |v: i128| Value::from_i128(v, ty.physical()).unwrap_or(Value::Null);
                    ColumnStatistics {
                        min: value(*min),
                        max: value(*max),
                        null_count: 0,
                        distinct: *distinct,
                        unique: *distinct == t.rows,
                        sorted: false,
                    }
                })
                .collect();
            Arc::new(TableInfo {
                rows: t.rows,
                columns,
                unique_keys: vec![t.key.to_vec()],
                blocks: t.rows / 100_000 + 1,
            })
        };
        Stub { tables: tables().into_iter().map(info).collect() }
    }
}

impl Statistics for Stub {
    fn table(&self, table: TableId) -> Option<Arc<TableInfo>> {
        self.tables.get(table.0 as usize).cloned()
    }
    fn sample(&self, _: TableId, _: &[usize], _: &[Expr], _: &[usize]) -> Option<Sample> {
        None
    }
}

/// Builds a plan; columns are named by their names, the latest of a name winning.
#[derive(Default)]
pub struct Builder {
    pub columns: ColumnTable,
}

impl Builder {
    pub fn scan(&mut self, name: &str) -> LogicalPlan {
        let all = tables();
        let (at, table) = all.iter().enumerate().find(|(_, t)| t.name == name).expect("a TPC-H table");
        let columns = table
            .columns
            .iter()
            .enumerate()
            .map(|(i, (column, ty, ..))| (self.columns.add(*column, *ty, false), i))
            .collect();
        let source = ScanSource::Table { table: TableId(at as u64), name: name.into(), sample: None };
        LogicalPlan::Scan { source, columns, filters: vec![] }
    }
    pub fn id(&self, name: &str) -> ColumnId {
        let found = (0..self.columns.len()).rev().map(|i| ColumnId(i as u32));
        found
            .into_iter()
            .find(|id| self.columns.get(*id).name == name)
            .unwrap_or_else(|| panic!("no column {name}"))
    }
    pub fn c(&self, name: &str) -> Expr {
        self.columns.expr(self.id(name))
    }
    pub fn eq(&self, a: &str, b: &str) -> Expr {
        Expr::compare(Comparison::Equal, self.c(a), self.c(b))
    }
    /// Column compared with a constant given as text.
    pub fn cmp(&self, a: &str, op: Comparison, text: &str) -> Expr {
        let column = self.c(a);
        let ty = column.ty;
        Expr::compare(op, column, Expr::literal(types::cast::parse_text(text, ty).unwrap(), ty))
    }
    pub fn is(&self, a: &str, text: &str) -> Expr {
        self.cmp(a, Comparison::Equal, text)
    }
    pub fn like(&self, a: &str, pattern: &str) -> Expr {
        let kind = ExprKind::Like {
            input: Box::new(self.c(a)),
            pattern: Arc::new(LikePattern::new(pattern, None).unwrap()),
            negated: false,
            case_insensitive: false,
        };
        Expr::new(kind, Type::Boolean)
    }
    pub fn project(&mut self, input: LogicalPlan, list: Vec<(&str, Expr)>) -> LogicalPlan {
        let expressions = list.into_iter().map(|(n, e)| (self.columns.add(n, e.ty, true), e)).collect();
        LogicalPlan::Project { input: Box::new(input), expressions }
    }
    pub fn aggregate(
        &mut self,
        input: LogicalPlan,
        groups: &[&str],
        calls: Vec<(&str, AggregateFunction, Option<Expr>)>,
    ) -> LogicalPlan {
        let groups = groups
            .iter()
            .map(|g| {
                let expr = self.c(g);
                (self.columns.add(*g, expr.ty, true), expr)
            })
            .collect();
        let aggregates = calls
            .into_iter()
            .map(|(name, function, argument)| {
                let ty = match (&function, &argument) {
                    (AggregateFunction::Sum, Some(a)) if a.ty.is_decimal() => {
                        Type::Decimal { precision: 38, scale: a.ty.scale() }
                    }
                    (AggregateFunction::Min | AggregateFunction::Max, Some(a)) => a.ty,
                    _ => Type::BigInt,
                };
                let call = AggregateCall { function, argument, distinct: false, filter: None, ty };
                (self.columns.add(name, ty, true), call)
            })
            .collect();
        LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates }
    }
    pub fn sort(&self, input: LogicalPlan, keys: &[&str], limit: Option<u64>) -> LogicalPlan {
        let keys =
            keys.iter().map(|k| SortKey { expr: self.c(k), descending: false, nulls_first: false }).collect();
        let sort = LogicalPlan::Sort { input: Box::new(input), keys, limit: None };
        match limit {
            Some(n) => LogicalPlan::Limit { input: Box::new(sort), offset: 0, count: Some(n) },
            None => sort,
        }
    }
    /// Plans `plan` for the named columns and prints it.
    pub fn explain(&mut self, plan: LogicalPlan, output: &[&str], settings: &Settings) -> String {
        plan::print::physical(&self.optimize(plan, output, settings), None)
    }
    pub fn optimize(&mut self, plan: LogicalPlan, output: &[&str], settings: &Settings) -> PhysicalPlan {
        let ids: Vec<ColumnId> = output.iter().map(|n| self.id(n)).collect();
        let plan = optimize_plan(plan, &mut self.columns, &ids, &Stub::default(), settings).unwrap();
        check(&plan);
        plan
    }
}

/// Holds of every plan: expressions stay within their inputs, and types are as the inputs have them.
pub fn check(plan: &PhysicalPlan) {
    use plan::PhysicalNode as N;
    let within = |e: &Expr, inputs: &[plan::OutputColumn]| {
        e.visit(&mut |e| match e.kind {
            ExprKind::Input(i) => {
                let physical =
                    inputs.get(i).unwrap_or_else(|| panic!("input {i} of {}", inputs.len())).ty.physical();
                assert_eq!(physical, e.ty.physical());
            }
            ExprKind::Column(id) => panic!("column {} was not bound", id.0),
            _ => {}
        });
    };
    match &plan.node {
        N::TableScan { columns, fetched, predicates, filters, runtime_filters, projection, .. } => {
            assert_eq!(columns.len(), fetched.len());
            assert_eq!(projection.len(), plan.output.len());
            filters.iter().for_each(|f| within(f, fetched));
            assert!(predicates.iter().all(|(c, _)| *c < fetched.len()));
            assert!(runtime_filters.iter().all(|f| f.column < fetched.len()));
        }
        N::Filter { input, predicate } => within(predicate, &input.output),
        N::Project { input, expressions } => {
            assert_eq!(expressions.len(), plan.output.len());
            for (e, column) in expressions.iter().zip(&plan.output) {
                within(e, &input.output);
                assert_eq!(e.ty, column.ty);
            }
        }
        N::Fetch { input, references, output } => {
            assert_eq!(output.len(), plan.output.len());
            assert!(references.iter().all(|r| input.output[r.column].ty == Type::BigInt));
            for (from, column) in output.iter().zip(&plan.output) {
                match from {
                    plan::FetchOutput::Input(at) => assert_eq!(input.output[*at].ty, column.ty),
                    plan::FetchOutput::Late { reference, .. } => assert!(*reference < references.len()),
                }
            }
        }
        N::HashJoin { probe, build, probe_keys, build_keys, residual, output, .. } => {
            assert_eq!(output.len(), plan.output.len());
            for (from, column) in output.iter().zip(&plan.output) {
                match from {
                    plan::JoinOutput::Probe(at) => assert_eq!(probe.output[*at].ty, column.ty),
                    plan::JoinOutput::Build(at) => assert_eq!(build.output[*at].ty, column.ty),
                    plan::JoinOutput::Mark => assert_eq!(Type::Boolean, column.ty),
                }
            }
            for (p, b) in probe_keys.iter().zip(build_keys) {
                within(p, &probe.output);
                within(b, &build.output);
                assert!(p.ty.same_representation(b.ty));
            }
            let both: Vec<_> = probe.output.iter().chain(&build.output).cloned().collect();
            residual.iter().for_each(|r| within(r, &both));
        }
        N::Aggregate { input, groups, aggregates } => {
            assert_eq!(groups.len() + aggregates.len(), plan.output.len());
            groups.iter().for_each(|g| within(g, &input.output));
            aggregates.iter().flat_map(|a| &a.argument).for_each(|a| within(a, &input.output));
        }
        N::Sort { input, keys, .. } => keys.iter().for_each(|k| within(&k.expr, &input.output)),
        _ => {}
    }
    plan.children().into_iter().for_each(check);
}

pub fn filter(input: LogicalPlan, predicate: Expr) -> LogicalPlan {
    LogicalPlan::Filter { input: Box::new(input), predicate }
}

pub fn cross(left: LogicalPlan, right: LogicalPlan) -> LogicalPlan {
    join(JoinKind::Inner, left, right, vec![])
}

pub fn join(kind: JoinKind, left: LogicalPlan, right: LogicalPlan, on: Vec<(Expr, Expr)>) -> LogicalPlan {
    LogicalPlan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        on,
        residual: None,
        null_equals_null: false,
        null_aware: false,
        mark: None,
    }
}

pub fn with_residual(plan: LogicalPlan, condition: Expr) -> LogicalPlan {
    match plan {
        LogicalPlan::Join { left, right, kind, on, null_equals_null, null_aware, mark, .. } => {
            LogicalPlan::Join {
                left,
                right,
                kind,
                on,
                residual: Some(condition),
                null_equals_null,
                null_aware,
                mark,
            }
        }
        _ => panic!("not a join"),
    }
}

pub fn arithmetic(op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
    Expr::new(ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: true }, ty)
}
