//! One join of two lowered relations: which side builds, which columns leave, and what the result's keys are.
//!
//! `Planner::join` is called for each join of the chosen order, and for joins that are lowered by themselves. It
//! chooses the physical kind from the logical one and the build side; equalities become hash keys, comparisons by
//! order become searches, and without either rows are looped over. The two equal key columns of an inner join are
//! delivered once. Keys and dependencies of the sides survive where no row is repeated or padded with NULLs. Runtime
//! filters are attached to scans of the probe side from here (`rules::runtime_filters`).

use plan::{
    ColumnId, Expr, ExprKind, JoinKind, JoinOutput, JoinSide, OutputColumn, PhysicalJoinKind, PhysicalNode,
    PhysicalPlan, Ranges,
};
use types::{Result, Type};

use super::bind::Inputs;
use super::{Dependency, Key, Relation, empty};
use crate::columns::ColumnSet;
use crate::cost;
use crate::estimate::join::key_columns;
use crate::planner::Planner;
use crate::settings::JoinOrder;

/// A join to be lowered. `kind` is never one of the right-handed kinds: those are turned round beforehand.
#[derive(Clone, Debug)]
pub(crate) struct JoinSpec {
    pub(crate) kind: JoinKind,
    pub(crate) on: Vec<(Expr, Expr)>,
    pub(crate) residual: Option<Expr>,
    pub(crate) null_equals_null: bool,
    pub(crate) null_aware: bool,
    pub(crate) mark: Option<ColumnId>,
    /// Rows expected, if the caller knows better than the two sides tell.
    pub(crate) rows: Option<f64>,
}

impl JoinSpec {
    /// An inner join with these equalities and further condition.
    pub(crate) fn inner(on: Vec<(Expr, Expr)>, residual: Option<Expr>, rows: Option<f64>) -> Self {
        JoinSpec {
            kind: JoinKind::Inner,
            on,
            residual,
            null_equals_null: false,
            null_aware: false,
            mark: None,
            rows,
        }
    }

    /// Rows whose keys are NULL, or occur on one side only, are gone.
    fn rejects_nulls(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::LeftSemi) && !self.null_equals_null
    }
}

/// The sides of a join for which it is chosen which of them builds.
struct Sides {
    probe: Relation,
    build: Relation,
    /// The left side builds.
    swap: bool,
    /// No key occurs twice on the side.
    probe_unique: bool,
    build_unique: bool,
}

/// What a join delivers: its columns, and where each comes from.
#[derive(Default)]
struct Delivered {
    output: Vec<OutputColumn>,
    columns: Vec<ColumnId>,
    sources: Vec<JoinOutput>,
}

impl Delivered {
    fn push(&mut self, column: OutputColumn, id: ColumnId, source: JoinOutput) {
        self.output.push(column);
        self.columns.push(id);
        self.sources.push(source);
    }
}

impl Sides {
    fn new(left: Relation, right: Relation, swap: bool, spec: &JoinSpec) -> Self {
        let JoinSpec { on, null_equals_null, .. } = spec;
        let is_unique = |side: &Relation, keys: &ColumnSet| {
            let key = if *null_equals_null { side.distinct_key(keys) } else { side.unique_key(keys) };
            key.is_some() && !on.is_empty()
        };
        let left_unique = is_unique(&left, &key_columns(on.iter().map(|(l, _)| l)));
        let right_unique = is_unique(&right, &key_columns(on.iter().map(|(_, r)| r)));
        let (probe, build) = if swap { (right, left) } else { (left, right) };
        let (build_unique, probe_unique) =
            if swap { (left_unique, right_unique) } else { (right_unique, left_unique) };
        Sides { probe, build, swap, probe_unique, build_unique }
    }

    /// What an equality compares of the probe side, and of the build side.
    fn turned<'e>(&self, (left, right): &'e (Expr, Expr)) -> (&'e Expr, &'e Expr) {
        if self.swap { (right, left) } else { (left, right) }
    }

    fn physical_kind(&self, kind: JoinKind) -> Result<PhysicalJoinKind> {
        Ok(match (kind, self.swap) {
            (JoinKind::Inner, _) => PhysicalJoinKind::Inner,
            (JoinKind::Left, false) => PhysicalJoinKind::ProbeOuter,
            (JoinKind::Left, true) => PhysicalJoinKind::BuildOuter,
            (JoinKind::Full, _) => PhysicalJoinKind::FullOuter,
            (JoinKind::LeftSemi, false) => PhysicalJoinKind::ProbeSemi,
            // Each left row meets at most one right row: the inner join delivers it as soon as it is met.
            (JoinKind::LeftSemi, true) if self.probe_unique => PhysicalJoinKind::Inner,
            (JoinKind::LeftSemi, true) => PhysicalJoinKind::BuildSemi,
            (JoinKind::LeftAnti, false) => PhysicalJoinKind::ProbeAnti,
            (JoinKind::LeftAnti, true) => PhysicalJoinKind::BuildAnti,
            (JoinKind::LeftMark, _) => PhysicalJoinKind::ProbeMark,
            (JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti, _) => {
                return Err(types::Error::internal("a right-handed join was not turned round"));
            }
        })
    }

    /// Whether columns of the probe and of the build leave the join.
    fn shown(&self, kind: JoinKind) -> (bool, bool) {
        let shows_left = true;
        let shows_right = !matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark);
        if self.swap { (shows_right, shows_left) } else { (shows_left, shows_right) }
    }

    /// The keys of the probe and of the build, over what each delivers.
    fn bound_keys(&self, on: &[(Expr, Expr)], narrow: bool) -> Result<(Vec<Expr>, Vec<Expr>)> {
        let mut probe_keys = Vec::with_capacity(on.len());
        let mut build_keys = Vec::with_capacity(on.len());
        for pair in on {
            let (p, b) = self.turned(pair);
            let p = Inputs::one(&self.probe, narrow).bind(p.clone())?;
            let b = Inputs::one(&self.build, narrow).bind(b.clone())?;
            let (p, b) = Inputs::unify(p, b);
            probe_keys.push(p);
            build_keys.push(b);
        }
        Ok((probe_keys, build_keys))
    }

    /// The columns at these positions of the probe and of the build.
    fn delivered(&self, physical: PhysicalJoinKind, probe_out: &[usize], build_out: &[usize]) -> Delivered {
        let Sides { probe, build, .. } = self;
        let (probe_nulls, build_nulls) = padded(physical);
        let mut delivered = Delivered::default();
        for at in probe_out {
            let column = &probe.plan.output[*at];
            let column = OutputColumn { nullable: column.nullable || probe_nulls, ..column.clone() };
            delivered.push(column, probe.columns[*at], JoinOutput::Probe(*at));
        }
        for at in build_out {
            let column = &build.plan.output[*at];
            let column = OutputColumn { nullable: column.nullable || build_nulls, ..column.clone() };
            delivered.push(column, build.columns[*at], JoinOutput::Build(*at));
        }
        delivered
    }

    /// Whether no row of the probe, and none of the build, is repeated.
    fn repeats_none(&self, physical: PhysicalJoinKind, kind: JoinKind) -> (bool, bool) {
        let (probe_stays, build_stays) = match physical {
            PhysicalJoinKind::Inner => (self.build_unique, self.probe_unique),
            PhysicalJoinKind::ProbeOuter => (self.build_unique, false),
            PhysicalJoinKind::BuildOuter => (false, self.probe_unique),
            PhysicalJoinKind::ProbeSemi | PhysicalJoinKind::ProbeAnti | PhysicalJoinKind::ProbeMark => {
                (true, false)
            }
            PhysicalJoinKind::BuildSemi | PhysicalJoinKind::BuildAnti => (false, true),
            PhysicalJoinKind::FullOuter => (false, false),
        };
        // In a LEFT SEMI join run as an inner join, the left side is the build, and it keeps its keys.
        (probe_stays, build_stays || (kind == JoinKind::LeftSemi && self.swap))
    }

    /// Gives `joined` the keys, dependencies and equal columns that survive; the plans of probe and build.
    fn hand_on(
        self,
        joined: &mut Relation,
        physical: PhysicalJoinKind,
        kind: JoinKind,
    ) -> (PhysicalPlan, PhysicalPlan) {
        let (probe_stays, build_stays) = self.repeats_none(physical, kind);
        let (probe_nulls, build_nulls) = padded(physical);
        let (shows_probe, shows_build) = self.shown(kind);
        let Sides { probe, build, .. } = self;
        if !probe_stays && !build_stays && physical == PhysicalJoinKind::Inner {
            joined.keys.extend(pair_key(&probe, &build));
        }
        if probe_stays {
            joined.keys.extend(probe.keys);
        }
        if build_stays {
            joined.keys.extend(build.keys);
        }
        if shows_probe || kind == JoinKind::LeftSemi {
            joined.same.extend(probe.same);
            joined.dependencies.extend(surviving(probe.dependencies, probe_nulls));
        }
        if shows_build || kind == JoinKind::LeftSemi {
            joined.same.extend(build.same);
            joined.dependencies.extend(surviving(build.dependencies, build_nulls));
        }
        (probe.plan, build.plan)
    }
}

/// Whether rows of the probe, and of the build, are padded: whose columns may then be NULL.
fn padded(physical: PhysicalJoinKind) -> (bool, bool) {
    match physical {
        PhysicalJoinKind::ProbeOuter => (false, true),
        PhysicalJoinKind::BuildOuter => (true, false),
        PhysicalJoinKind::FullOuter => (true, true),
        _ => (false, false),
    }
}

/// Rows of a build side that may be looped over though they are compared by order.
const LOOPED_ROWS_MAX: u128 = 64;

impl Planner<'_> {
    /// The physical join of the two. Of the sides' columns it delivers those in `needed`; either side may be dropped
    /// where it is known to be empty.
    pub(crate) fn join(
        &mut self,
        left: Relation,
        right: Relation,
        spec: JoinSpec,
        needed: &ColumnSet,
    ) -> Result<Relation> {
        let mut spec = spec;
        let kind = spec.kind;
        match kind {
            JoinKind::Inner | JoinKind::LeftSemi if left.is_empty() || right.is_empty() => {
                return Ok(empty_join(left, right, kind));
            }
            JoinKind::LeftAnti if left.is_empty() || right.is_empty() => return Ok(left),
            _ => {}
        }
        if spec.residual.as_ref().is_some_and(|r| r.as_literal().is_some_and(|v| v.as_bool() == Some(true))) {
            spec.residual = None;
        }
        let residual = spec.residual.as_ref();
        let rows = spec.rows.unwrap_or_else(|| self.join_rows(kind, &left, &right, &spec.on, residual));
        let swap = self.swaps(&left, &right, &spec, needed, rows);
        // Key by key, for filters hold one column each.
        let passing: Vec<f64> = spec
            .on
            .iter()
            .map(|pair| {
                let keys = self.key_match(&left, &right, std::slice::from_ref(pair));
                if swap { keys.right } else { keys.left }
            })
            .collect();
        let sides = Sides::new(left, right, swap, &spec);
        let physical = sides.physical_kind(kind)?;
        let (probe_out, build_out, same) = self.columns_that_leave(&sides, &spec, needed);
        let (physical, remark) = self.told_kind(physical, kind, sides.build_unique && build_out.is_empty());

        let narrow = self.settings.narrow_decimals;
        let (probe_keys, build_keys) = sides.bound_keys(&spec.on, narrow)?;
        let residual = spec.residual.take();
        let residual =
            residual.map(|r| Inputs::two(&sides.probe, &sides.build, narrow).bind(r)).transpose()?;

        let out = (probe_out.as_slice(), build_out.as_slice());
        let delivered = self.join_output(&sides, &spec, physical, out, (&probe_keys, &build_keys));
        self.note_distinct(&sides, &spec, &delivered);

        let build_unique = sides.build_unique;
        let Delivered { output, columns, sources } = delivered;
        let mut relation =
            Relation::new(PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, output, rows), columns);
        relation.plan.remarks = remark.into_iter().map(str::to_owned).collect();
        relation.same = same;
        let (mut probe_plan, build_plan) = sides.hand_on(&mut relation, physical, kind);
        if kind == JoinKind::Inner && !spec.null_equals_null {
            let columns = spec.on.iter().filter_map(|(l, r)| l.as_column().zip(r.as_column()));
            columns.for_each(|(l, r)| relation.add_equality(l, r));
        }

        let JoinSpec { on, null_equals_null, null_aware, .. } = spec;
        let fills = if null_equals_null || on.is_empty() || null_aware {
            vec![]
        } else {
            self.attach_runtime_filters(physical, &mut probe_plan, &probe_keys, &build_keys, &passing)
        };
        let by_range = self.settings.range_joins
            && !null_aware
            && on.is_empty()
            && residual.as_ref().is_some_and(|residual| {
                self.is_searched(residual, (&probe_plan, &build_plan), relation.plan.estimated_rows)
            });
        let (probe, build) = (Box::new(probe_plan), Box::new(build_plan));
        relation.plan.node = if on.is_empty() {
            PhysicalNode::NestedLoopJoin {
                probe,
                build,
                kind: physical,
                predicate: residual,
                null_aware,
                by_range,
                output: sources,
            }
        } else {
            PhysicalNode::HashJoin {
                probe,
                build,
                kind: physical,
                probe_keys,
                build_keys,
                residual,
                null_equals_null,
                null_aware,
                output: sources,
                fills,
                build_unique,
            }
        };
        Ok(relation)
    }

    /// The kind, which may be a semi-join where the build side only filters, and what EXPLAIN says of it.
    fn told_kind(
        &self,
        physical: PhysicalJoinKind,
        kind: JoinKind,
        only_filters: bool,
    ) -> (PhysicalJoinKind, Option<&'static str>) {
        match (physical, kind) {
            (PhysicalJoinKind::Inner, JoinKind::Inner) if self.settings.exact_filters && only_filters => (
                PhysicalJoinKind::ProbeSemi,
                Some("semi-join: the build side is unique on the key and gives no column (exact filter)"),
            ),
            (PhysicalJoinKind::Inner, JoinKind::LeftSemi) => (
                physical,
                Some("semi-join turned round: the smaller side is built, and no row meets it twice"),
            ),
            _ => (physical, None),
        }
    }

    /// What leaves the join: the columns at these positions of its sides, and its mark.
    fn join_output(
        &self,
        sides: &Sides,
        spec: &JoinSpec,
        physical: PhysicalJoinKind,
        (probe_out, build_out): (&[usize], &[usize]),
        (probe_keys, build_keys): (&[Expr], &[Expr]),
    ) -> Delivered {
        let mut delivered = sides.delivered(physical, probe_out, build_out);
        if let (JoinKind::LeftMark, Some(mark)) = (spec.kind, spec.mark) {
            let name = self.columns.get(mark).name.clone();
            let mark_column =
                OutputColumn { name, ty: Type::Boolean, nullable: spec.null_aware, bounds: None };
            delivered.push(mark_column, mark, JoinOutput::Mark);
        }
        if spec.rejects_nulls() {
            tighten(
                &mut delivered.output,
                &delivered.sources,
                (probe_keys, &sides.probe.plan.output),
                (build_keys, &sides.build.plan.output),
            );
        }
        delivered
    }

    /// Whether the left side is built.
    fn swaps(
        &self,
        left: &Relation,
        right: &Relation,
        spec: &JoinSpec,
        needed: &ColumnSet,
        rows: f64,
    ) -> bool {
        let JoinSpec { kind, on, residual, null_aware, .. } = spec;
        let (kind, null_aware) = (*kind, *null_aware);
        // What of the condition is searched by where the left side is built, and where the right one is.
        let searches = self.settings.range_joins && !null_aware;
        let searched = |build: &Relation| {
            let residual = residual.as_ref().filter(|_| searches)?;
            Ranges::of(residual, &|expr| side_of(expr, build))
        };
        let keys = [left, right].map(|build| searched(build).map_or(0, |ranges| ranges.dimensions.len()));
        // Partners that two ranges find are marked pair by pair, where a probe row that is judged stops at the first.
        let marks_pairs = matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti)
            && if on.is_empty() { keys[0] > 0 } else { keys[0] > 1 };
        self.settings.build_side
            && !null_aware
            && kind != JoinKind::LeftMark
            && !marks_pairs
            && self.builds_left(kind, left, right, on.is_empty().then_some(keys), needed, rows)
    }

    /// Positions of the probe's and of the build's columns that leave a join, and columns that others stand for.
    fn columns_that_leave(
        &self,
        sides: &Sides,
        spec: &JoinSpec,
        needed: &ColumnSet,
    ) -> (Vec<usize>, Vec<usize>, Vec<(ColumnId, ColumnId)>) {
        let Sides { probe, build, .. } = sides;
        let (shows_probe, shows_build) = sides.shown(spec.kind);
        let mut same: Vec<(ColumnId, ColumnId)> = Vec::new();
        let mut probe_out = if shows_probe { self.wanted(probe, needed) } else { vec![] };
        let mut build_out = if shows_build { self.wanted(build, needed) } else { vec![] };
        if spec.kind != JoinKind::Inner || spec.null_equals_null || !self.settings.projection_push_down {
            return (probe_out, build_out, same);
        }
        // An equality's two columns are one value; the probe's is at hand.
        for pair in &spec.on {
            let (p, b) = sides.turned(pair);
            let (Some(p), Some(b)) = (p.as_column(), b.as_column()) else { continue };
            let (Some(from), Some(at)) = (probe.position(p), build.position(b)) else { continue };
            let (Some(stays), Some(goes)) = (probe.columns.get(from), build.columns.get(at)) else {
                continue;
            };
            if probe.plan.output[from].ty == build.plan.output[at].ty
                && stays != goes
                && !same.iter().any(|(alias, _)| alias == goes)
            {
                same.push((*goes, *stays));
                if build_out.contains(&at) {
                    build_out.retain(|o| *o != at);
                    if !probe_out.contains(&from) {
                        probe_out.push(from);
                    }
                }
            }
        }
        (probe_out, build_out, same)
    }

    /// How many values the columns of a join have at most.
    fn note_distinct(&mut self, sides: &Sides, spec: &JoinSpec, delivered: &Delivered) {
        let Sides { probe, build, swap, .. } = sides;
        if spec.rejects_nulls() {
            // Key values that survive occur on both sides.
            let (from_left, from_right) =
                if *swap { (build.rows(), probe.rows()) } else { (probe.rows(), build.rows()) };
            for (l, r) in &spec.on {
                let (Some(l), Some(r)) = (l.as_column(), r.as_column()) else { continue };
                let of_left = self.facts(l).distinct.map(|d| d.min(from_left.max(1.0)));
                let of_right = self.facts(r).distinct.map(|d| d.min(from_right.max(1.0)));
                let both = of_left.zip(of_right).map(|(l, r)| l.min(r)).or(of_left).or(of_right);
                self.facts_mut(l).distinct = both;
                self.facts_mut(r).distinct = both;
            }
        }
        // A side of few rows has few values in any of its columns.
        for (id, source) in delivered.columns.iter().zip(&delivered.sources) {
            let rows = match source {
                JoinOutput::Probe(_) => probe.rows(),
                JoinOutput::Build(_) => build.rows(),
                JoinOutput::Mark => continue,
            };
            let facts = self.facts_mut(*id);
            facts.distinct = facts.distinct.map(|d| d.min(rows.max(1.0)));
        }
    }

    /// Positions of the columns of `side` that leave the join.
    fn wanted(&self, side: &Relation, needed: &ColumnSet) -> Vec<usize> {
        let mut wanted = vec![!self.settings.projection_push_down; side.columns.len()];
        for id in side.columns.iter().chain(side.same.iter().map(|(alias, _)| alias)) {
            if needed.contains(*id)
                && let Some(at) = side.position(*id)
            {
                wanted[at] = true;
            }
        }
        (0..wanted.len()).filter(|at| wanted[*at]).collect()
    }

    /// Whether a join without equalities sorts and searches its build side. Loops over a few rows cost less; but few
    /// they have to be for certain, for of many the loops cost the square.
    fn is_searched(
        &mut self,
        condition: &Expr,
        (probe, build): (&PhysicalPlan, &PhysicalPlan),
        rows: f64,
    ) -> bool {
        let Some(ranges) = Ranges::of_inputs(condition, probe.output.len()) else { return false };
        let keys = ranges.dimensions.len() as f64;
        let (p, b) = (probe.estimated_rows, build.estimated_rows);
        self.rows_at_most(build) > LOOPED_ROWS_MAX
            || cost::range_join(p, b, keys, rows) < cost::nested_loops(p, b, rows)
    }

    /// Whether the left side is the one to build. `without_keys`: there are no equalities, but so many expressions of
    /// the left and of the right side that are compared by order.
    fn builds_left(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        without_keys: Option<[usize; 2]>,
        needed: &ColumnSet,
        rows: f64,
    ) -> bool {
        let written = self.settings.join_order == JoinOrder::Written;
        let (l, r) = (left.rows(), right.rows());
        if written {
            return l < r;
        }
        if let Some(keys) = without_keys {
            // Only where both directions are alike; the others need to remember what was met.
            if kind != JoinKind::Inner || keys == [0, 0] {
                return kind == JoinKind::Inner && l < r;
            }
            let [of_left, of_right] = keys.map(|keys| keys.max(1) as f64);
            return cost::range_join(r, l, of_left, rows) < cost::range_join(l, r, of_right, rows);
        }
        let payload = |side: &Relation| -> f64 {
            let wanted = self.wanted(side, needed).into_iter();
            let bytes: f64 = wanted.map(|at| cost::column_bytes(side.plan.output[at].ty)).sum();
            bytes.min(cost::RELATION_BYTES_MAX)
        };
        // What a build that must remember its matches and deliver them at the end costs more.
        let deferred = if kind == JoinKind::Inner { 0.0 } else { l };
        cost::hash_join(r, l, payload(left), rows) + deferred < cost::hash_join(l, r, payload(right), rows)
    }
}

/// Which side of a join that builds `build` an expression is about, if it is about one.
pub(crate) fn side_of(expr: &Expr, build: &Relation) -> Option<JoinSide> {
    let columns = ColumnSet::of(expr);
    let mut of_build = columns.iter().map(|id| build.position(id).is_some());
    let first = of_build.next()?;
    let side = if first { JoinSide::Build } else { JoinSide::Probe };
    of_build.all(|other| other == first).then_some(side)
}

/// Bounds of an equality's columns intersect, and neither is NULL.
fn tighten(
    output: &mut [OutputColumn],
    sources: &[JoinOutput],
    (probe_keys, probe): (&[Expr], &[OutputColumn]),
    (build_keys, build): (&[Expr], &[OutputColumn]),
) {
    for (p, b) in probe_keys.iter().zip(build_keys) {
        let (ExprKind::Input(p), ExprKind::Input(b)) = (&p.kind, &b.kind) else { continue };
        let bounds = match (probe[*p].bounds, build[*b].bounds) {
            (Some((l, h)), Some((m, n))) => {
                let low = l.max(m);
                Some((low, h.min(n).max(low)))
            }
            (one, other) => one.or(other),
        };
        for (column, source) in output.iter_mut().zip(sources) {
            if *source == JoinOutput::Probe(*p) || *source == JoinOutput::Build(*b) {
                column.bounds = bounds;
                column.nullable = false;
            }
        }
    }
}

fn surviving(dependencies: Vec<Dependency>, nulls_added: bool) -> impl Iterator<Item = Dependency> {
    dependencies.into_iter().filter(move |d| !nulls_added || d.survives_nulls)
}

/// A pair of rows is known by a key of each.
fn pair_key(probe: &Relation, build: &Relation) -> Option<Key> {
    let (p, b) = (probe.keys.first()?, build.keys.first()?);
    let columns: Vec<ColumnId> = p.columns.iter().chain(&b.columns).copied().collect();
    (columns.len() <= 6).then(|| Key {
        columns,
        nulls_repeat: p.nulls_repeat || b.nulls_repeat,
        distinct: p.distinct.max(b.distinct),
    })
}

fn empty_join(left: Relation, right: Relation, kind: JoinKind) -> Relation {
    let mut result = empty(left);
    if kind == JoinKind::Inner {
        let right = empty(right);
        result.plan.output.extend(right.plan.output);
        result.columns.extend(&right.columns);
        result.same.extend(right.same);
    }
    result
}
