//! Joins of a cluster: as rows lie, one side directed to the other, both hashed, one side at every node, or all of it at
//! the coordinator.
//!
//! A side can be at every node where none of its own rows decides by itself what comes out: a row that comes out because
//! it has no partner would come out everywhere. NOT IN has to know whether the list is empty or has a NULL, so that all of
//! the list is at every node. Which of the ways that are right is taken is a matter of bytes at the busiest node.

use plan::{Expr, JoinOutput, PhysicalJoinKind as Kind, PhysicalNode as N, PhysicalPlan};
use types::Result;
use types::nested::equality::has_own_equality;

use super::cost;
use super::filters::used_filters;
use super::pass::{Pass, broken, take_inputs, with_inputs};
use super::place::{Place, Placed, of_join, of_side};

/// What is asked of a join before its sides are placed.
struct Shape {
    kind: Kind,
    null_aware: bool,
    /// Pairs of keys that rows may be hashed by: probe's, build's.
    pairs: Vec<(Expr, Expr)>,
    /// The share of the probe side's rows that this join's filters let through where they are read.
    passing: f64,
    output: Vec<JoinOutput>,
}

/// How the sides come together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Rows that match are at one node already.
    AsTheyLie,
    HashBoth,
    /// The probe side stays, and the build side goes where its partners lie.
    DirectBuild,
    DirectProbe,
    ReplicateBuild,
    ReplicateProbe,
    Gather,
}

/// Whether the build side may be at every node.
fn build_may_be_everywhere(kind: Kind) -> bool {
    !kind.marks_build_rows()
}

/// Whether the probe side may be at every node.
fn probe_may_be_everywhere(kind: Kind) -> bool {
    matches!(kind, Kind::Inner | Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti)
}

impl Pass<'_> {
    pub(super) fn join(&mut self, mut plan: PhysicalPlan, ordered: bool) -> Result<Placed> {
        let shape = shape(&plan).ok_or_else(broken)?;
        let mut inputs = take_inputs(&mut plan).into_iter();
        let (Some(probe), Some(build)) = (inputs.next(), inputs.next()) else { return Err(broken()) };
        let (probe, build) = (self.place(probe, ordered)?, self.place(build, ordered)?);
        let ways = self.ways(&shape, &probe, &build, ordered);
        let cheapest = ways.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let way = cheapest.map_or(Way::Gather, |(way, _)| way);
        let (probe, build, place) = self.bring_together(&shape, way, probe, build)?;
        let in_order = probe.ordered && build.ordered;
        let ordered = in_order && (place == Place::Single || !shape.kind.marks_build_rows());
        Ok(Placed { plan: with_inputs(plan, vec![probe.plan, build.plan]), place, ordered })
    }

    /// The ways that are right, with their bytes. Gathering is always among them, and never taken for its price alone.
    fn ways(&self, shape: &Shape, probe: &Placed, build: &Placed, ordered: bool) -> Vec<(Way, f64)> {
        let n = self.nodes();
        if probe.place == Place::Single && build.place == Place::Single {
            return vec![(Way::AsTheyLie, 0.0)];
        }
        let (probe_bytes, build_bytes) = (cost::bytes(&probe.plan), cost::bytes(&build.plan));
        // Where probe rows travel, filters that this join's parts fill no longer reach their scans.
        let sent = probe_bytes / shape.passing;
        let mut ways = Vec::new();
        let kind = shape.kind;
        let largest = |bytes: f64, least: bool| least || bytes <= self.cluster.broadcast_bytes_max;
        let (probes, builds): (Vec<Expr>, Vec<Expr>) = shape.pairs.iter().cloned().unzip();
        // Where the order of rows matters, those of the probe side must stay; rows without a probe row have none.
        let may_mark = !ordered || !kind.marks_build_rows();
        if !shape.null_aware && !shape.pairs.is_empty() && may_mark {
            let (lie, built) = (probe.place.among(&probes), build.place.among(&builds));
            if lie.is_some() && lie == built {
                ways.push((Way::AsTheyLie, 0.0));
            }
            if !ordered {
                if lie.is_some() {
                    ways.push((Way::DirectBuild, cost::hashing(build_bytes, &build.place, n)));
                }
                if built.is_some() {
                    ways.push((Way::DirectProbe, cost::hashing(sent, &probe.place, n)));
                }
                let both = cost::hashing(sent, &probe.place, n) + cost::hashing(build_bytes, &build.place, n);
                ways.push((Way::HashBoth, both));
            }
        }
        let gathered = cost::gathering(sent, &probe.place, n) + cost::gathering(build_bytes, &build.place, n);
        let others = !ways.is_empty();
        let (probe_here, build_here) = (probe.place == Place::Single, build.place == Place::Single);
        // Where the side that stays is at the coordinator, the other one is gathered instead.
        if build_may_be_everywhere(kind) && !probe_here && largest(build_bytes, !others) {
            let read = self.can_be_read_everywhere(build);
            let bytes = if read { 0.0 } else { cost::broadcasting(build_bytes, &build.place, n) };
            ways.push((Way::ReplicateBuild, bytes));
        }
        if probe_may_be_everywhere(kind) && !ordered && !build_here && largest(sent, false) {
            let read = self.can_be_read_everywhere(probe);
            let bytes = if read { 0.0 } else { cost::broadcasting(sent, &probe.place, n) };
            ways.push((Way::ReplicateProbe, bytes));
        }
        // One side is at the coordinator: the other may be small enough to be brought there. All others compute less
        // each, which is not counted in bytes: twice as many are spent on it.
        if probe_here || build_here || ways.is_empty() {
            ways.push((Way::Gather, 2.0 * gathered));
        }
        ways
    }

    /// Both sides as the way has them, and where the join's rows then lie.
    fn bring_together(
        &mut self,
        shape: &Shape,
        way: Way,
        probe: Placed,
        build: Placed,
    ) -> Result<(Placed, Placed, Place)> {
        let Shape { kind, pairs, output, .. } = shape;
        let (probes, builds): (Vec<Expr>, Vec<Expr>) = pairs.iter().cloned().unzip();
        let hashed = |places: &[usize]| {
            let used: Vec<(Expr, Expr)> = places.iter().map(|at| pairs[*at].clone()).collect();
            of_join(*kind, &used, output)
        };
        Ok(match way {
            Way::AsTheyLie => {
                let place = match probe.place.among(&probes) {
                    _ if probe.place == Place::Single => Place::Single,
                    Some(places) => hashed(&places),
                    None => Place::Any,
                };
                (probe, build, place)
            }
            Way::HashBoth => {
                let all: Vec<usize> = (0..pairs.len()).collect();
                (self.hashed(probe, probes)?, self.hashed(build, builds)?, hashed(&all))
            }
            Way::DirectBuild => {
                let places = probe.place.among(&probes).ok_or_else(broken)?;
                let keys = places.iter().map(|at| builds[*at].clone()).collect();
                (probe, self.hashed(build, keys)?, hashed(&places))
            }
            Way::DirectProbe => {
                let places = build.place.among(&builds).ok_or_else(broken)?;
                let keys = places.iter().map(|at| probes[*at].clone()).collect();
                (self.hashed(probe, keys)?, build, hashed(&places))
            }
            Way::ReplicateBuild => {
                let equal: Vec<(Expr, Expr)> = if *kind == Kind::Inner { pairs.clone() } else { vec![] };
                let sides: (&dyn Fn(usize) -> JoinOutput, &dyn Fn(usize) -> JoinOutput) =
                    (&JoinOutput::Probe, &JoinOutput::Build);
                let place = of_side(&probe.place, sides, &equal, output);
                (probe, self.replicated(build)?, place)
            }
            Way::ReplicateProbe => {
                let swapped = pairs.iter().map(|(p, b)| (b.clone(), p.clone()));
                let equal: Vec<(Expr, Expr)> = if *kind == Kind::Inner { swapped.collect() } else { vec![] };
                let sides: (&dyn Fn(usize) -> JoinOutput, &dyn Fn(usize) -> JoinOutput) =
                    (&JoinOutput::Build, &JoinOutput::Probe);
                let place = of_side(&build.place, sides, &equal, output);
                (self.replicated(probe)?, build, place)
            }
            Way::Gather => (self.single(probe)?, self.single(build)?, Place::Single),
        })
    }
}

fn shape(plan: &PhysicalPlan) -> Option<Shape> {
    match &plan.node {
        N::HashJoin { probe, kind, probe_keys, build_keys, null_aware, fills, output, .. } => {
            let pairs = probe_keys.iter().zip(build_keys);
            // Types with an equality of their own are placed by it, the same only for the same type.
            let alike =
                |(a, b): &(&Expr, &Expr)| a.ty == b.ty || !(has_own_equality(a.ty) || has_own_equality(b.ty));
            let pairs = pairs.filter(alike).map(|(a, b)| (a.clone(), b.clone())).collect();
            let mut passing = 1.0;
            used_filters(probe, &mut |used| {
                if fills.iter().any(|(filter, _)| *filter == used.filter) {
                    passing *= used.passing.clamp(0.01, 1.0);
                }
            });
            Some(Shape { kind: *kind, null_aware: *null_aware, pairs, passing, output: output.clone() })
        }
        N::NestedLoopJoin { kind, null_aware, output, .. } => Some(Shape {
            kind: *kind,
            null_aware: *null_aware,
            pairs: vec![],
            passing: 1.0,
            output: output.clone(),
        }),
        _ => None,
    }
}
