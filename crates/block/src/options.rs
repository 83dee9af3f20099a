//! What a block is to be made like: its layout, the column its rows are sorted by, and its indices.

use types::{Physical, Type};

use crate::LayoutKind;

/// The kinds of index sub-blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexKind {
    /// Cache-sensitive B+-tree: few rows by value.
    Tree,
    /// Bit slices, scanned until every row is decided.
    WeavingVertical,
    /// Packed codes with a bit to spare, compared many at a time by one addition.
    WeavingHorizontal,
    /// Minimum, maximum, sum and counts of every thousand rows or so.
    Aggregates,
    /// Which values do not occur.
    Bloom,
}

impl IndexKind {
    /// Every kind, each once.
    pub const ALL: [IndexKind; 5] = [
        IndexKind::Tree,
        IndexKind::WeavingVertical,
        IndexKind::WeavingHorizontal,
        IndexKind::Aggregates,
        IndexKind::Bloom,
    ];
    /// The name in SQL and in catalog files; `from_name` reads it.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Tree => "csbtree",
            IndexKind::WeavingVertical => "bitweaving_v",
            IndexKind::WeavingHorizontal => "bitweaving_h",
            IndexKind::Aggregates => "sma",
            IndexKind::Bloom => "bloom",
        }
    }
    /// The kind that CREATE INDEX ... USING names, in any case; `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csbtree" | "csb" | "btree" | "art" => IndexKind::Tree,
            "bitweaving" | "bitweaving_v" => IndexKind::WeavingVertical,
            "bitweaving_h" => IndexKind::WeavingHorizontal,
            "sma" => IndexKind::Aggregates,
            "bloom" => IndexKind::Bloom,
            _ => return None,
        })
    }
    /// Whether such an index on a column of the type can ever be built. Booleans are bitmaps already; everything else
    /// has keys when it is coded, numbers always.
    pub fn suits(self, ty: Type) -> bool {
        match ty.physical() {
            Physical::Bool => false,
            _ if ty == Type::Null => false,
            // Nested values have no literals to be compared with.
            _ if ty.is_nested() => false,
            _ => true,
        }
    }
}

/// An index on a column, by the column's number in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexSpecification {
    /// The kind of sub-block.
    pub kind: IndexKind,
    /// Position of the column in the block.
    pub column: usize,
}

/// How `encode` lays out a block, and what it adds.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EncodeOptions {
    /// The tuple store; its row or column form, and whether columns may be coded.
    pub layout: LayoutKind,
    /// The rows are sorted by this column, NULL last; the parts must come so (`sort_parts`). Column layouts only.
    pub sorted_by: Option<usize>,
    /// Indices that the block is to hold. One that cannot be built on the block's data (BitWeaving on text that does
    /// not repeat and so has no codes) is left out: the block then scans.
    pub indices: Vec<IndexSpecification>,
}

impl From<LayoutKind> for EncodeOptions {
    fn from(layout: LayoutKind) -> Self {
        EncodeOptions { layout, ..EncodeOptions::default() }
    }
}
impl From<&EncodeOptions> for EncodeOptions {
    fn from(options: &EncodeOptions) -> Self {
        options.clone()
    }
}
