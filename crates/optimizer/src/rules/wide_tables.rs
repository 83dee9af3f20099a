//! Rule `wide_tables`: joins along declared foreign keys become a scan of a wide table that has been made of the same
//! tables.
//!
//! A wide table has one row for each row of its fact table, and in it the row of every other table that a foreign key
//! leads to, or NULLs (`WideInfo`). Looked for are regions of inner joins, filters, and left joins to plain scans:
//!
//! ```text
//!  Inner(Left(fact, d1 on fact.k1 = d1.id), d2 on fact.k2 = d2.id and q)   where p
//!  = Scan wide  where p and q and k2 IS NOT NULL
//! ```
//! Why that is the same: the referenced columns are unique, so a join to a dimension repeats no row of the fact
//! table, and the foreign key is verified, so that a reference that is not NULL has its row. An inner join thus only
//! drops the rows whose reference is NULL, a left join none, and what they add stands in the wide row. A join keeps
//! its own columns' ids, which are from then on the wide table's; a referenced column is stored once, as the column
//! that refers to it, and is called by both names (a projection that renames). Relations that the wide table does not
//! have stay and are joined to the scan. The fact table alone is better read itself, so at least one join must go.
//!
//! Which wide tables show their base tables as they are, the statistics know: they belong to the same snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{ColumnId, ColumnTable, Expr, ExprKind, JoinKind, LogicalPlan, ScanSource};
use types::{Comparison, Type};

use crate::columns::ColumnSet;
use crate::statistics::WideInfo;
use crate::{Settings, Statistics};

/// What EXPLAIN says of a scan, by its first column.
pub(crate) type WideRemarks = Vec<(ColumnId, String)>;

/// Puts scans of wide tables in the place of joins.
pub(crate) fn apply(
    plan: LogicalPlan,
    columns: &mut ColumnTable,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> (LogicalPlan, WideRemarks) {
    if !settings.wide_tables {
        return (plan, vec![]);
    }
    let known = statistics.wide_tables();
    if known.is_empty() {
        return (plan, vec![]);
    }
    let mut rule = Rule { known, columns, remarks: vec![] };
    let plan = rule.rewrite(plan);
    (plan, rule.remarks)
}

struct Rule<'a> {
    known: Vec<Arc<WideInfo>>,
    columns: &'a mut ColumnTable,
    remarks: WideRemarks,
}

/// Inner joins and filters, taken apart.
#[derive(Clone, Default)]
struct Region {
    /// What is joined, in the order of the text.
    leaves: Vec<LogicalPlan>,
    /// Columns that must be equal.
    pairs: Vec<(ColumnId, ColumnId)>,
    /// All other conditions.
    conditions: Vec<Expr>,
    /// Plain scans that are left-joined to what comes before.
    lefts: Vec<LeftLeaf>,
}

#[derive(Clone)]
struct LeftLeaf {
    scan: LogicalPlan,
    pairs: Vec<(ColumnId, ColumnId)>,
}

/// A leaf in the role of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Inner(usize),
    Left(usize),
}

/// A wide table found in a region.
struct Match {
    info: Arc<WideInfo>,
    /// The role of each node; `None` for one that the region does not join.
    roles: Vec<Option<Role>>,
}

impl Match {
    fn joins(&self) -> usize {
        self.roles.iter().flatten().count() - 1
    }
    fn has(&self, role: Role) -> bool {
        self.roles.contains(&Some(role))
    }
}

impl Rule<'_> {
    fn rewrite(&mut self, mut plan: LogicalPlan) -> LogicalPlan {
        if matches!(plan, LogicalPlan::Join { .. } | LogicalPlan::Filter { .. })
            && let Some(rewritten) = self.region(&plan)
        {
            return rewritten;
        }
        for child in plan.children_mut() {
            let taken = std::mem::replace(child, LogicalPlan::placeholder());
            *child = self.rewrite(taken);
        }
        plan
    }

    /// The region whose top is `plan` with wide tables in it; `None` when there is none to use.
    fn region(&mut self, plan: &LogicalPlan) -> Option<LogicalPlan> {
        // Left joins that no wide table has are leaves, known by the first column of their right side.
        let mut opaque: Vec<ColumnId> = Vec::new();
        let (mut region, found) = loop {
            let mut region = Region::default();
            flatten(plan.clone(), &opaque, &mut region);
            let mut found: Vec<Match> = Vec::new();
            let mut taken: Vec<Role> = Vec::new();
            while let Some(next) = self.best(&region, &taken) {
                taken.extend(next.roles.iter().flatten());
                found.push(next);
            }
            let missed = (0..region.lefts.len()).filter(|at| !taken.contains(&Role::Left(*at)));
            let missed: Vec<ColumnId> =
                missed.filter_map(|at| first_column(&region.lefts[at].scan)).collect();
            if missed.is_empty() {
                break (region, found);
            }
            opaque.extend(missed);
        };
        if found.is_empty() {
            return None;
        }
        let mut names: HashMap<ColumnId, ColumnId> = HashMap::new();
        let mut scans: Vec<(usize, LogicalPlan)> = Vec::new();
        for one in &found {
            let at = match one.roles[0] {
                Some(Role::Inner(at)) => at,
                _ => return None,
            };
            scans.push((at, self.scan(one, &region, &mut names)?));
        }
        // Joins that are in the wide rows already; what they said of columns with another name is said of those.
        region.pairs.retain(|pair| !found.iter().any(|one| one.joins_by(&region.leaves, *pair)));
        let named = |id: ColumnId| names.get(&id).copied().unwrap_or(id);
        region.pairs.iter_mut().for_each(|(a, b)| (*a, *b) = (named(*a), named(*b)));
        region.conditions.iter_mut().for_each(|condition| rename(condition, &names));
        let mut leaves: Vec<Option<LogicalPlan>> = region.leaves.into_iter().map(Some).collect();
        for one in &found {
            for role in one.roles.iter().flatten() {
                if let Role::Inner(at) = role {
                    leaves[*at] = None;
                }
            }
        }
        for (at, scan) in scans {
            leaves[at] = Some(scan);
        }
        let leaves = leaves.into_iter().flatten().map(|leaf| match leaf {
            scan @ LogicalPlan::Scan { .. } => scan,
            other if is_named_scan(&other) => other,
            other => self.rewrite(other),
        });
        let leaves = leaves.collect();
        Some(assemble(leaves, region.pairs, region.conditions, self.columns))
    }

    /// The wide table that replaces most joins among the leaves that are left; the narrowest of several.
    fn best(&self, region: &Region, taken: &[Role]) -> Option<Match> {
        let mut best: Option<Match> = None;
        for info in &self.known {
            for (at, leaf) in region.leaves.iter().enumerate() {
                if taken.contains(&Role::Inner(at)) || !is_scan_of(leaf, info, 0) {
                    continue;
                }
                let found = grow(info, at, region, taken);
                let rank = |one: &Match| (one.joins(), std::cmp::Reverse(one.info.nullable.len()));
                if found.joins() > 0 && best.as_ref().is_none_or(|known| rank(&found) > rank(known)) {
                    best = Some(found);
                }
            }
        }
        best
    }

    /// The scan that stands for a match; `names` gets the columns that are other columns' under another id.
    fn scan(
        &mut self,
        found: &Match,
        region: &Region,
        names: &mut HashMap<ColumnId, ColumnId>,
    ) -> Option<LogicalPlan> {
        let info = &found.info;
        let (mut scanned, mut aliases): (Vec<(ColumnId, usize)>, Vec<ColumnId>) = (vec![], vec![]);
        let mut filters = Vec::new();
        for (node, role) in found.roles.iter().enumerate() {
            let Some(role) = role else { continue };
            let LogicalPlan::Scan { columns, filters: own, .. } = leaf(region, *role) else { return None };
            for (id, column) in columns {
                let place = *info.nodes[node].places.get(*column)?;
                self.columns.get_mut(*id).nullable |= info.nullable[place];
                match scanned.iter().find(|(_, there)| *there == place) {
                    Some((known, _)) => {
                        names.insert(*id, *known);
                        aliases.push(*id);
                    }
                    None => scanned.push((*id, place)),
                }
            }
            filters.extend(own.iter().cloned());
            if let (Role::Inner(_), true) = (role, node > 0) {
                // The rows that an inner join drops.
                let parent = &info.nodes[info.nodes[node].parent];
                for column in &info.nodes[node].columns {
                    let place = *parent.places.get(*column)?;
                    if info.nullable[place] {
                        let (id, _) = scanned.iter().find(|(_, there)| *there == place)?;
                        let input = Box::new(self.columns.expr(*id));
                        filters.push(Expr::new(ExprKind::IsNull { input, negated: true }, Type::Boolean));
                    }
                }
            }
        }
        filters.iter_mut().for_each(|filter| rename(filter, names));
        let mut distinct: Vec<Expr> = Vec::with_capacity(filters.len());
        filters.into_iter().for_each(|filter| {
            if !distinct.contains(&filter) {
                distinct.push(filter);
            }
        });
        let source = ScanSource::Table { table: info.table, name: info.name.clone(), sample: None };
        let first = scanned.first()?.0;
        let of: Vec<&str> = (0..found.roles.len())
            .filter(|node| found.roles[*node].is_some())
            .map(|node| info.nodes[node].name.as_str())
            .collect();
        self.remarks.push((first, format!("wide table, in place of {}", of.join(", "))));
        let scan = LogicalPlan::Scan { source, columns: scanned, filters: distinct };
        if aliases.is_empty() {
            return Some(scan);
        }
        let expressions = aliases
            .into_iter()
            .map(|id| (id, Expr::column(names[&id], self.columns.get(names[&id]).ty)))
            .collect();
        Some(LogicalPlan::Project { input: Box::new(scan), expressions })
    }
}

impl Match {
    /// Whether an equality is one of the joins that the wide rows have.
    fn joins_by(&self, leaves: &[LogicalPlan], pair: (ColumnId, ColumnId)) -> bool {
        self.roles.iter().enumerate().skip(1).any(|(node, role)| {
            let Some(Role::Inner(own)) = role else { return false };
            let node = &self.info.nodes[node];
            let Some(Some(Role::Inner(parent))) = self.roles.get(node.parent) else { return false };
            node.columns.iter().zip(&node.referenced).any(|(column, referenced)| {
                let (child, other) = (id_of(&leaves[*parent], *column), id_of(&leaves[*own], *referenced));
                child.zip(other).is_some_and(|(a, b)| pair == (a, b) || pair == (b, a))
            })
        })
    }
}

/// The largest part of a wide table that a region joins, from the fact table's leaf on.
fn grow(info: &Arc<WideInfo>, fact: usize, region: &Region, taken: &[Role]) -> Match {
    let mut found = Match { info: info.clone(), roles: vec![None; info.nodes.len()] };
    found.roles[0] = Some(Role::Inner(fact));
    // Parents come before their children.
    for node in 1..info.nodes.len() {
        let Some(parent) = found.roles[info.nodes[node].parent] else { continue };
        let parent = leaf(region, parent);
        let keyed = |scan: &LogicalPlan, pairs: &[(ColumnId, ColumnId)]| {
            let node = &info.nodes[node];
            node.columns.iter().zip(&node.referenced).all(|(column, referenced)| {
                let ids = id_of(parent, *column).zip(id_of(scan, *referenced));
                ids.is_some_and(|(a, b)| pairs.contains(&(a, b)) || pairs.contains(&(b, a)))
            })
        };
        let free = |role: Role| !taken.contains(&role) && !found.has(role);
        let inner = (0..region.leaves.len()).find(|at| {
            let scan = &region.leaves[*at];
            free(Role::Inner(*at)) && is_scan_of(scan, info, node) && keyed(scan, &region.pairs)
        });
        let left = || {
            (0..region.lefts.len()).find(|at| {
                let LeftLeaf { scan, pairs } = &region.lefts[*at];
                free(Role::Left(*at))
                    && pairs.len() == info.nodes[node].columns.len()
                    && is_scan_of(scan, info, node)
                    && keyed(scan, pairs)
            })
        };
        found.roles[node] = inner.map(Role::Inner).or_else(|| left().map(Role::Left));
    }
    found
}

fn leaf(region: &Region, role: Role) -> &LogicalPlan {
    match role {
        Role::Inner(at) => &region.leaves[at],
        Role::Left(at) => &region.lefts[at].scan,
    }
}

/// Whether a leaf reads columns of a node's table, and all of its rows.
fn is_scan_of(leaf: &LogicalPlan, info: &WideInfo, node: usize) -> bool {
    let LogicalPlan::Scan { source: ScanSource::Table { table, sample: None, .. }, columns, .. } = leaf
    else {
        return false;
    };
    let node = &info.nodes[node];
    // A row's reference is no column.
    *table == node.table && columns.iter().all(|(_, at)| *at < node.places.len())
}

fn id_of(scan: &LogicalPlan, column: usize) -> Option<ColumnId> {
    let LogicalPlan::Scan { columns, .. } = scan else { return None };
    columns.iter().find(|(_, at)| *at == column).map(|(id, _)| *id)
}

fn first_column(scan: &LogicalPlan) -> Option<ColumnId> {
    let LogicalPlan::Scan { columns, .. } = scan else { return None };
    columns.first().map(|(id, _)| *id)
}

/// A scan of a wide table with columns under two names.
fn is_named_scan(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Project { input, expressions } => {
            matches!(**input, LogicalPlan::Scan { .. })
                && expressions.iter().all(|(_, expr)| expr.as_column().is_some())
        }
        _ => false,
    }
}

fn rename(expr: &mut Expr, names: &HashMap<ColumnId, ColumnId>) {
    if let ExprKind::Column(id) = &mut expr.kind {
        *id = names.get(id).copied().unwrap_or(*id);
    }
    expr.children_mut().into_iter().for_each(|child| rename(child, names));
}

fn flatten(plan: LogicalPlan, opaque: &[ColumnId], region: &mut Region) {
    let plain = |scan: &LogicalPlan| match scan {
        LogicalPlan::Scan { source: ScanSource::Table { sample: None, .. }, filters, .. } => {
            filters.is_empty() && first_column(scan).is_some_and(|id| !opaque.contains(&id))
        }
        _ => false,
    };
    match plan {
        LogicalPlan::Join {
            left,
            right,
            kind: JoinKind::Inner,
            on,
            residual,
            null_equals_null: false,
            ..
        } => {
            flatten(*left, opaque, region);
            flatten(*right, opaque, region);
            on.into_iter().for_each(|(l, r)| region.add(Expr::compare(Comparison::Equal, l, r)));
            residual.into_iter().for_each(|condition| region.add(condition));
        }
        LogicalPlan::Filter { input, predicate } => {
            flatten(*input, opaque, region);
            region.add(predicate);
        }
        LogicalPlan::Join {
            left,
            right,
            kind: kind @ (JoinKind::Left | JoinKind::Right),
            on,
            residual: None,
            null_equals_null: false,
            ..
        } if plain(if kind == JoinKind::Left { &right } else { &left })
            && on.iter().all(|(l, r)| l.as_column().is_some() && r.as_column().is_some()) =>
        {
            let (kept, scan) = if kind == JoinKind::Left { (left, right) } else { (right, left) };
            flatten(*kept, opaque, region);
            let pairs = on.iter().filter_map(|(l, r)| l.as_column().zip(r.as_column())).collect();
            region.lefts.push(LeftLeaf { scan: *scan, pairs });
        }
        other => region.leaves.push(other),
    }
}

impl Region {
    fn add(&mut self, condition: Expr) {
        let mut parts = Vec::new();
        condition.split_conjuncts(&mut parts);
        for part in parts {
            match &part.kind {
                ExprKind::Compare { op: Comparison::Equal, left, right } => {
                    match left.as_column().zip(right.as_column()) {
                        Some(pair) => self.pairs.push(pair),
                        None => self.conditions.push(part),
                    }
                }
                _ => self.conditions.push(part),
            }
        }
    }
}

/// Joins the leaves in their order, with each condition where its columns first are together.
fn assemble(
    leaves: Vec<LogicalPlan>,
    mut pairs: Vec<(ColumnId, ColumnId)>,
    mut conditions: Vec<Expr>,
    columns: &ColumnTable,
) -> LogicalPlan {
    let mut leaves = leaves.into_iter();
    let Some(mut plan) = leaves.next() else { return LogicalPlan::placeholder() };
    let mut known = ColumnSet::of_plan(&plan);
    plan = filtered(plan, &known, &mut pairs, &mut conditions, columns);
    for leaf in leaves {
        let own = ColumnSet::of_plan(&leaf);
        let leaf = filtered(leaf, &own, &mut pairs, &mut conditions, columns);
        let mut on = Vec::new();
        pairs.retain(|(a, b)| {
            let (a, b) =
                match (known.contains(*a) && own.contains(*b), known.contains(*b) && own.contains(*a)) {
                    (true, _) => (*a, *b),
                    (_, true) => (*b, *a),
                    _ => return true,
                };
            on.push((columns.expr(a), columns.expr(b)));
            false
        });
        known.union(&own);
        let here = within(&known, &mut conditions);
        plan = LogicalPlan::Join {
            left: Box::new(plan),
            right: Box::new(leaf),
            kind: JoinKind::Inner,
            on,
            residual: (!here.is_empty()).then(|| Expr::and(here)),
            null_equals_null: false,
            null_aware: false,
            mark: None,
        };
    }
    // What is left has no columns of these leaves.
    match conditions.is_empty() {
        true => plan,
        false => LogicalPlan::Filter { input: Box::new(plan), predicate: Expr::and(conditions) },
    }
}

/// The conditions over these columns alone, which are taken away.
fn within(known: &ColumnSet, conditions: &mut Vec<Expr>) -> Vec<Expr> {
    let (here, rest) =
        std::mem::take(conditions).into_iter().partition(|c| ColumnSet::of(c).is_subset(known));
    *conditions = rest;
    here
}

/// A leaf with the conditions over its own columns.
fn filtered(
    leaf: LogicalPlan,
    own: &ColumnSet,
    pairs: &mut Vec<(ColumnId, ColumnId)>,
    conditions: &mut Vec<Expr>,
    columns: &ColumnTable,
) -> LogicalPlan {
    let mut here = within(own, conditions);
    pairs.retain(|(a, b)| {
        let inside = own.contains(*a) && own.contains(*b);
        if inside {
            here.push(Expr::compare(Comparison::Equal, columns.expr(*a), columns.expr(*b)));
        }
        !inside
    });
    if here.is_empty() {
        return leaf;
    }
    match leaf {
        LogicalPlan::Scan { source, columns, mut filters } => {
            filters.append(&mut here);
            LogicalPlan::Scan { source, columns, filters }
        }
        LogicalPlan::Project { input, expressions } if matches!(*input, LogicalPlan::Scan { .. }) => {
            let scanned = ColumnSet::of_plan(&input);
            let inner = within(&scanned, &mut here);
            let input = Box::new(match *input {
                LogicalPlan::Scan { source, columns, mut filters } => {
                    filters.extend(inner);
                    LogicalPlan::Scan { source, columns, filters }
                }
                other => other,
            });
            let plan = LogicalPlan::Project { input, expressions };
            match here.is_empty() {
                true => plan,
                false => LogicalPlan::Filter { input: Box::new(plan), predicate: Expr::and(here) },
            }
        }
        other => LogicalPlan::Filter { input: Box::new(other), predicate: Expr::and(here) },
    }
}
