//! Room for what an evaluation makes: asked for before it is made.
//!
//! An operation whose result grows with its operands' bytes tells an upper bound first. Of several rows the bound
//! must stay within a piece, or the evaluation ends with an error that [`is_too_wide`] knows, and the caller takes
//! fewer rows at a time; of one row it is asked of the memory budget, whose answer is final.

mod bound;

pub(crate) use bound::bound;
use types::{Error, Result, SqlState, Value};
use vector::{Data, Vector};

/// Less is never asked for.
const ASKED_BYTES_MIN: u64 = 1 << 20;
/// What folding constants may make: larger results are left to the execution, which has a budget.
const FOLDED_BYTES_MAX: u64 = 1 << 20;

/// Bytes of what a byte of JSON may become when it is taken apart: an element of two characters is 64 bytes.
const TREE_SHARE: u64 = 40;

const TOO_WIDE: &str = "the rows of a batch are too wide to be computed at once";

/// Asks for so many bytes.
pub type Ask<'a> = dyn Fn(u64) -> Result<()> + 'a;

/// How an evaluation asks for memory, and how much it may make of several rows at once.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    ask: Option<&'a Ask<'a>>,
    /// Bytes that may be made of several rows at once.
    piece_bytes: u64,
}

impl<'a> Room<'a> {
    /// Nothing is asked for.
    pub const UNBOUNDED: Room<'static> = Room { ask: None, piece_bytes: u64::MAX };

    /// Whatever is made is asked for.
    pub fn within(ask: &'a Ask<'a>) -> Self {
        Room { ask: Some(ask), piece_bytes: u64::MAX }
    }
    /// As `within`, and several rows make at most `piece_bytes`, or fail with an error that [`is_too_wide`] knows.
    pub fn in_pieces(ask: &'a Ask<'a>, piece_bytes: u64) -> Self {
        Room { ask: Some(ask), piece_bytes }
    }

    /// `rows` rows are about to become so many bytes.
    pub(crate) fn ask(&self, bytes: u64, rows: usize) -> Result<()> {
        if bytes < ASKED_BYTES_MIN {
            return Ok(());
        }
        if rows > 1 && bytes > self.piece_bytes {
            return Err(Error::new(SqlState::OutOfMemory, TOO_WIDE));
        }
        self.ask.map_or(Ok(()), |ask| ask(bytes))
    }
}

/// For constants of the plan.
pub(crate) fn folding(bytes: u64) -> Result<()> {
    match bytes > FOLDED_BYTES_MAX {
        true => Err(Error::new(SqlState::OutOfMemory, TOO_WIDE)),
        false => Ok(()),
    }
}

/// Whether an evaluation failed only for the number of its rows.
pub fn is_too_wide(error: &Error) -> bool {
    error.state() == SqlState::OutOfMemory && error.message() == TOO_WIDE
}

/// Bytes of the texts and nested values of all rows, as many times as they occur.
pub fn text_bytes(vector: &Vector) -> u64 {
    match vector.data() {
        Data::Constant(Value::Bytes(bytes)) => (bytes.len() as u64).saturating_mul(vector.len() as u64),
        Data::Bytes(strings) if strings.buffers().is_empty() => 12 * strings.len() as u64,
        Data::Bytes(strings) => {
            strings.views().iter().map(|view| vector::strings::view_length(*view) as u64).sum()
        }
        Data::Dictionary { codes, values } if matches!(values.data(), Data::Bytes(_)) => {
            let Data::Bytes(strings) = values.data() else { return 0 };
            let views = strings.views();
            let length =
                |code: &u32| views.get(*code as usize).map_or(0, |v| vector::strings::view_length(*v));
            codes.iter().map(|code| length(code) as u64).sum()
        }
        _ => 0,
    }
}
