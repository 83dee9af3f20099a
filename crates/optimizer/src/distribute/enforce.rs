//! Exchanges: how rows come to lie where an operator needs them.

use plan::{
    Exchange, ExchangeKind, ExchangeNumber, Expr, JoinOutput, NodeId, OutputColumn, PhysicalJoinKind as Kind,
    PhysicalNode as N, PhysicalPlan, Share, SortKey, explain,
};
use types::{Error, Result, Type, Value};

use super::cost;
use super::pass::{Pass, take_inputs, with_inputs};
use super::place::{Place, Placed};

impl Pass<'_> {
    /// How many nodes there are, for costs.
    pub(super) fn nodes(&self) -> f64 {
        f64::from(self.cluster.nodes)
    }

    fn exchange(&mut self, input: Placed, kind: ExchangeKind, place: Place, ordered: bool) -> Result<Placed> {
        if input.place == Place::Replicated {
            return Err(Error::internal("rows that every node has are sent"));
        }
        let below = input.plan;
        let (output, rows) = (below.output.clone(), below.estimated_rows);
        let bytes = cost::travelling(cost::bytes(&below), &input.place, self.nodes(), &kind);
        let number = ExchangeNumber(self.exchanges);
        self.exchanges += 1;
        let node = N::Exchange { input: Box::new(below), exchange: Exchange { number, kind } };
        let mut plan = PhysicalPlan::new(node, output, rows);
        // Estimates may be infinite; the cast saturates.
        plan.remarks.push(format!("about {} between nodes", explain::bytes(bytes.round() as u64)));
        Ok(Placed { plan, place, ordered })
    }

    /// All rows at the coordinator, in the order of one machine if they had it.
    pub(super) fn single(&mut self, input: Placed) -> Result<Placed> {
        match input.place {
            // The coordinator has them; what the others have is dropped with their results.
            Place::Single | Place::Replicated => Ok(input),
            // Its inputs follow one another only if each is gathered; the bytes are the same.
            Place::Beside(places) if matches!(input.plan.node, N::UnionAll { .. }) => {
                let mut plan = input.plan;
                let in_order = places.iter().all(|(_, ordered)| *ordered);
                let inputs = take_inputs(&mut plan).into_iter().zip(places);
                let inputs = inputs
                    .map(|(plan, (place, ordered))| Ok(self.single(Placed { plan, place, ordered })?.plan));
                let inputs = inputs.collect::<Result<_>>()?;
                Ok(Placed { plan: with_inputs(plan, inputs), place: Place::Single, ordered: in_order })
            }
            _ => {
                let ordered = input.ordered;
                self.exchange(input, ExchangeKind::Gather { order: vec![] }, Place::Single, ordered)
            }
        }
    }

    /// All rows at the coordinator, merged in the order in which each node has them.
    pub(super) fn merged(&mut self, input: Placed, order: Vec<SortKey>) -> Result<Placed> {
        match input.place {
            Place::Single | Place::Replicated => Ok(input),
            _ => self.exchange(input, ExchangeKind::Gather { order }, Place::Single, true),
        }
    }

    /// Rows that agree in `keys`, over the plan's output, meet.
    pub(super) fn hashed(&mut self, input: Placed, keys: Vec<Expr>) -> Result<Placed> {
        let place = Place::hashed(&keys);
        self.exchange(input, ExchangeKind::Hash { keys }, place, false)
    }

    /// All rows at every node: read there if they are few, else sent.
    pub(super) fn replicated(&mut self, input: Placed) -> Result<Placed> {
        if self.can_be_read_everywhere(&input) {
            self.share_all(&input.plan, Share::Whole);
            return Ok(Placed { place: Place::Replicated, ..input });
        }
        let ordered = input.ordered;
        self.exchange(input, ExchangeKind::Broadcast, Place::Replicated, ordered)
    }

    /// Whether every node may read the rows itself instead of being sent them.
    pub(super) fn can_be_read_everywhere(&self, input: &Placed) -> bool {
        let mut open = vec![&input.plan];
        while let Some(node) = open.pop() {
            let local = match &node.node {
                N::TableScan { .. } | N::FileScan { .. } => {
                    matches!(self.shares.get(&node.id), Some(Share::Part | Share::Whole))
                }
                // Joins without an exchange below have their rows right; with all rows everywhere they still do.
                N::Filter { .. }
                | N::Project { .. }
                | N::Fetch { .. }
                | N::Unnest { .. }
                | N::HashJoin { .. }
                | N::NestedLoopJoin { .. } => true,
                _ => false,
            };
            if !local {
                return false;
            }
            open.extend(node.children());
        }
        let bytes = cost::read_bytes(&input.plan, self.statistics);
        bytes.is_some_and(|bytes| bytes <= self.cluster.replicated_bytes)
    }

    /// A grouping without keys gives a row where none came in, at every node: those of the others are dropped before
    /// anything looks at them, by a join with a row that the coordinator alone has.
    pub(super) fn alone(&mut self, input: Placed) -> Placed {
        let makes_a_row = matches!(&input.plan.node, N::Aggregate { groups, .. } if groups.is_empty());
        if !makes_a_row || input.place != Place::Single {
            return input;
        }
        let column =
            OutputColumn { name: "here".to_owned(), ty: Type::Boolean, nullable: false, bounds: None };
        let mut here =
            PhysicalPlan::new(N::Values { rows: vec![vec![Value::Bool(true)]] }, vec![column], 1.0);
        here.id = NodeId(self.leaves);
        self.leaves += 1;
        self.shares.insert(here.id, Share::Coordinator);
        let below = input.plan;
        let (output, rows) = (below.output.clone(), below.estimated_rows);
        let node = N::NestedLoopJoin {
            output: (0..output.len()).map(JoinOutput::Probe).collect(),
            probe: Box::new(below),
            build: Box::new(here),
            kind: Kind::Inner,
            predicate: None,
            null_aware: false,
            by_range: false,
        };
        let mut plan = PhysicalPlan::new(node, output, rows);
        plan.remarks.push("at the coordinator alone".to_owned());
        Placed { plan, ..input }
    }
}
