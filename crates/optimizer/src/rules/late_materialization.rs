//! Rule `late_materialization`: columns that nothing looks at on the way up travel as row references, and are fetched
//! where the fewest rows are left.
//!
//! ```text
//!  Top 20 by sum                                   Fetch c_name, c_address (late)      20 rows are fetched
//!    Aggregate by c_custkey, any_value(c_name),      Top 20 by sum
//!              any_value(c_address)                    Aggregate by c_custkey, any_value(row of customer)
//!      HashJoin                               ==>        HashJoin
//!        TableScan customer                                TableScan customer: c_custkey, row of customer
//! ```
//! One reference, eight bytes, stands for all columns of its table. It passes filters, projections, both sides of
//! joins, top-k, and aggregations that carry the column along (`any_value`); it is NULL where an outer join pads, and
//! then so is every column fetched by it. Where a column is computed with, compared, or leaves the query it has to be
//! there, so on its way from the scan up to that place the node with the fewest rows is chosen, the lowest of equals.
//! The scan decides if it pays: a random fetch for each row that is left against a fetch and a copy a node for each
//! that is not.
//!
//! Sound because a reference determines its row, and no node on the way looks into the column. `any_value` skips
//! NULLs, so a column with NULLs does not pass it. Late materialisation: Abadi, Myers, DeWitt, Madden,
//! "Materialization Strategies in a Column-Oriented DBMS" (ICDE 2007); that it goes through joins and aggregations
//! and stops at the narrowest place is ours.

use plan::{
    AggregateCall, AggregateFunction, Expr, ExprKind, FetchOutput, JoinOutput, OutputColumn, PhysicalNode,
    PhysicalPlan, ROW_REFERENCE, RowReference, TableId,
};
use types::{Error, Physical, Result, Type};

/// Costs a row in a unit of about a nanosecond. A fetch by reference is a cache miss, or several; somewhat more than
/// that, because estimates of the rows that are left tend to be low.
const LATE_FETCH: f64 = 12.0;
/// To make a reference, and at every node to copy it.
const REFERENCE_COPY: f64 = 0.7;

/// To fetch a value in the order of its block, and at every node to copy it. Strings are views of 16 bytes; longer
/// ones are copied where they are kept.
fn copy(ty: Type) -> f64 {
    if ty.physical() == Physical::Bytes { 2.0 } else { 0.7 }
}

/// What happens to a column above a node.
#[derive(Clone, Copy)]
struct Fate {
    /// The fewest rows on the way to where the column is looked at; infinite when that is right here.
    rows: f64,
    /// Rows in which the column is copied on the way there.
    copies: f64,
}

const LOOKED_AT: Fate = Fate { rows: f64::INFINITY, copies: 0.0 };

/// Where a column that a node put out is now.
#[derive(Clone, Copy)]
enum Slot {
    Here(usize),
    /// Column `column` of the table that reference `reference` of the layout points into.
    Late {
        reference: usize,
        column: usize,
    },
}

/// The columns of a node anew: the old ones by old position, and the references among the new ones.
struct Layout {
    slots: Vec<Slot>,
    references: Vec<RowReference>,
}

/// Puts the rule to a finished plan, whose columns stay as they are.
pub(crate) fn apply(plan: &mut PhysicalPlan) -> Result<()> {
    let fates = vec![LOOKED_AT; plan.output.len()];
    let layout = defer(plan, &fates)?;
    let kept = layout.slots.iter().enumerate().all(|(i, slot)| matches!(slot, Slot::Here(at) if *at == i));
    if kept { Ok(()) } else { Err(Error::internal("late materialisation changed the columns of a plan")) }
}

/// Defers columns of `plan`, whose fates above it are `fates`.
fn defer(plan: &mut PhysicalPlan, fates: &[Fate]) -> Result<Layout> {
    let before = plan.output.clone();
    let layout = defer_below(plan, fates)?;
    let rows = plan.estimated_rows;
    let here = |at: usize| matches!(layout.slots[at], Slot::Late { .. }) && fates[at].rows >= rows;
    if !(0..before.len()).any(here) {
        return Ok(layout);
    }
    let mut output = Vec::new();
    let mut anew = Anew::default();
    for (at, column) in before.into_iter().enumerate() {
        match layout.slots[at] {
            Slot::Here(below) => {
                output.push(FetchOutput::Input(below));
                anew.keep(column);
            }
            Slot::Late { reference, column: of_table } if here(at) => {
                output.push(FetchOutput::Late { reference, column: of_table });
                anew.keep(column);
            }
            Slot::Late { reference, column: of_table } => {
                let from = &layout.references[reference];
                if anew.late((0, reference), from, of_table, column.nullable) {
                    output.push(FetchOutput::Input(from.column));
                }
            }
        }
    }
    // The node goes below; what stands here meanwhile is replaced at once.
    let input =
        std::mem::replace(plan, PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, vec![], 0.0));
    let node = PhysicalNode::Fetch { input: Box::new(input), references: layout.references, output };
    *plan = PhysicalPlan::new(node, anew.output, rows);
    Ok(anew.layout)
}

/// A node's new columns while they are put together.
struct Anew {
    output: Vec<OutputColumn>,
    layout: Layout,
    /// Which input's which reference each reference of the layout is.
    origins: Vec<(usize, usize)>,
}

impl Default for Anew {
    fn default() -> Self {
        Anew { output: vec![], layout: Layout { slots: vec![], references: vec![] }, origins: vec![] }
    }
}

impl Anew {
    fn keep(&mut self, column: OutputColumn) {
        self.layout.slots.push(Slot::Here(self.output.len()));
        self.output.push(column);
    }
    /// The next old column is column `column` of what reference `origin.1` of input `origin.0` points to. True if
    /// that is a new reference, which is put out from now on.
    fn late(&mut self, origin: (usize, usize), from: &RowReference, column: usize, nullable: bool) -> bool {
        if let Some(reference) = self.origins.iter().position(|known| *known == origin) {
            self.layout.slots.push(Slot::Late { reference, column });
            self.output[self.layout.references[reference].column].nullable |= nullable;
            return false;
        }
        self.layout.slots.push(Slot::Late { reference: self.origins.len(), column });
        self.origins.push(origin);
        self.layout.references.push(RowReference { column: self.output.len(), ..from.clone() });
        self.output.push(reference_column(&from.name, nullable));
        true
    }
}

fn reference_column(table: &str, nullable: bool) -> OutputColumn {
    OutputColumn { name: format!("row of {table}"), ty: Type::BigInt, nullable, bounds: None }
}

/// The fates of an input's columns, put together from what the node above does with them.
struct Below {
    fates: Vec<Option<Fate>>,
    rows: f64,
}

impl Below {
    /// `rows`: of the node above.
    fn new(columns: usize, rows: f64) -> Self {
        Below { fates: vec![None; columns], rows }
    }
    /// The column leaves the node as one with fate `above`; the node copies it in `copies` rows.
    fn passes(&mut self, column: usize, above: Fate, copies: f64) {
        let lands_above = above.rows < self.rows;
        let fate = if lands_above {
            Fate { rows: above.rows, copies: above.copies + copies }
        } else {
            Fate { rows: self.rows, copies }
        };
        let known = &mut self.fates[column];
        *known = Some(known.map_or(fate, |k| if looked_at(&k) || k.rows <= fate.rows { k } else { fate }));
    }
    fn look_at(&mut self, expr: &Expr) {
        expr.inputs().into_iter().for_each(|at| self.fates[at] = Some(LOOKED_AT));
    }
    /// A column of which nothing is known is left as it is.
    fn finish(mut self, looked: impl IntoIterator<Item = usize>) -> Vec<Fate> {
        looked.into_iter().for_each(|at| self.fates[at] = Some(LOOKED_AT));
        self.fates.into_iter().map(|f| f.unwrap_or(LOOKED_AT)).collect()
    }
}

fn looked_at(fate: &Fate) -> bool {
    fate.rows == f64::INFINITY
}

fn defer_below(plan: &mut PhysicalPlan, fates: &[Fate]) -> Result<Layout> {
    let rows = plan.estimated_rows;
    match &mut plan.node {
        PhysicalNode::TableScan { table, name, columns, fetched, projection, .. } => {
            let (table, name) = (*table, name.clone());
            let scan = Scan { table, name, columns, fetched, projection };
            Ok(scan.defer(rows, fates, &mut plan.output))
        }
        PhysicalNode::Filter { input, predicate } => {
            let mut below = Below::new(input.output.len(), rows);
            (0..fates.len()).for_each(|at| below.passes(at, fates[at], rows));
            let below = below.finish(predicate.inputs());
            let layout = defer(input, &below)?;
            *predicate = moved(std::mem::replace(predicate, Expr::boolean(true)), &layout)?;
            Ok(same_columns(&mut plan.output, &input.output, layout))
        }
        PhysicalNode::Sort { input, keys, limit: Some(_) } => {
            let mut below = Below::new(input.output.len(), rows);
            // Rows that come late are mostly dropped on arrival; what is kept is copied.
            let copied = rows + input.estimated_rows * 0.1;
            (0..fates.len()).for_each(|at| below.passes(at, fates[at], copied));
            let looked: Vec<usize> = keys.iter().flat_map(|k| k.expr.inputs()).collect();
            let layout = defer(input, &below.finish(looked))?;
            for key in keys {
                key.expr = moved(std::mem::replace(&mut key.expr, Expr::boolean(true)), &layout)?;
            }
            Ok(same_columns(&mut plan.output, &input.output, layout))
        }
        PhysicalNode::Project { input, expressions } => {
            defer_below_project(input, expressions, &mut plan.output, rows, fates)
        }
        PhysicalNode::Aggregate { input, groups, aggregates } => {
            defer_below_aggregate(input, groups, aggregates, &mut plan.output, rows, fates)
        }
        PhysicalNode::HashJoin { probe, build, probe_keys, build_keys, residual, output, .. } => {
            let mut sides = Sides::new(probe, build, rows);
            sides.outputs(output, fates);
            probe_keys.iter().for_each(|k| sides.probe.look_at(k));
            build_keys.iter().for_each(|k| sides.build.look_at(k));
            residual.iter().for_each(|r| sides.condition(r));
            let (of_probe, of_build) = (defer_side(probe, sides.probe)?, defer_side(build, sides.build)?);
            for key in probe_keys.iter_mut() {
                *key = moved(std::mem::replace(key, Expr::boolean(true)), &of_probe)?;
            }
            for key in build_keys.iter_mut() {
                *key = moved(std::mem::replace(key, Expr::boolean(true)), &of_build)?;
            }
            if let Some(condition) = residual {
                *condition = moved_pair(condition, probe, &of_probe, &of_build)?;
            }
            Ok(joined(output, &mut plan.output, &of_probe, &of_build))
        }
        PhysicalNode::NestedLoopJoin { probe, build, predicate, output, .. } => {
            let mut sides = Sides::new(probe, build, rows);
            sides.outputs(output, fates);
            predicate.iter().for_each(|p| sides.condition(p));
            let (of_probe, of_build) = (defer_side(probe, sides.probe)?, defer_side(build, sides.build)?);
            if let Some(condition) = predicate {
                *condition = moved_pair(condition, probe, &of_probe, &of_build)?;
            }
            Ok(joined(output, &mut plan.output, &of_probe, &of_build))
        }
        // Everything else needs its columns; below it the rule begins anew.
        _ => {
            for child in plan.children_mut() {
                apply(child)?;
            }
            let slots = (0..plan.output.len()).map(Slot::Here).collect();
            Ok(Layout { slots, references: vec![] })
        }
    }
}

/// As `defer_below`, of a projection: columns that it only hands on may come later.
fn defer_below_project(
    input: &mut PhysicalPlan,
    expressions: &mut Vec<Expr>,
    output: &mut Vec<OutputColumn>,
    rows: f64,
    fates: &[Fate],
) -> Result<Layout> {
    let mut below = Below::new(input.output.len(), rows);
    for (expr, fate) in expressions.iter().zip(fates) {
        if let Some(at) = passed(expr, &input.output) {
            below.passes(at, *fate, 0.0);
        }
    }
    let looked = expressions.iter().filter(|e| passed(e, &input.output).is_none());
    let looked: Vec<usize> = looked.flat_map(Expr::inputs).collect();
    let before = input.output.clone();
    let layout = defer(input, &below.finish(looked))?;
    let mut anew = Anew::default();
    let mut made = Vec::with_capacity(expressions.len());
    for (expr, column) in std::mem::take(expressions).into_iter().zip(&*output) {
        match passed(&expr, &before).map(|at| layout.slots[at]) {
            Some(Slot::Late { reference, column: of_table }) => {
                let from = &layout.references[reference];
                if anew.late((0, reference), from, of_table, column.nullable) {
                    made.push(Expr::input(from.column, Type::BigInt));
                }
            }
            _ => {
                made.push(moved(expr, &layout)?);
                anew.keep(column.clone());
            }
        }
    }
    *expressions = made;
    *output = anew.output;
    Ok(anew.layout)
}

/// As `defer_below`, of an aggregation: any value of a column that depends on the group may come later.
fn defer_below_aggregate(
    input: &mut PhysicalPlan,
    groups: &mut [Expr],
    aggregates: &mut Vec<AggregateCall>,
    output: &mut Vec<OutputColumn>,
    rows: f64,
    fates: &[Fate],
) -> Result<Layout> {
    let mut below = Below::new(input.output.len(), rows);
    let read = input.estimated_rows;
    for (call, fate) in aggregates.iter().zip(&fates[groups.len()..]) {
        if let Some(at) = carried(call, &input.output) {
            below.passes(at, *fate, 2.0 * read);
        }
    }
    for expr in groups.iter() {
        below.look_at(expr);
    }
    let computed = aggregates.iter().filter(|c| carried(c, &input.output).is_none());
    let computed = computed.flat_map(|c| c.argument.iter().chain(&c.filter)).flat_map(Expr::inputs);
    let below = below.finish(computed.collect::<Vec<_>>());
    let before = input.output.clone();
    let layout = defer(input, &below)?;
    let mut anew = Anew::default();
    for (group, column) in groups.iter_mut().zip(&*output) {
        *group = moved(std::mem::replace(group, Expr::boolean(true)), &layout)?;
        anew.keep(column.clone());
    }
    let mut made: Vec<AggregateCall> = Vec::with_capacity(aggregates.len());
    for (mut call, column) in std::mem::take(aggregates).into_iter().zip(&output[groups.len()..]) {
        match carried(&call, &before).map(|at| layout.slots[at]) {
            Some(Slot::Late { reference, column: of_table }) => {
                let from = &layout.references[reference];
                if anew.late((0, reference), from, of_table, column.nullable) {
                    call.argument = Some(Expr::input(from.column, Type::BigInt));
                    made.push(AggregateCall { ty: Type::BigInt, ..call });
                }
            }
            _ => {
                call.argument = call.argument.map(|a| moved(a, &layout)).transpose()?;
                call.filter = call.filter.map(|f| moved(f, &layout)).transpose()?;
                made.push(call);
                anew.keep(column.clone());
            }
        }
    }
    *aggregates = made;
    *output = anew.output;
    Ok(anew.layout)
}

/// A scan's fields.
struct Scan<'a> {
    table: TableId,
    name: String,
    columns: &'a mut Vec<usize>,
    fetched: &'a mut Vec<OutputColumn>,
    projection: &'a mut Vec<usize>,
}

impl Scan<'_> {
    fn defer(self, rows: f64, fates: &[Fate], output: &mut Vec<OutputColumn>) -> Layout {
        let gain = |at: usize| {
            let (fate, ty) = (&fates[at], output[at].ty);
            // A row's reference, which a statement that changes rows asks for, is no column to be fetched by one.
            if fate.rows >= rows || self.columns[self.projection[at]] == ROW_REFERENCE {
                return 0.0;
            }
            copy(ty) * (rows + fate.copies) - LATE_FETCH * copy(ty).max(1.0) * fate.rows
        };
        let late: Vec<bool> = (0..output.len()).map(|at| gain(at) > 0.0).collect();
        let deferred = || (0..output.len()).filter(|at| late[*at]);
        let gained: f64 = deferred().map(gain).sum();
        let carried = deferred().map(|at| rows + fates[at].copies).fold(0.0, f64::max);
        let pays = gained > REFERENCE_COPY * carried;
        let from = RowReference { column: 0, table: self.table, name: self.name };
        let mut anew = Anew::default();
        let mut projection = Vec::with_capacity(output.len());
        for (at, column) in std::mem::take(output).into_iter().enumerate() {
            let place = self.projection[at];
            if !(pays && late[at]) {
                projection.push(place);
                anew.keep(column);
            } else if anew.late((0, 0), &from, self.columns[place], false) {
                projection.push(self.columns.len());
            }
        }
        if !anew.origins.is_empty() {
            self.columns.push(ROW_REFERENCE);
            self.fetched.push(reference_column(&from.name, false));
        }
        *self.projection = projection;
        *output = anew.output;
        anew.layout
    }
}

/// A join's two inputs.
struct Sides {
    probe: Below,
    build: Below,
    probe_columns: usize,
    rows: f64,
    build_rows: f64,
}

impl Sides {
    fn new(probe: &PhysicalPlan, build: &PhysicalPlan, rows: f64) -> Self {
        let probe_columns = probe.output.len();
        Sides {
            probe: Below::new(probe_columns, rows),
            build: Below::new(build.output.len(), rows),
            probe_columns,
            rows,
            build_rows: build.estimated_rows,
        }
    }
    fn outputs(&mut self, output: &[JoinOutput], fates: &[Fate]) {
        for (from, fate) in output.iter().zip(fates) {
            match *from {
                JoinOutput::Probe(at) => self.probe.passes(at, *fate, self.rows),
                // Collected, put together, and taken from there.
                JoinOutput::Build(at) => self.build.passes(at, *fate, self.rows + 2.0 * self.build_rows),
                JoinOutput::Mark => {}
            }
        }
    }
    /// A condition over the probe's columns followed by the build's.
    fn condition(&mut self, condition: &Expr) {
        for at in condition.inputs() {
            match at.checked_sub(self.probe_columns) {
                None => self.probe.fates[at] = Some(LOOKED_AT),
                Some(of_build) => self.build.fates[of_build] = Some(LOOKED_AT),
            }
        }
    }
}

/// A side of a join with its columns' layout and their number before.
struct Side {
    layout: Layout,
    columns_before: usize,
}

fn defer_side(plan: &mut PhysicalPlan, below: Below) -> Result<Side> {
    let columns_before = plan.output.len();
    Ok(Side { layout: defer(plan, &below.finish([]))?, columns_before })
}

fn joined(
    output: &mut Vec<JoinOutput>,
    columns: &mut Vec<OutputColumn>,
    probe: &Side,
    build: &Side,
) -> Layout {
    let mut anew = Anew::default();
    let mut made = Vec::with_capacity(output.len());
    for (from, column) in output.iter().zip(std::mem::take(columns)) {
        let (side, slot) = match *from {
            JoinOutput::Probe(at) => (0, probe.layout.slots[at]),
            JoinOutput::Build(at) => (1, build.layout.slots[at]),
            JoinOutput::Mark => {
                made.push(JoinOutput::Mark);
                anew.keep(column);
                continue;
            }
        };
        let place = |at| if side == 0 { JoinOutput::Probe(at) } else { JoinOutput::Build(at) };
        match slot {
            Slot::Here(at) => {
                made.push(place(at));
                anew.keep(column);
            }
            Slot::Late { reference, column: of_table } => {
                let layout = if side == 0 { &probe.layout } else { &build.layout };
                let from = &layout.references[reference];
                if anew.late((side, reference), from, of_table, column.nullable) {
                    made.push(place(from.column));
                }
            }
        }
    }
    *output = made;
    *columns = anew.output;
    anew.layout
}

/// A node that hands its input's columns on: what it said of them stays true.
fn same_columns(output: &mut Vec<OutputColumn>, below: &[OutputColumn], layout: Layout) -> Layout {
    let mut anew: Vec<OutputColumn> = below.to_vec();
    for (column, slot) in std::mem::take(output).into_iter().zip(&layout.slots) {
        if let Slot::Here(at) = slot {
            anew[*at] = column;
        }
    }
    *output = anew;
    layout
}

/// The input column that an expression is, type and all.
fn passed(expr: &Expr, input: &[OutputColumn]) -> Option<usize> {
    match expr.kind {
        ExprKind::Input(at) if input[at].ty == expr.ty => Some(at),
        _ => None,
    }
}

/// The input column that a call carries along: one without NULLs, for any row's value is as good only then.
fn carried(call: &AggregateCall, input: &[OutputColumn]) -> Option<usize> {
    let plain = call.function == AggregateFunction::AnyValue && !call.distinct && call.filter.is_none();
    let at = passed(call.argument.as_ref().filter(|_| plain)?, input)?;
    (!input[at].nullable && call.ty == input[at].ty).then_some(at)
}

/// `expr` over the new columns of its inputs.
fn moved(expr: Expr, inputs: &dyn Places) -> Result<Expr> {
    let mut lost = false;
    let expr = expr.transform(&mut |e| match e.kind {
        ExprKind::Input(at) => match inputs.place(at) {
            Some(place) => Expr::input(place, e.ty),
            None => {
                lost = true;
                e
            }
        },
        _ => e,
    });
    if lost { Err(Error::internal("a column that is looked at was deferred")) } else { Ok(expr) }
}

fn moved_pair(condition: &mut Expr, probe: &PhysicalPlan, of_probe: &Side, of_build: &Side) -> Result<Expr> {
    let pair = Pair { probe: of_probe, build: of_build, probe_columns: probe.output.len() };
    moved(std::mem::replace(condition, Expr::boolean(true)), &pair)
}

/// Where an old input column is.
trait Places {
    fn place(&self, at: usize) -> Option<usize>;
}

impl Places for Layout {
    fn place(&self, at: usize) -> Option<usize> {
        match self.slots.get(at)? {
            Slot::Here(place) => Some(*place),
            Slot::Late { .. } => None,
        }
    }
}

impl Places for Side {
    fn place(&self, at: usize) -> Option<usize> {
        self.layout.place(at)
    }
}

/// The probe's columns followed by the build's.
struct Pair<'a> {
    probe: &'a Side,
    build: &'a Side,
    /// How many columns the probe has at present.
    probe_columns: usize,
}

impl Places for Pair<'_> {
    fn place(&self, at: usize) -> Option<usize> {
        match at.checked_sub(self.probe.columns_before) {
            None => self.probe.place(at),
            Some(of_build) => self.build.place(of_build).map(|place| place + self.probe_columns),
        }
    }
}
