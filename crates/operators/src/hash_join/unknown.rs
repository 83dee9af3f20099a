//! NOT IN with a residual or several keys: pairs whose comparison is NULL.
//!
//! A probe row with a NULL key meets every build row, any other meets the build rows with a NULL key. Of these pairs,
//! those whose other key parts certainly differ are out, and so are those that the residual does not select (they are
//! not in the list). What is left makes the answer of the judged row unknown.

use plan::PhysicalJoinKind as Kind;
use types::Result;

use super::buffers::Buffers;
use super::keys::certainly_differ;
use super::probe::Probing;

impl Probing<'_> {
    /// Fills `buffers.unknown` (probe rows), or marks build rows where those are judged.
    pub(super) fn unknown_pairs(&self, buffers: &mut Buffers) -> Result<()> {
        let rows = self.batch.rows;
        buffers.unknown.clear();
        buffers.unknown.resize(rows, false);
        let limit = self.work.query.settings.batch_rows.max(1);
        buffers.pairs.clear();
        for row in 0..rows as u32 {
            let null = self.valid.is_some_and(|valid| valid.is_null(row as usize));
            let others = if null { self.built.rows } else { self.built.null_rows.len() };
            for at in 0..others {
                // A row that is decided needs no further pair.
                if self.is_decided(buffers, row) {
                    break;
                }
                let build = if null { at as u32 } else { self.built.null_rows[at] };
                let compared = &self.built.compared_keys;
                if !compared.is_empty() && certainly_differ(self.keys, compared, row, build) {
                    continue;
                }
                buffers.pairs.push(row, build);
                if buffers.pairs.len() == limit {
                    self.settle_unknown(buffers)?;
                }
            }
        }
        self.settle_unknown(buffers)
    }

    fn is_decided(&self, buffers: &Buffers, row: u32) -> bool {
        let known = buffers.matched.get(row as usize).copied().unwrap_or(false);
        self.join.kind != Kind::BuildAnti && (known || buffers.unknown[row as usize])
    }

    fn settle_unknown(&self, buffers: &mut Buffers) -> Result<()> {
        self.work.check()?;
        let Buffers { pairs, unknown, .. } = buffers;
        if let Some(residual) = &self.join.residual {
            residual.retain(self.batch, &self.built.columns, pairs)?;
        }
        match &self.built.matched {
            Some(marks) => pairs.build.iter().for_each(|row| marks.set(*row)),
            None => pairs.probe.iter().for_each(|row| unknown[*row as usize] = true),
        }
        pairs.clear();
        Ok(())
    }
}
