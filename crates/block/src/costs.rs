//! The ways in which the rows that pass a predicate can be found, and what scans cost as far as tuple stores tell it: the
//! unit costs that they and the choice among the ways share.

/// How a predicate was evaluated on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessPath {
    /// The block's minimum, maximum and NULLs decided; no row was read.
    Bounds,
    /// Binary search in a sorted column.
    Search,
    /// The Bloom filter: no value searched for occurs.
    Bloom,
    /// Zone aggregates, with a scan of the zones that they do not decide.
    Aggregates,
    /// The B+-tree.
    Tree,
    /// Bit slices.
    WeavingVertical,
    /// Packed codes.
    WeavingHorizontal,
    /// All rows.
    Scan,
    /// Only the rows still selected, one by one.
    Probe,
}

impl AccessPath {
    /// In the order of the variants; `AccessCounters::paths` is indexed alike.
    pub const ALL: [AccessPath; 9] = [
        AccessPath::Bounds,
        AccessPath::Search,
        AccessPath::Bloom,
        AccessPath::Aggregates,
        AccessPath::Tree,
        AccessPath::WeavingVertical,
        AccessPath::WeavingHorizontal,
        AccessPath::Scan,
        AccessPath::Probe,
    ];
    /// The name that EXPLAIN ANALYZE shows.
    pub fn name(self) -> &'static str {
        match self {
            AccessPath::Bounds => "bounds",
            AccessPath::Search => "search",
            AccessPath::Bloom => "bloom",
            AccessPath::Aggregates => "sma",
            AccessPath::Tree => "csbtree",
            AccessPath::WeavingVertical => "bitweaving_v",
            AccessPath::WeavingHorizontal => "bitweaving_h",
            AccessPath::Scan => "scan",
            AccessPath::Probe => "probe",
        }
    }
}

/// What a scan of a column costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanCost {
    /// A row, selected or not.
    pub row_ns: f64,
    /// A row that is still selected.
    pub selected_ns: f64,
    /// A row that is still selected, when only such are looked at; infinite where that is what a scan does.
    pub probe_ns: f64,
}

/// Measured by `examples/access.rs` on an AMD EPYC with AVX-512, out of memory and not of a cache; they need to be right
/// about one another, not about the clock.
///
/// A byte of codes or values under a range test.
pub(crate) const SCAN_BYTE_NS: f64 = 0.04;
/// A value that is looked at by its row number.
pub(crate) const PROBE_NS: f64 = 1.5;
/// A string compared.
pub(crate) const STRING_NS: f64 = 5.0;
/// A field gathered from its row, and a byte of the rows passed over.
pub(crate) const FIELD_NS: f64 = 0.7;
pub(crate) const ROW_BYTE_NS: f64 = 0.06;
