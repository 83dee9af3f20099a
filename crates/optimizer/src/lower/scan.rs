//! Scans: which columns are fetched, which conjuncts the blocks evaluate, what is left to filters, and how many rows
//! to expect.
//!
//! Called by `lower` for each scan of the logical plan. A conjunct that a block can evaluate on codes
//! (`ColumnPredicate`) leaves the filters; filters are ordered by cost and selectivity.

use plan::{
    ColumnId, Expr, ExprKind, FileSource, MaterializedSource, OutputColumn, PhysicalNode, PhysicalPlan,
    Pruning, ScanSource, Series,
};
use types::{ColumnPredicate, ColumnStatistics, PredicateTree, Result, Value};

use super::predicate::{Merged, extract, extract_tree, is_never};
use super::{Dependency, Key, Relation, empty, never_true, order_filters};
use crate::columns::ColumnSet;
use crate::estimate::{Facts, at_least_one, natural};
use crate::planner::Planner;
use crate::statistics::{Sample, TableInfo};

/// Columns with more values than this have too many for a sample to count.
const DISTINCT_COUNTED_MAX: f64 = 2_000.0;

/// Rows assumed of a source that does not say.
const ROWS_UNKNOWN: f64 = 10_000.0;

/// Rows in all files of a source; a guess where they do not say.
pub(crate) fn rows_in_files(file: &FileSource) -> f64 {
    file.rows.map_or(ROWS_UNKNOWN * 10.0, |rows| rows as f64)
}

impl Planner<'_> {
    /// Lowers a scan with the filters above it. Columns that only filters need are not delivered.
    pub(crate) fn lower_scan(
        &mut self,
        source: ScanSource,
        columns: Vec<(ColumnId, usize)>,
        filters: Vec<Expr>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut conjuncts = Vec::with_capacity(filters.len());
        filters.into_iter().for_each(|f| f.split_conjuncts(&mut conjuncts));
        match source {
            ScanSource::Table { table, name, sample } => {
                let info = self.table(table);
                let total = self.learn(&columns, info.as_deref());
                let first = columns.first().map(|(id, _)| *id);
                let remark = self.wide_remarks.iter().find(|(id, _)| Some(*id) == first);
                let remark = remark.map(|(_, remark)| remark.clone());
                let mut relation =
                    self.lower_table(table, name, columns, conjuncts, needed, info.as_deref(), total)?;
                relation.plan.remarks.extend(remark);
                if let (Some(taken), PhysicalNode::TableScan { sample, .. }) =
                    (sample, &mut relation.plan.node)
                {
                    *sample = Some(taken);
                    relation.plan.estimated_rows = at_least_one(relation.plan.estimated_rows * taken.share);
                }
                Ok(relation)
            }
            ScanSource::File(file) => {
                let total = rows_in_files(&file);
                self.learn_file(&columns, &file, total);
                let kept = self.fetched(&columns, &conjuncts, needed);
                let relation =
                    self.plain_scan(&kept, total, |columns, fetched, projection| PhysicalNode::FileScan {
                        file,
                        columns,
                        fetched,
                        filters: vec![],
                        pruning: vec![],
                        runtime_filters: vec![],
                        projection,
                    });
                self.filter_file(relation, conjuncts, needed)
            }
            ScanSource::Materialized(source) => {
                let kept = self.fetched(&columns, &conjuncts, needed);
                let relation = self.lower_materialized(&source, &kept);
                self.filter(relation, conjuncts)
            }
            ScanSource::Series(series) => {
                let kept = self.fetched(&columns, &conjuncts, needed);
                let relation = self.lower_series(series, &kept);
                self.filter(relation, conjuncts)
            }
            ScanSource::Generator { suite, table, scale } => {
                let total = ROWS_UNKNOWN * scale.max(1.0);
                let kept = self.fetched(&columns, &conjuncts, needed);
                let relation = self.plain_scan(&kept, total, |columns, _, _| PhysicalNode::Generate {
                    suite,
                    table,
                    scale,
                    columns,
                });
                self.filter(relation, conjuncts)
            }
        }
    }

    /// Numbers in a row: all about them is known.
    fn lower_series(&mut self, series: Series, kept: &[(ColumnId, usize)]) -> Relation {
        let rows = series.rows as f64;
        let mut relation =
            self.plain_scan(kept, rows, |columns, _, _| PhysicalNode::Series { series, columns });
        for (position, (id, _)) in kept.iter().enumerate() {
            let bound = |value: i128| natural(&Value::from_i128(value, series.ty.physical())?, series.ty);
            let (low, high) = series.bounds().map_or((None, None), |(l, h)| (bound(l), bound(h)));
            *self.facts_mut(*id) = Facts { distinct: Some(rows.max(1.0)), low, high, ..Facts::UNKNOWN };
            let column = &mut relation.plan.output[position];
            column.nullable = false;
            if plan::bounds::has_bounds(series.ty) {
                column.bounds = series.bounds();
            }
            relation.add_key(Key { columns: vec![*id], nulls_repeat: false, distinct: rows.max(1.0) });
        }
        relation
    }

    /// The rows of a common subplan: as narrow as they were made, and as unique.
    fn lower_materialized(&mut self, source: &MaterializedSource, kept: &[(ColumnId, usize)]) -> Relation {
        let index = source.index;
        let mut relation =
            self.plain_scan(kept, source.rows, |columns, _, _| PhysicalNode::Materialized { index, columns });
        for (position, (id, at)) in kept.iter().enumerate() {
            let column = OutputColumn {
                name: relation.plan.output[position].name.clone(),
                ..source.columns[*at].clone()
            };
            let bound = |value: i128| Value::from_i128(value, column.ty.physical());
            let (low, high) = column.bounds.map_or((None, None), |(l, h)| (bound(l), bound(h)));
            *self.facts_mut(*id) = Facts {
                distinct: source.distinct[*at].map(|d| d.min(source.rows.max(1.0))),
                low: low.and_then(|v| natural(&v, column.ty)),
                high: high.and_then(|v| natural(&v, column.ty)),
                ..Facts::UNKNOWN
            };
            relation.plan.output[position] = column;
        }
        for key in &source.unique {
            let id = |at: &usize| kept.iter().find(|(_, own)| own == at).map(|(id, _)| *id);
            if let Some(columns) = key.iter().map(id).collect() {
                relation.add_key(Key { columns, nulls_repeat: false, distinct: source.rows.max(1.0) });
            }
        }
        relation
    }

    /// Records what the table's statistics say of the scanned columns; the table's row count.
    fn learn(&mut self, columns: &[(ColumnId, usize)], info: Option<&TableInfo>) -> f64 {
        let Some(info) = info else {
            return ROWS_UNKNOWN;
        };
        let rows = info.rows as f64;
        for (id, at) in columns {
            let Some(statistics) = info.columns.get(*at) else { continue };
            let ty = self.columns.get(*id).ty;
            *self.facts_mut(*id) = Facts {
                distinct: Some(if statistics.unique {
                    rows.max(1.0)
                } else {
                    (statistics.distinct as f64).min(rows).max(1.0)
                }),
                low: natural(&statistics.min, ty),
                high: natural(&statistics.max, ty),
                // Deleted rows are counted among the NULLs, not among the rows.
                null_fraction: if rows > 0.0 { (statistics.null_count as f64 / rows).min(1.0) } else { 0.0 },
                moments: None,
            };
        }
        rows
    }

    /// Records what a file's metadata lets expect of the scanned columns.
    fn learn_file(&mut self, columns: &[(ColumnId, usize)], file: &FileSource, rows: f64) {
        for (id, at) in columns {
            let Some(statistics) = file.statistics.get(*at) else { continue };
            let ty = self.columns.get(*id).ty;
            let zone = &statistics.zone;
            let nulls = zone.null_count.map_or(0.0, |nulls| nulls as f64 / rows.max(1.0));
            *self.facts_mut(*id) = Facts {
                distinct: statistics.distinct.map(|d| (d as f64).min(rows).max(1.0)),
                low: zone.min.as_ref().and_then(|v| natural(v, ty)),
                high: zone.max.as_ref().and_then(|v| natural(v, ty)),
                null_fraction: nulls.min(1.0),
                moments: None,
            };
        }
    }

    /// The source's columns that are needed above or by a filter.
    fn fetched(
        &self,
        columns: &[(ColumnId, usize)],
        conjuncts: &[Expr],
        needed: &ColumnSet,
    ) -> Vec<(ColumnId, usize)> {
        if !self.settings.projection_push_down {
            return columns.to_vec();
        }
        let mut all = needed.clone();
        conjuncts.iter().for_each(|c| all.add_expr(c));
        columns.iter().filter(|(id, _)| all.contains(*id)).copied().collect()
    }

    fn plain_scan(
        &self,
        kept: &[(ColumnId, usize)],
        rows: f64,
        node: impl FnOnce(Vec<usize>, Vec<OutputColumn>, Vec<usize>) -> PhysicalNode,
    ) -> Relation {
        let fetched: Vec<OutputColumn> = kept.iter().map(|(id, _)| self.output_column(*id)).collect();
        let positions = kept.iter().map(|(_, at)| *at).collect();
        let node = node(positions, fetched.clone(), (0..kept.len()).collect());
        Relation::new(PhysicalPlan::new(node, fetched, rows), kept.iter().map(|(id, _)| *id).collect())
    }

    /// Filters of a file scan are the scan's own: `formats` may skip whole row groups by them.
    fn filter_file(
        &mut self,
        mut relation: Relation,
        mut conjuncts: Vec<Expr>,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        if conjuncts.iter().any(never_true) {
            return Ok(empty(relation));
        }
        let selectivity = self.all_of(&conjuncts);
        order_filters(&mut conjuncts, |e| self.selectivity(e));
        let refutable = conjuncts.iter().filter_map(|c| refutable(c, &relation.columns)).collect();
        let mut bound = Vec::with_capacity(conjuncts.len());
        for conjunct in conjuncts {
            bound.push(self.inputs(&relation).bind(conjunct)?);
        }
        let left = self.leaving(&relation.columns, needed);
        if let PhysicalNode::FileScan { filters, pruning, projection, .. } = &mut relation.plan.node {
            *filters = bound;
            *pruning = refutable;
            *projection = left.clone();
        }
        relation.plan.output = left.iter().map(|at| relation.plan.output[*at].clone()).collect();
        relation.columns = left.iter().map(|at| relation.columns[*at]).collect::<Vec<_>>().into();
        relation.plan.estimated_rows = at_least_one(relation.plan.estimated_rows * selectivity);
        Ok(relation)
    }

    /// Positions of the fetched columns that leave the scan.
    fn leaving(&self, fetched: &[ColumnId], needed: &ColumnSet) -> Vec<usize> {
        (0..fetched.len())
            .filter(|at| !self.settings.projection_push_down || needed.contains(fetched[*at]))
            .collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn lower_table(
        &mut self,
        table: plan::TableId,
        name: String,
        all: Vec<(ColumnId, usize)>,
        conjuncts: Vec<Expr>,
        needed: &ColumnSet,
        info: Option<&TableInfo>,
        total: f64,
    ) -> Result<Relation> {
        let kept = self.fetched(&all, &conjuncts, needed);
        let ids: Vec<ColumnId> = kept.iter().map(|(id, _)| *id).collect();
        let columns: Vec<usize> = kept.iter().map(|(_, at)| *at).collect();
        let mut fetched: Vec<OutputColumn> = ids.iter().map(|id| self.output_column(*id)).collect();
        for (column, at) in fetched.iter_mut().zip(&columns) {
            if let Some(statistics) = info.and_then(|i| i.columns.get(*at)) {
                column.bounds = bounds_of(column, statistics);
                // Statistics are those of the snapshot that the statement reads.
                column.nullable &= statistics.null_count > 0;
            }
        }
        let node = PhysicalNode::Values { rows: vec![] };
        let unfiltered = Relation::new(PhysicalPlan::new(node, fetched.clone(), 0.0), ids.clone());
        if conjuncts.iter().any(never_true) {
            return Ok(unfiltered);
        }
        // Few values at all, and wanted above: which of them the filters leave says how many groups there will be.
        let counted: Vec<usize> = (0..ids.len())
            .filter(|at| {
                let few = self.facts(ids[*at]).distinct;
                needed.contains(ids[*at]) && few.is_some_and(|d| (2.0..=DISTINCT_COUNTED_MAX).contains(&d))
            })
            .collect();
        let estimate = self.scan_estimate(table, &unfiltered, &columns, &conjuncts, counted)?;
        let mut remarks = Vec::new();
        let shares = conjuncts.into_iter().zip(estimate.each.iter().copied());
        let kept = self.worth_testing(shares, &mut remarks);
        let (predicates, rest) = if self.settings.block_predicates {
            block_predicates(kept, &ids, &fetched)
        } else {
            (vec![], kept)
        };
        let (trees, rest) = match self.settings.block_predicates {
            true => block_trees(rest, &ids),
            false => (vec![], rest),
        };
        if predicates.iter().any(|(_, p)| is_never(p)) {
            return Ok(unfiltered);
        }
        for (at, predicate) in &predicates {
            self.restrict(ids[*at], &mut fetched[*at], predicate, total);
        }
        for (at, distinct) in &estimate.distinct {
            let facts = self.facts_mut(ids[*at]);
            facts.distinct = Some(facts.distinct.map_or(*distinct, |d| d.min(*distinct)).max(1.0));
        }
        let mut rest: Vec<(Expr, f64)> = rest;
        // `order_filters` asks by expression; the estimates are looked up by identity of the conjunct.
        let known = rest.clone();
        let mut filters: Vec<Expr> = rest.drain(..).map(|(e, _)| e).collect();
        order_filters(&mut filters, |e| known.iter().find(|(k, _)| k == e).map_or(0.5, |(_, s)| *s));
        let mut typed = unfiltered;
        typed.plan.output.clone_from(&fetched);
        let mut bound = Vec::with_capacity(filters.len());
        for filter in filters {
            bound.push(self.inputs(&typed).bind(filter)?);
        }
        let projection = self.leaving(&ids, needed);
        let output: Vec<OutputColumn> = projection.iter().map(|at| fetched[*at].clone()).collect();
        let out_ids = projection.iter().map(|at| ids[*at]).collect();
        let filtered = !(predicates.is_empty() && trees.is_empty() && bound.is_empty());
        let node = PhysicalNode::TableScan {
            table,
            name,
            sample: None,
            columns,
            fetched,
            predicates,
            trees,
            filters: bound,
            runtime_filters: vec![],
            projection,
        };
        let rows = if filtered { at_least_one(total * estimate.all).min(total) } else { total };
        let mut relation = Relation::new(PhysicalPlan::new(node, output, rows), out_ids);
        relation.plan.remarks = remarks;
        if let Some(info) = info {
            add_keys(&mut relation, &all, info);
        }
        Ok(relation)
    }

    /// The conjuncts that are tested, each with the share of rows that pass. Partial predicates that would let most rows
    /// pass are left out.
    fn worth_testing(
        &mut self,
        conjuncts: impl Iterator<Item = (Expr, f64)>,
        remarks: &mut Vec<String>,
    ) -> Vec<(Expr, f64)> {
        let mut kept = Vec::new();
        for (conjunct, share) in conjuncts {
            if self.partial_predicates.contains(&conjunct) {
                let pays = partial_pays(&conjunct, share);
                let verdict = if pays { "pushed down" } else { "not worth testing" };
                let percent = 100.0 * share;
                remarks.push(format!(
                    "partial predicate, {percent:.1} % expected to pass, {verdict}: {}",
                    self.shown(&conjunct)
                ));
                if !pays {
                    continue;
                }
            }
            if let Some((id, _)) = extract(&conjunct)
                && self.facts(id).low.is_none()
            {
                // Text has no bounds to measure a range by; values are as many as rows are.
                let facts = self.facts_mut(id);
                facts.distinct = facts.distinct.map(|d| (d * share).max(1.0));
            }
            kept.push((conjunct, share));
        }
        kept
    }

    /// A column's facts and bounds after a predicate on it.
    fn restrict(&mut self, id: ColumnId, column: &mut OutputColumn, predicate: &ColumnPredicate, rows: f64) {
        let ty = column.ty;
        if !matches!(predicate, ColumnPredicate::IsNull) {
            column.nullable = false;
        }
        let facts = self.facts_mut(id);
        match predicate {
            ColumnPredicate::Range { low, high } => {
                let integer = |b: &types::Bound| b.value.as_i128();
                if plan::bounds::has_bounds(ty) {
                    let (mut least, mut greatest) =
                        column.bounds.map_or((None, None), |(l, h)| (Some(l), Some(h)));
                    if let Some(l) = low.as_ref().and_then(integer) {
                        least = Some(least.map_or(l, |old| old.max(l)));
                    }
                    if let Some(h) = high.as_ref().and_then(integer) {
                        greatest = Some(greatest.map_or(h, |old| old.min(h)));
                    }
                    // An empty interval bounds no row at all; it must still be an interval.
                    column.bounds = least.zip(greatest).map(|(l, h)| (l, h.max(l)));
                }
                let span = facts.low.zip(facts.high);
                let l = low.as_ref().and_then(|b| natural(&b.value, ty));
                let h = high.as_ref().and_then(|b| natural(&b.value, ty));
                let is_point = low.is_some() && low == high;
                if let Some((old_low, old_high)) = span {
                    let new =
                        (l.map_or(old_low, |l| l.max(old_low)), h.map_or(old_high, |h| h.min(old_high)));
                    if old_high > old_low {
                        let kept = ((new.1 - new.0) / (old_high - old_low)).clamp(0.0, 1.0);
                        facts.distinct = facts.distinct.map(|d| (d * kept).max(1.0));
                    }
                    (facts.low, facts.high) = (Some(new.0), Some(new.1.max(new.0)));
                }
                if is_point {
                    facts.distinct = Some(1.0);
                }
            }
            ColumnPredicate::In(values) => {
                let count = values.len() as f64;
                facts.distinct = Some(facts.distinct.map_or(count, |d| d.min(count)));
                let ends = values.first().zip(values.last()).and_then(|(a, b)| a.as_i128().zip(b.as_i128()));
                if let (Some((l, h)), true) = (ends, plan::bounds::has_bounds(ty)) {
                    column.bounds =
                        Some(column.bounds.map_or((l, h), |(a, b)| (a.max(l), b.min(h).max(a.max(l)))));
                }
            }
            _ => {}
        }
        facts.null_fraction = 0.0;
        facts.distinct = facts.distinct.map(|d| d.min(rows.max(1.0)));
    }

    /// The fraction of rows that pass, by sampling if that is possible.
    fn scan_estimate(
        &mut self,
        table: plan::TableId,
        unfiltered: &Relation,
        columns: &[usize],
        conjuncts: &[Expr],
        counted: Vec<usize>,
    ) -> Result<ScanEstimate> {
        let guessed: Vec<f64> = conjuncts.iter().map(|c| self.selectivity(c)).collect();
        let all = self.all_of(conjuncts);
        if conjuncts.is_empty() || !self.settings.sampling {
            return Ok(ScanEstimate { all, each: guessed, distinct: vec![] });
        }
        // A scalar subquery that has not run yet cannot be evaluated, nor a parameter; its guess stands.
        let constant = |e: &Expr| {
            let mut known = true;
            e.visit(&mut |e| {
                known &= !matches!(e.kind, ExprKind::ScalarSubquery(_) | ExprKind::Parameter(_));
            });
            known
        };
        let mut asked = Vec::with_capacity(conjuncts.len());
        let mut bound = Vec::with_capacity(conjuncts.len());
        for (i, conjunct) in conjuncts.iter().enumerate() {
            if constant(conjunct) {
                asked.push(i);
                bound.push(self.inputs(unfiltered).bind(conjunct.clone())?);
            }
        }
        if asked.is_empty() {
            return Ok(ScanEstimate { all, each: guessed, distinct: vec![] });
        }
        let even: Vec<bool> = conjuncts.iter().map(|c| self.is_even_guess(c)).collect();
        // A sample would have to be read, and would show no such row.
        if guessed.iter().zip(&even).any(|(guess, even)| *even && *guess < RARE) {
            return Ok(ScanEstimate { all, each: guessed, distinct: vec![] });
        }
        let Some(sample) = self.sample(table, columns, bound, counted.clone()) else {
            return Ok(ScanEstimate { all, each: guessed, distinct: vec![] });
        };
        let mut estimate = from_sample(&sample, &asked, guessed, &even);
        let found = counted.into_iter().zip(&sample.distinct);
        estimate.distinct = found.filter_map(|(at, d)| d.map(|d| (at, d))).collect();
        Ok(estimate)
    }
}

/// What statistics of the columns can refute of a conjunct: comparisons with constants, and AND and OR of them.
fn refutable(conjunct: &Expr, columns: &[ColumnId]) -> Option<Pruning> {
    if let Some((id, predicates)) = extract(conjunct) {
        let column = columns.iter().position(|c| *c == id)?;
        let parts = predicates.into_iter().map(|predicate| Pruning::Column(column, predicate)).collect();
        return Some(Pruning::All(parts));
    }
    match &conjunct.kind {
        ExprKind::And(parts) => {
            let parts: Vec<Pruning> = parts.iter().filter_map(|part| refutable(part, columns)).collect();
            (!parts.is_empty()).then_some(Pruning::All(parts))
        }
        ExprKind::Or(parts) => {
            Some(Pruning::Any(parts.iter().map(|part| refutable(part, columns)).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

struct ScanEstimate {
    all: f64,
    /// One estimate a conjunct.
    each: Vec<f64>,
    /// Distinct values among the rows that pass, by position of the column.
    distinct: Vec<(usize, f64)>,
}

/// Rows as rare as this, by distinct counts, are not looked for in samples of some thousand rows: what `blend` makes
/// of such a guess and a sample without hits is the guess within a hundredth.
const RARE: f64 = 1e-5;

/// Hits that a guess by distinct counts is worth against a sample without hits; the more hits, the less it counts.
const GUESS_HITS: f64 = 4.0;

/// A share of `tested` rows, of which `passed` did, and which was expected to be `guess`. Rare values are the trouble
/// of small samples: two hits in two thousand rows may stand for one or for four in a thousand.
fn blend(passed: u64, tested: f64, guess: f64) -> f64 {
    if guess <= 0.0 {
        return passed as f64 / tested;
    }
    let hits = passed as f64;
    let weight = GUESS_HITS / guess / (1.0 + hits / GUESS_HITS);
    (hits + weight * guess) / (tested + weight)
}

/// Puts sampled fractions in the place of guesses. Where no sampled row passed, the truth lies somewhere below one
/// row in the sample, and the product of the conjuncts' own fractions says roughly where. `even` tells the conjuncts
/// whose guess rests on distinct counts.
fn from_sample(sample: &Sample, asked: &[usize], guessed: Vec<f64>, even: &[bool]) -> ScanEstimate {
    let tested = sample.rows_tested as f64;
    if tested < 1.0 {
        let all = guessed.iter().product();
        return ScanEstimate { all, each: guessed, distinct: vec![] };
    }
    let mut each = guessed;
    let mut together = 1.0;
    for (filter, passed) in asked.iter().zip(&sample.filters_passed) {
        let fraction = if even[*filter] {
            blend(*passed, tested, each[*filter])
        } else if *passed == 0 {
            each[*filter].min(0.5 / tested)
        } else {
            *passed as f64 / tested
        };
        each[*filter] = fraction;
        together *= fraction;
    }
    let mut all = match sample.rows_passed {
        0 if !asked.iter().all(|f| even[*f]) => together.min(0.5 / tested),
        passed if passed as f64 <= 4.0 * GUESS_HITS => blend(passed, tested, together),
        passed => passed as f64 / tested,
    };
    for (i, fraction) in each.iter().enumerate() {
        if !asked.contains(&i) {
            all *= fraction;
        }
    }
    ScanEstimate { all, each, distinct: vec![] }
}

/// A partial predicate that more rows than this pass is not worth testing.
const PARTIAL_PASSING_MAX: f64 = 0.9;
/// What a row dropped by a scan saves above it, in units of `cost`: it would be fetched, probed and compared.
const DROPPED_ROW_SAVES: f64 = 100.0;

/// Whether testing a predicate that is implied by a later one saves more than it costs.
fn partial_pays(predicate: &Expr, passing: f64) -> bool {
    passing <= PARTIAL_PASSING_MAX
        && (1.0 - passing) * DROPPED_ROW_SAVES >= crate::cost::evaluation(predicate)
}

type Placed = (Vec<(usize, ColumnPredicate)>, Vec<(Expr, f64)>);

/// Splits conjuncts into predicates for the blocks, most selective column first, and the rest.
fn block_predicates(conjuncts: Vec<(Expr, f64)>, ids: &[ColumnId], fetched: &[OutputColumn]) -> Placed {
    let mut merged: Vec<(usize, f64, Merged)> = Vec::new();
    let mut rest = Vec::new();
    for (conjunct, selectivity) in conjuncts {
        let found = extract(&conjunct)
            .and_then(|(id, predicates)| Some((ids.iter().position(|c| *c == id)?, predicates)));
        let Some((at, predicates)) = found else {
            rest.push((conjunct, selectivity));
            continue;
        };
        let slot = match merged.iter().position(|(column, ..)| *column == at) {
            Some(slot) => slot,
            None => {
                merged.push((at, 1.0, Merged::default()));
                merged.len() - 1
            }
        };
        merged[slot].1 *= selectivity;
        predicates.into_iter().for_each(|p| merged[slot].2.add(p));
    }
    merged.sort_by(|a, b| a.1.total_cmp(&b.1));
    let predicates = merged
        .into_iter()
        .flat_map(|(at, _, merged)| {
            let nullable = fetched[at].nullable;
            merged.finish(nullable).into_iter().map(move |p| (at, p))
        })
        .collect();
    (predicates, rest)
}

/// Splits conjuncts into disjunctions over several columns for the blocks, most selective first, and the rest.
fn block_trees(conjuncts: Vec<(Expr, f64)>, ids: &[ColumnId]) -> (Vec<PredicateTree>, Vec<(Expr, f64)>) {
    let (mut trees, mut rest) = (Vec::new(), Vec::new());
    for (conjunct, selectivity) in conjuncts {
        match extract_tree(&conjunct, ids) {
            Some(tree) => trees.push((tree, selectivity)),
            None => rest.push((conjunct, selectivity)),
        }
    }
    trees.sort_by(|a, b| a.1.total_cmp(&b.1));
    (trees.into_iter().map(|(tree, _)| tree).collect(), rest)
}

fn bounds_of(column: &OutputColumn, statistics: &ColumnStatistics) -> Option<(i128, i128)> {
    if !plan::bounds::has_bounds(column.ty) {
        return None;
    }
    statistics.min.as_i128().zip(statistics.max.as_i128())
}

/// Declared and observed keys, and what they determine.
fn add_keys(relation: &mut Relation, columns: &[(ColumnId, usize)], info: &TableInfo) {
    let id_of = |at: usize| columns.iter().find(|(_, c)| *c == at).map(|(id, _)| *id);
    let observed = info.columns.iter().enumerate().filter(|(_, c)| c.unique).map(|(at, _)| vec![at]);
    // One row is unique whatever its columns; that is no key worth the name, but it is true.
    let mut seen: Vec<Vec<usize>> = Vec::new();
    for key in info.unique_keys.iter().cloned().chain(observed) {
        if seen.contains(&key) {
            continue;
        }
        let ids: Option<Vec<ColumnId>> = key.iter().map(|at| id_of(*at)).collect();
        let Some(ids) = ids else { continue };
        let has_nulls = key.iter().any(|at| info.columns.get(*at).is_none_or(|c| c.null_count > 0));
        if !has_nulls {
            let to = columns.iter().map(|(id, _)| *id).filter(|id| !ids.contains(id)).collect();
            relation.dependencies.push(Dependency { from: ids.clone(), to, survives_nulls: true });
        }
        relation.add_key(Key { columns: ids, nulls_repeat: has_nulls, distinct: info.rows as f64 });
        seen.push(key);
    }
}
