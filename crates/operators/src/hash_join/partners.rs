//! The probe without its output: which build row each probe row meets, for an aggregation that keeps its states by
//! build row (`aggregate/join_groups.rs`).

use plan::NodeId;
use types::Result;
use vector::gather::NO_ROW;
use vector::{Batch, Vector};

use super::HashJoin;
use super::keys::retain_equal;
use super::pairs::Pairs;

/// Pairs of a batch, and what is kept from batch to batch.
#[derive(Default)]
pub(crate) struct Partners {
    codes: Vec<u64>,
    found: Vec<u32>,
    pairs: Pairs,
}

impl Partners {
    /// Rows of the batch that met a build row, ascending.
    pub fn probe(&self) -> &[u32] {
        &self.pairs.probe
    }
    /// The build row of each.
    pub fn build(&self) -> &[u32] {
        &self.pairs.build
    }
}

impl HashJoin {
    /// The join's plan node.
    pub(crate) fn node_id(&self) -> NodeId {
        self.node
    }
    /// The place of a build column among the kept ones.
    pub(crate) fn place(&self, column: usize) -> Result<usize> {
        self.columns.place(column)
    }
    /// Build rows, once they are all there.
    pub(crate) fn rows_built(&self) -> Result<usize> {
        Ok(self.built()?.rows)
    }
    /// The kept columns of all build rows. An internal error before they are built.
    pub(crate) fn columns_built(&self) -> Result<Vec<Vector>> {
        Ok(self.built()?.columns.clone())
    }
    /// The pairs of a batch's rows with equal keys; there is no residual.
    pub(crate) fn partners(&self, batch: &Batch, into: &mut Partners) -> Result<()> {
        let built = self.built()?;
        let keys = self.probe_keys.evaluate(batch)?;
        let Partners { codes, found, pairs } = into;
        built.keys.encode(&keys, batch.rows, self.null_equals_null, codes);
        built.table.find(codes, found);
        match built.table.next() {
            None => pairs.set_found(found),
            Some(next) => {
                pairs.clear();
                for (row, first) in found.iter().enumerate() {
                    let mut build = *first;
                    while build != NO_ROW {
                        pairs.push(row as u32, build);
                        build = next[build as usize].wrapping_sub(1);
                    }
                }
            }
        }
        retain_equal(&built.keys, &keys, self.null_equals_null, &mut pairs.probe, &mut pairs.build);
        Ok(())
    }
}
