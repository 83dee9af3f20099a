//! Sets of a query's columns, as bits: the optimizer asks for unions, intersections and inclusion all the time.
//!
//! A query numbers its columns from 0, so a set is a few words; sets of different lengths compare as if padded with
//! zeros, except by `==`, which compares the words. Rules use them for columns that are needed, provided or equal,
//! and ask plans and expressions for theirs with `add_plan` and `add_expr`.

use plan::{ColumnId, Expr, ExprKind, LogicalPlan};

/// A set of column ids; its words grow to the greatest id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSet {
    words: Vec<u64>,
}

impl ColumnSet {
    /// The empty set.
    pub(crate) fn new() -> Self {
        ColumnSet::default()
    }
    /// Adds a column.
    pub(crate) fn insert(&mut self, id: ColumnId) {
        let (word, bit) = (id.0 as usize / 64, id.0 % 64);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }
    /// Does nothing if the column is not in the set.
    pub(crate) fn remove(&mut self, id: ColumnId) {
        if let Some(word) = self.words.get_mut(id.0 as usize / 64) {
            *word &= !(1 << (id.0 % 64));
        }
    }
    /// Whether the column is in the set.
    pub(crate) fn contains(&self, id: ColumnId) -> bool {
        self.words.get(id.0 as usize / 64).is_some_and(|w| w >> (id.0 % 64) & 1 == 1)
    }
    /// Adds the columns of `other`.
    pub(crate) fn union(&mut self, other: &ColumnSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }
    /// Keeps only the columns that are in `other`, too.
    pub(crate) fn intersect(&mut self, other: &ColumnSet) {
        self.words.truncate(other.words.len());
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word &= more;
        }
    }
    /// Whether the two have a column in common.
    pub(crate) fn intersects(&self, other: &ColumnSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }
    /// Whether `other` has all columns of this set.
    pub(crate) fn is_subset(&self, other: &ColumnSet) -> bool {
        self.words.iter().enumerate().all(|(i, w)| w & !other.words.get(i).copied().unwrap_or(0) == 0)
    }
    /// Whether the set has no column.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }
    /// The columns by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(ColumnId(i as u32 * 64 + bit))
            })
        })
    }
    /// Adds the columns that `expr` uses.
    pub(crate) fn add_expr(&mut self, expr: &Expr) {
        expr.visit(&mut |e| {
            if let ExprKind::Column(id) = e.kind {
                self.insert(id);
            }
        });
    }
    /// The columns that `expr` uses.
    pub(crate) fn of(expr: &Expr) -> Self {
        let mut set = ColumnSet::new();
        set.add_expr(expr);
        set
    }
    /// Adds the columns that `plan` can deliver. A projection also passes its input's columns on (see
    /// `rules::projections`).
    pub(crate) fn add_plan(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::Project { input, expressions } => {
                self.extend(expressions.iter().map(|(id, _)| *id));
                self.add_plan(input);
            }
            LogicalPlan::Filter { input, .. }
            | LogicalPlan::Sort { input, .. }
            | LogicalPlan::Limit { input, .. } => self.add_plan(input),
            LogicalPlan::Window { input, calls, .. } => {
                self.extend(calls.iter().map(|(id, _)| *id));
                self.add_plan(input);
            }
            LogicalPlan::Unnest { input, lists, ordinality, .. } => {
                self.extend(lists.iter().map(|(id, _)| *id));
                self.extend(ordinality.iter().copied());
                self.add_plan(input);
            }
            LogicalPlan::Join { left, right, kind, mark, .. } => {
                use plan::JoinKind as J;
                if !matches!(kind, J::RightSemi | J::RightAnti) {
                    self.add_plan(left);
                }
                if !matches!(kind, J::LeftSemi | J::LeftAnti | J::LeftMark) {
                    self.add_plan(right);
                }
                self.extend(mark.iter().copied());
            }
            _ => self.extend(plan.output()),
        }
    }
    /// The columns that `plan` can deliver; see `add_plan`.
    pub(crate) fn of_plan(plan: &LogicalPlan) -> Self {
        let mut set = ColumnSet::new();
        set.add_plan(plan);
        set
    }
}

impl Extend<ColumnId> for ColumnSet {
    fn extend<T: IntoIterator<Item = ColumnId>>(&mut self, ids: T) {
        ids.into_iter().for_each(|id| self.insert(id));
    }
}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<T: IntoIterator<Item = ColumnId>>(ids: T) -> Self {
        let mut set = ColumnSet::new();
        set.extend(ids);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave() {
        let a: ColumnSet = [1, 70, 130].map(ColumnId).into_iter().collect();
        let b: ColumnSet = [1, 2].map(ColumnId).into_iter().collect();
        let mut both = a.clone();
        both.union(&b);
        assert_eq!(both.iter().map(|c| c.0).collect::<Vec<_>>(), [1, 2, 70, 130]);
        both.intersect(&b);
        assert!(both.is_subset(&b) && a.intersects(&b) && !a.is_subset(&b));
        both.remove(ColumnId(1));
        both.remove(ColumnId(2));
        assert!(both.is_empty());
    }
}
