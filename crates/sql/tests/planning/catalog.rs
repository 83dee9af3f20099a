//! A catalog in memory: the benchmarks' tables, and whatever CREATE TABLE adds.
//!
//! The catalog implements `Relations` with fixed schemas and without rows, so that tests plan without the engine.
//! `planned` and `query` plan one statement; `shown` prints a plan with column numbers; `check` verifies that every
//! column that a plan reads is produced below it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use plan::file::TextOptions;
use plan::statement::{IfExists, Statement};
use plan::{FileFormat, FileSource, TableId};
use sql::{MacroInfo, RelationInfo, Relations, ViewInfo};
use types::{Error, Field, Result, Schema, SqlState, Type};

#[derive(Default)]
pub struct Catalog {
    tables: Mutex<BTreeMap<(String, String), RelationInfo>>,
    schemas: Mutex<Vec<String>>,
    views: Mutex<BTreeMap<String, ViewInfo>>,
    macros: Mutex<BTreeMap<String, MacroInfo>>,
}

/// Column types by letter: i INTEGER, b BIGINT, d DECIMAL(15,2), t TEXT, c CHAR(10), D DATE.
fn parse(list: &str) -> Vec<Field> {
    list.split_whitespace()
        .map(|column| {
            let (name, letter) = column.split_once(':').unwrap();
            let ty = match letter {
                "i" => Type::Integer,
                "b" => Type::BigInt,
                "s" => Type::SmallInt,
                "d" => Type::Decimal { precision: 15, scale: 2 },
                "t" => Type::Text,
                "c" => Type::Char(10),
                "v" => Type::Varchar(25),
                "D" => Type::Date,
                "f" => Type::Double,
                other => panic!("{other}"),
            };
            Field::new(name, ty, false)
        })
        .collect()
}

const TPCH: [(&str, &str, usize); 8] = [
    ("region", "r_regionkey:i r_name:c r_comment:v", 1),
    ("nation", "n_nationkey:i n_name:c n_regionkey:i n_comment:v", 1),
    ("supplier", "s_suppkey:i s_name:c s_address:v s_nationkey:i s_phone:c s_acctbal:d s_comment:v", 1),
    (
        "customer",
        "c_custkey:i c_name:v c_address:v c_nationkey:i c_phone:c c_acctbal:d c_mktsegment:c c_comment:v",
        1,
    ),
    (
        "part",
        "p_partkey:i p_name:v p_mfgr:c p_brand:c p_type:v p_size:i p_container:c p_retailprice:d p_comment:v",
        1,
    ),
    ("partsupp", "ps_partkey:i ps_suppkey:i ps_availqty:i ps_supplycost:d ps_comment:v", 2),
    (
        "orders",
        "o_orderkey:b o_custkey:i o_orderstatus:c o_totalprice:d o_orderdate:D o_orderpriority:c o_clerk:c \
         o_shippriority:i o_comment:v",
        1,
    ),
    (
        "lineitem",
        "l_orderkey:b l_partkey:i l_suppkey:i l_linenumber:i l_quantity:d l_extendedprice:d l_discount:d l_tax:d \
         l_returnflag:c l_linestatus:c l_shipdate:D l_commitdate:D l_receiptdate:D l_shipinstruct:c l_shipmode:c \
         l_comment:v",
        0,
    ),
];

const SSB: [(&str, &str, usize); 5] = [
    (
        "lineorder",
        "lo_orderkey:b lo_linenumber:i lo_custkey:i lo_partkey:i lo_suppkey:i lo_orderdate:i lo_orderpriority:t \
         lo_shippriority:t lo_quantity:i lo_extendedprice:i lo_ordtotalprice:i lo_discount:i lo_revenue:i \
         lo_supplycost:i lo_tax:i lo_commitdate:i lo_shipmode:t",
        0,
    ),
    (
        "customer",
        "c_custkey:i c_name:t c_address:t c_city:t c_nation:t c_region:t c_phone:t c_mktsegment:t",
        1,
    ),
    ("supplier", "s_suppkey:i s_name:t s_address:t s_city:t s_nation:t s_region:t s_phone:t", 1),
    (
        "part",
        "p_partkey:i p_name:t p_mfgr:t p_category:t p_brand1:t p_color:t p_type:t p_size:i p_container:t",
        1,
    ),
    (
        "ddate",
        "d_datekey:i d_date:t d_dayofweek:t d_month:t d_year:i d_yearmonthnum:i d_yearmonth:t d_daynuminweek:i \
         d_daynuminmonth:i d_daynuminyear:i d_monthnuminyear:i d_weeknuminyear:i d_sellingseason:t",
        1,
    ),
];

impl Catalog {
    pub fn tpch() -> Self {
        let catalog = Catalog::default();
        for (name, columns, key) in TPCH {
            catalog.put(None, name, parse(columns), key);
        }
        catalog
    }
    pub fn ssb() -> Self {
        let catalog = Catalog::default();
        for (name, columns, key) in SSB {
            catalog.put(None, name, parse(columns), key);
        }
        catalog
    }
    /// A table of nullable columns without keys.
    pub fn with(self, name: &str, columns: &[(&str, Type)]) -> Self {
        let fields = columns.iter().map(|(n, t)| Field::new(*n, *t, true)).collect();
        self.put(None, name, fields, 0);
        self
    }

    fn put(&self, schema: Option<&str>, name: &str, columns: Vec<Field>, key: usize) {
        let mut tables = self.tables.lock().unwrap();
        let id = TableId(tables.len() as u64 + 1);
        let info = RelationInfo {
            defaults: vec![],
            generated: vec![],
            id,
            name: name.to_owned(),
            has_nulls: vec![],
            columns: Schema::new(columns),
            primary_key: (key > 0).then(|| (0..key).collect()),
            unique: vec![],
        };
        tables.insert((schema.unwrap_or("main").to_owned(), name.to_owned()), info);
    }

    /// Takes over what a statement would change, as far as later statements see it.
    pub fn apply(&self, statement: &Statement) -> Result<()> {
        // Temporary tables hide others, as in a schema of their own that is looked at first.
        let schema_of = |n: &plan::statement::ObjectName| match n.schema.as_deref() {
            None | Some("public") => "main".to_owned(),
            Some(schema) => schema.to_owned(),
        };
        match statement {
            Statement::CreateTable { name, columns, options } => {
                let schema = if options.temporary { "temporary".to_owned() } else { schema_of(name) };
                let key = (schema, name.name.clone());
                let known = self.tables.lock().unwrap().contains_key(&key);
                if known && options.if_exists == IfExists::Error {
                    return Err(Error::new(SqlState::DuplicateTable, "table exists"));
                }
                if !known || options.if_exists == IfExists::Replace {
                    self.put(Some(&key.0), &name.name, columns.clone(), 0);
                    if let Some(primary) = &options.primary_key
                        && let Some(info) = self.tables.lock().unwrap().get_mut(&key)
                    {
                        info.primary_key =
                            primary.iter().map(|c| info.columns.position(c)).collect::<Option<Vec<_>>>();
                    }
                }
            }
            Statement::CreateTableAs { name, query, options } => {
                let fields = query
                    .output
                    .iter()
                    .map(|(id, heading)| {
                        let info = query.columns.get(*id);
                        Field::new(heading.clone(), info.ty, info.nullable)
                    })
                    .collect();
                let key = (schema_of(name), name.name.clone());
                let known = self.tables.lock().unwrap().contains_key(&key);
                if !known || options.if_exists == IfExists::Replace {
                    self.put(Some(&key.0), &name.name, fields, 0);
                }
            }
            Statement::DropTable { names, .. } => {
                for name in names {
                    let mut tables = self.tables.lock().unwrap();
                    let temporary = ("temporary".to_owned(), name.name.clone());
                    if tables.remove(&temporary).is_none() {
                        tables.remove(&(schema_of(name), name.name.clone()));
                    }
                }
            }
            Statement::CreateSchema { name, .. } => self.schemas.lock().unwrap().push(name.clone()),
            Statement::DropSchema { name, .. } => {
                self.schemas.lock().unwrap().retain(|s| s != name);
                self.tables.lock().unwrap().retain(|(schema, _), _| schema != name);
            }
            Statement::CreateView { name, columns, text, .. } => {
                let view = ViewInfo { columns: columns.clone(), text: text.clone(), schema: None };
                self.views.lock().unwrap().insert(name.name.clone(), view);
            }
            Statement::DropView { names, .. } => {
                names.iter().for_each(|n| drop(self.views.lock().unwrap().remove(&n.name)));
            }
            Statement::CreateMacro { name, forms, .. } => {
                for (at, form) in forms.iter().enumerate() {
                    let (parameters, text) = (form.parameters.clone(), form.text.clone());
                    let called = MacroInfo { parameters, text, table: form.table };
                    self.macros.lock().unwrap().insert(sql::form_name(&name.name, at + 1), called);
                }
            }
            Statement::DropMacro { name, .. } => drop(self.macros.lock().unwrap().remove(&name.name)),
            _ => {}
        }
        Ok(())
    }
}

impl Relations for Catalog {
    fn view(&self, _: Option<&str>, name: &str) -> Option<ViewInfo> {
        self.views.lock().unwrap().get(name).cloned()
    }
    fn macro_named(&self, _: Option<&str>, name: &str) -> Vec<MacroInfo> {
        let macros = self.macros.lock().unwrap();
        (1..).map_while(|number| macros.get(&sql::form_name(name, number)).cloned()).collect()
    }
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<RelationInfo>> {
        let schema = schema.map(|s| if s == "public" { "main" } else { s });
        let tables = self.tables.lock().unwrap();
        let find = |schema: &str| tables.get(&(schema.to_owned(), name.to_owned())).cloned();
        Ok(match schema {
            Some(schema) => find(schema),
            None => find("temporary").or_else(|| find("main")),
        })
    }
    fn file(&self, path: &str, options: &[(String, String)]) -> Result<FileSource> {
        if path.contains("missing") {
            return Err(Error::new(SqlState::UndefinedFile, format!("file \"{path}\" does not exist")));
        }
        let csv = path.ends_with(".csv") || options.iter().any(|(n, v)| n == "format" && v == "csv");
        let fields = vec![Field::new("a", Type::BigInt, true), Field::new("b", Type::Text, true)];
        Ok(FileSource {
            paths: vec![path.to_owned()].into(),
            format: if csv { FileFormat::Csv } else { FileFormat::Parquet },
            schema: Schema::new(fields),
            text: TextOptions::default(),
            statistics: vec![],
            parts: Default::default(),
            rows: None,
        })
    }
    fn table_names(&self) -> Vec<String> {
        let tables = self.tables.lock().unwrap().keys().map(|(_, n)| n.clone()).collect::<Vec<_>>();
        tables.into_iter().chain(self.views.lock().unwrap().keys().cloned()).collect()
    }
}

pub fn planned(text: &str, catalog: &Catalog) -> Result<Statement> {
    sql::plan_one(text, catalog)
}

pub fn query(text: &str, catalog: &Catalog) -> plan::LogicalQuery {
    match planned(text, catalog) {
        Ok(Statement::Query(query)) => {
            check(&query, text);
            query
        }
        Ok(other) => panic!("{text}: {other:?}"),
        Err(error) => panic!("{}", error.render(text)),
    }
}

/// A query's plan as text, subqueries first.
pub fn shown(query: &plan::LogicalQuery) -> String {
    let mut out = String::new();
    for (number, subquery) in query.subqueries.iter().enumerate() {
        out.push_str(&format!("subquery {number}:\n{}", plan::print::logical(subquery, &query.columns)));
    }
    out.push_str(&plan::print::logical(&query.plan, &query.columns));
    let headings: Vec<String> = query
        .output
        .iter()
        .map(|(id, name)| format!("{name}#{} {}", id.0, query.columns.get(*id).ty))
        .collect();
    out.push_str(&format!("-> {}\n", headings.join(", ")));
    out
}

/// Every node uses only columns that its inputs deliver, and every output is delivered.
pub fn check(query: &plan::LogicalQuery, text: &str) {
    for subquery in &query.subqueries {
        check_plan(subquery, query, text);
        assert_eq!(subquery.output().len(), 1, "{text}: a subquery has one column");
    }
    check_plan(&query.plan, query, text);
    let delivered = query.plan.output();
    for (id, name) in &query.output {
        assert!(delivered.contains(id), "{text}: {name} is not delivered\n{}", shown(query));
    }
}

fn check_plan(node: &plan::LogicalPlan, query: &plan::LogicalQuery, text: &str) {
    let mut visible: Vec<plan::ColumnId> = node.children().iter().flat_map(|c| c.output()).collect();
    if let plan::LogicalPlan::Scan { columns, .. } = node {
        visible.extend(columns.iter().map(|(id, _)| *id));
    }
    for expr in node.expressions() {
        expr.visit(&mut |e| {
            if let plan::ExprKind::Column(id) = e.kind {
                assert!(visible.contains(&id), "{text}: #{} is not an input\n{}", id.0, shown(query));
                assert_eq!(e.ty, query.columns.get(id).ty, "{text}: type of #{}\n{}", id.0, shown(query));
            }
            if let plan::ExprKind::Compare { left, right, .. } = &e.kind {
                assert!(
                    left.ty.same_representation(right.ty),
                    "{text}: {} beside {}\n{}",
                    left.ty,
                    right.ty,
                    shown(query)
                );
            }
            if let plan::ExprKind::Literal(value) = &e.kind {
                let fits = value.physical().is_none_or(|p| p == e.ty.physical());
                assert!(fits, "{text}: literal {value:?} as {}", e.ty);
            }
        });
    }
    match node {
        plan::LogicalPlan::Join { on, .. } => {
            for (l, r) in on {
                assert!(l.ty.same_representation(r.ty), "{text}: join of {} with {}", l.ty, r.ty);
            }
        }
        plan::LogicalPlan::Union { inputs, columns } => {
            for (input, ids) in inputs {
                let delivered = input.output();
                assert_eq!(ids.len(), columns.len(), "{text}");
                for (id, column) in ids.iter().zip(columns) {
                    assert!(delivered.contains(id), "{text}: union input\n{}", shown(query));
                    let (from, to) = (query.columns.get(*id).ty, query.columns.get(*column).ty);
                    assert!(from == to || from.same_representation(to), "{text}: {from} in union of {to}");
                }
            }
        }
        plan::LogicalPlan::Values { columns, rows } => {
            for row in rows {
                for (value, id) in row.iter().zip(columns) {
                    let ty = query.columns.get(*id).ty;
                    let fits = value.physical().is_none_or(|p| p == ty.physical());
                    assert!(fits, "{text}: value {value:?} as {ty}");
                }
            }
        }
        _ => {}
    }
    for child in node.children() {
        check_plan(child, query, text);
    }
}
