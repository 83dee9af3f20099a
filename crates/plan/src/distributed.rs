//! The plan of a cluster with the shares of its sources: a document of its own.
//!
//! Every node runs it; `exchange` says how. It prints itself, and it is validated like every plan that comes from
//! elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use types::{Error, Result, SqlState};

use crate::encoding::Document;
use crate::exchange::{Exchange, NODES_MAX, Share};
use crate::validate::Computed;
use crate::{NodeId, PhysicalNode, PhysicalPlan};

/// A plan of a cluster, with what of each source's rows a node reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distributed {
    /// What every node runs, numbered.
    pub plan: PhysicalPlan,
    /// Every source of the plan by its node's number, ascending.
    pub shares: Vec<(NodeId, Share)>,
    /// How many nodes run it.
    pub nodes: u32,
}

impl Distributed {
    /// What of the rows of this source a node reads; `None` for what is no source of the plan.
    pub fn share(&self, source: NodeId) -> Option<Share> {
        let at = self.shares.binary_search_by_key(&source, |(id, _)| *id).ok()?;
        Some(self.shares[at].1)
    }
    /// The exchanges of the plan, parents first.
    pub fn exchanges(&self) -> Vec<&Exchange> {
        let (mut found, mut open) = (vec![], vec![&self.plan]);
        while let Some(node) = open.pop() {
            if let PhysicalNode::Exchange { exchange, .. } = &node.node {
                found.push(exchange);
            }
            open.extend(node.children().into_iter().rev());
        }
        found
    }
    /// Whether the plan can run. Whether its rows lie where operators need them is proved by who made it
    /// (`optimizer::distribute::check`).
    ///
    /// # Errors
    /// The first rule that is broken; see [`PhysicalPlan::validate_over`].
    pub fn validate_over(&self, computed: &Computed) -> Result<()> {
        let refused = |what: &str| {
            Err(Error::new(SqlState::DataCorrupted, format!("the distributed plan is not valid: {what}")))
        };
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return refused("it is for no cluster of 1 to 65,536 nodes");
        }
        self.plan.validate_over(computed)?;
        // Valid plans are numbered parents first, which is the order of this walk.
        let (mut sources, mut open) = (vec![], vec![&self.plan]);
        while let Some(node) = open.pop() {
            let children = node.children();
            if children.is_empty() {
                sources.push(node.id);
            }
            open.extend(children.into_iter().rev());
        }
        if !self.shares.iter().map(|(id, _)| *id).eq(sources) {
            return refused("its shares are not those of its sources, in their order");
        }
        Ok(())
    }
}

/// One node a line, inputs indented; a source with its share, an exchange with the bytes that it is expected to send.
impl fmt::Display for Distributed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open = vec![(&self.plan, 0)];
        while let Some((node, depth)) = open.pop() {
            write!(f, "{:indent$}{}", "", crate::print::physical_title(node), indent = 2 * depth)?;
            let told = match &node.node {
                PhysicalNode::Exchange { .. } => node.remarks.first().map(String::as_str),
                _ => self.share(node.id).map(Share::name),
            };
            match told {
                Some(told) => writeln!(f, ", {told}")?,
                None => writeln!(f)?,
            }
            open.extend(node.children().into_iter().rev().map(|child| (child, depth + 1)));
        }
        Ok(())
    }
}

impl Document for Distributed {
    const KIND: &'static str = "distributed plan";

    fn validate(&self) -> Result<()> {
        self.validate_over(&Computed::default())
    }
}
