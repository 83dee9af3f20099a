//! One call of a window node.

use plan::WindowCall;

/// A call with its expressions as positions among the argument program's results.
pub(super) struct Call {
    pub(super) call: WindowCall,
    pub(super) arguments: Vec<usize>,
    pub(super) filter: Option<usize>,
    /// Key and bound of a RANGE frame's ends.
    pub(super) start: Option<(usize, usize)>,
    pub(super) end: Option<(usize, usize)>,
}
