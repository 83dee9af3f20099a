//! The join graph: relations as bits, what connects them, and how many rows any subset of them gives.
//!
//! Nothing here knows plans or expressions, so that the enumerations can be tested on toy graphs.
//!
//! Two kinds of vertices. *Core* relations are inner-joined. *Attached* relations are the right sides of outer,
//! semi-, anti- and mark joins: each judges or extends rows of the relations it requires, row by row, and so commutes
//! with the inner joins around it. An attached relation joins only as a single vertex, and only a set that has
//! everything it requires. That is all it takes to let the enumeration move semi-joins up and down.

use crate::cost;

/// A set of relations, by bit.
pub(crate) type Set = u64;

/// No more relations than this are ordered together.
pub(crate) const RELATIONS_MAX: usize = 60;

/// How an attached relation joins.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    /// Relations that have to be joined before it.
    pub(crate) required: Set,
    /// Rows out per row in.
    pub(crate) factor: f64,
    /// Whether the other side may be the one to build.
    pub(crate) may_swap: bool,
    /// Whether the join has equalities.
    pub(crate) has_keys: bool,
    /// Keys that its condition compares by order, where it has no others.
    pub(crate) range_keys: usize,
}

/// Columns that are all equal: at most one per relation counts, with the distinct values of its domain.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Relation and distinct values of its column, one entry a relation.
    pub(crate) members: Vec<(usize, f64)>,
}

impl Class {
    fn mask(&self) -> Set {
        self.members.iter().fold(0, |mask, (relation, _)| mask | bit(*relation))
    }
}

/// A condition over several relations that is not an equality of columns.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// All relations that the condition uses.
    pub(crate) mask: Set,
    /// The share of their pairs that it keeps.
    pub(crate) selectivity: f64,
    /// An equality of expressions: the relations of either side.
    pub(crate) sides: Option<(Set, Set)>,
    /// A comparison by order: likewise.
    pub(crate) ordered: Option<(Set, Set)>,
}

/// A column that joins carry: from any relation of `of`, until all of `until` are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Relations that have the column.
    pub(crate) of: Set,
    /// Relations that its readers belong to, or `RESULT`.
    pub(crate) until: Set,
    /// Its width in a row.
    pub(crate) bytes: f64,
}

/// Never all joined: a column of the result.
pub(crate) const RESULT: Set = Set::MAX;

/// The relations of a region and what connects them; sizes and selectivities are estimates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    rows: Vec<f64>,
    attached: Vec<Option<Attachment>>,
    classes: Vec<(Class, Set)>,
    links: Vec<Link>,
    /// Pairs of relations that share several classes, and by how much independence underestimates them.
    corrections: Vec<(Set, f64)>,
    carried: Vec<Carried>,
    adjacent: Vec<Set>,
    attached_mask: Set,
}

/// The set of one relation.
pub(crate) fn bit(relation: usize) -> Set {
    1 << relation
}

/// The relations of a set, ascending.
pub(crate) fn bits(set: Set) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let next = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(next)
    })
}

impl Graph {
    /// Adds an inner-joined relation with so many rows; returns its number.
    pub(crate) fn add_core(&mut self, rows: f64) -> usize {
        self.add(rows, None)
    }
    /// Adds an attached relation with so many rows; returns its number.
    pub(crate) fn add_attached(&mut self, rows: f64, attachment: Attachment) -> usize {
        let required = attachment.required;
        let at = self.add(rows, Some(attachment));
        self.attached_mask |= bit(at);
        self.connect(required | bit(at));
        at
    }
    fn add(&mut self, rows: f64, attached: Option<Attachment>) -> usize {
        self.rows.push(rows.max(1.0));
        self.attached.push(attached);
        self.adjacent.push(0);
        self.rows.len() - 1
    }
    /// Adds columns that are equal, and connects their relations.
    pub(crate) fn add_class(&mut self, class: Class) {
        let mask = class.mask();
        self.connect(mask);
        self.classes.push((class, mask));
    }
    /// Adds a condition, and connects its relations.
    pub(crate) fn add_link(&mut self, link: Link) {
        self.connect(link.mask);
        self.links.push(link);
    }
    /// Corrects the estimate of two relations that share several classes by a factor.
    pub(crate) fn add_correction(&mut self, pair: Set, factor: f64) {
        self.corrections.push((pair, factor));
    }
    /// Adds a column that costs while it is carried.
    pub(crate) fn add_carried(&mut self, carried: Carried) {
        self.carried.push(carried);
    }
    fn connect(&mut self, mask: Set) {
        for relation in bits(mask) {
            self.adjacent[relation] |= mask & !bit(relation);
        }
    }

    /// The number of relations.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
    /// Relations outside of `set` that some relation of it is connected with.
    pub(crate) fn neighbours(&self, set: Set) -> Set {
        bits(set).fold(0, |all, relation| all | self.adjacent[relation]) & !set
    }

    /// The attached relation that `set` consists of, if it is one.
    pub(crate) fn single_attached(&self, set: Set) -> Option<&Attachment> {
        if set & self.attached_mask == 0 || !set.is_power_of_two() {
            return None;
        }
        self.attached[set.trailing_zeros() as usize].as_ref()
    }

    /// Whether `set` can be the result of joins: whatever is attached has what it requires.
    pub(crate) fn is_valid(&self, set: Set) -> bool {
        set.is_power_of_two()
            || bits(set & self.attached_mask)
                .all(|at| self.attached[at].as_ref().is_none_or(|a| a.required & !set == 0))
    }

    /// Rows of the join of a valid set.
    pub(crate) fn rows(&self, set: Set) -> f64 {
        if set.is_power_of_two() {
            return self.rows[set.trailing_zeros() as usize];
        }
        let mut rows = 1.0;
        for relation in bits(set) {
            rows *= match &self.attached[relation] {
                None => self.rows[relation],
                Some(attachment) => attachment.factor,
            };
        }
        for (class, mask) in &self.classes {
            if (mask & set).count_ones() < 2 {
                continue;
            }
            // k equal columns are k - 1 equalities; the smallest domain is contained in all the others.
            let mut smallest = f64::INFINITY;
            let mut product = 1.0;
            for (relation, domain) in &class.members {
                if set & bit(*relation) != 0 {
                    let domain = domain.max(1.0);
                    product *= domain;
                    smallest = smallest.min(domain);
                }
            }
            rows *= smallest / product;
        }
        for link in &self.links {
            if link.mask & !set == 0 {
                rows *= link.selectivity;
            }
        }
        for (pair, factor) in &self.corrections {
            if pair & !set == 0 {
                rows *= factor;
            }
        }
        rows.max(1.0)
    }

    /// Whether an equality joins the two sets.
    pub(crate) fn has_equality(&self, one: Set, other: Set) -> bool {
        self.classes.iter().any(|(_, mask)| mask & one != 0 && mask & other != 0)
            || self.links.iter().any(|link| {
                link.sides.is_some_and(|(l, r)| {
                    (l & !one == 0 && r & !other == 0) || (l & !other == 0 && r & !one == 0)
                })
            })
    }

    /// Comparisons by order of the two sets.
    fn ranges(&self, one: Set, other: Set) -> usize {
        let spans =
            |(l, r): (Set, Set)| (l & !one == 0 && r & !other == 0) || (l & !other == 0 && r & !one == 0);
        self.links.iter().filter(|link| link.ordered.is_some_and(spans)).count()
    }

    /// Bytes of a row of `one`, and of a row of `other`, that are still wanted when the two are joined.
    fn payloads(&self, one: Set, other: Set) -> (f64, f64) {
        let both = one | other;
        let (mut first, mut second) = (0.0, 0.0);
        for column in self.carried.iter().filter(|c| c.until & !both != 0) {
            // What both sides have is taken from the side that probes.
            match (column.of & one != 0, column.of & other != 0) {
                (true, false) => first += column.bytes,
                (false, true) => second += column.bytes,
                _ => {}
            }
        }
        (first, second)
    }

    /// The price of joining two disjoint valid sets into `rows` rows, whichever way round is cheaper.
    pub(crate) fn price(&self, one: (Set, f64), other: (Set, f64), rows: f64) -> f64 {
        if self.single_attached(one.0).is_some() {
            return self.price_of(other, one, rows);
        }
        self.price_of(one, other, rows)
    }

    /// The same; what is attached stands on the right.
    fn price_of(&self, left: (Set, f64), right: (Set, f64), rows: f64) -> f64 {
        let ((first, a), (second, b)) = (left, right);
        let (of_left, of_right) = self.payloads(first, second);
        let straight = || cost::hash_join(a, b, of_right, rows);
        let turned = || cost::hash_join(b, a, of_left, rows);
        let by_order = |probe: f64, build: f64, ranges: usize| {
            let loops = cost::nested_loops(probe, build, rows);
            match ranges {
                0 => loops,
                ranges => loops.min(cost::range_join(probe, build, ranges.min(2) as f64, rows)),
            }
        };
        match self.single_attached(second) {
            Some(attachment) if !attachment.has_keys => by_order(a, b, attachment.range_keys),
            Some(attachment) if attachment.may_swap => straight().min(turned() + a),
            Some(_) => straight(),
            None if self.has_equality(first, second) => straight().min(turned()),
            None => by_order(a.max(b), a.min(b), self.ranges(first, second)),
        }
    }
}

/// An order of joins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Relation(usize),
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// A join of two trees.
    pub(crate) fn join(left: Tree, right: Tree) -> Tree {
        Tree::Join(Box::new(left), Box::new(right))
    }
    /// The relations below this node.
    pub(crate) fn set(&self) -> Set {
        match self {
            Tree::Relation(at) => bit(*at),
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }
}
