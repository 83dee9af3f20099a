//! Which dictionaries the links of an exchange have seen: the state of their two ends.
//!
//! ```text
//!  message with the flag DICTIONARY   body: | number u32 | column u32 | 0 u64 | parcel of one column, the values |
//!
//!  sender    rows of a dictionary that was not sent yet go as strings, until codes would have saved as much as the
//!            dictionary costs on all links; then it is serialised once and sent on each, and codes from then on
//!  receiver  a message whose dictionary has not come yet is kept until it has
//! ```
//! So dictionaries cost at most twice what an oracle would have paid, and one that pays at once (three values, thousands
//! of rows) is sent at once. The sender knows a dictionary by its allocation and holds only a weak reference:
//! a block that leaves memory is not kept by a link, and its address is not used again while the reference is there.
//!
//! Both ends hold to the same bounds, [`DICTIONARIES_MAX`] and [`DICTIONARY_BYTES_MAX`] a source and exchange; beyond,
//! rows are sent as strings, and a peer that sends more is refused.
//!
//! A worker may send codes before another has handed over the dictionary, messages may overtake each other on their way,
//! and several workers read them: that is why the receiver waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use arrow_buffer::Buffer;
use types::{Error, Result, SqlState, Type};
use vector::{Batch, Data, Vector};

use super::read::{Unread, read_dictionary};
use super::{Assign, ColumnWriter, PARCEL_ROWS_MAX};
use crate::header::Flags;
use crate::picked::Picked;

/// Dictionaries of a source and exchange, at most.
pub const DICTIONARIES_MAX: usize = 1024;
/// Bytes of all dictionaries of a source and exchange, at most.
pub const DICTIONARY_BYTES_MAX: usize = 16 << 20;

/// A dictionary that the sender has met.
struct Met {
    values: Weak<Vector>,
    /// Bytes that it costs to send, and those of a value on average.
    cost: usize,
    average: usize,
    /// Bytes that codes would have saved so far.
    missed: usize,
    number: Option<u32>,
}

/// The sender's end.
pub struct Sent {
    met: HashMap<(usize, usize), Met>,
    next: u32,
    count: usize,
    bytes: usize,
    body_bytes_max: usize,
    links: usize,
    /// Dictionaries to send before anything else: number, column and values.
    due: Vec<(u32, usize, Arc<Vector>)>,
}

impl Sent {
    /// Of so many links, whose messages have bodies of at most so many bytes.
    pub fn new(links: usize, body_bytes_max: usize) -> Sent {
        let (met, due) = (HashMap::new(), Vec::new());
        Sent { met, next: 0, count: 0, bytes: 0, body_bytes_max, links, due }
    }
    /// Takes a dictionary that must be sent now.
    pub fn take_due(&mut self) -> Option<(u32, usize, Arc<Vector>)> {
        self.due.pop()
    }
    /// Puts a dictionary back for which there was no message.
    pub fn put_back(&mut self, due: (u32, usize, Arc<Vector>)) {
        self.due.push(due);
    }
}

/// Bytes of a dictionary's strings.
fn string_bytes(values: &Vector) -> usize {
    match values.data() {
        Data::Bytes(strings) => strings.views().iter().map(|view| vector::strings::view_length(*view)).sum(),
        _ => usize::MAX / 2,
    }
}

impl Assign for Sent {
    fn assign(&mut self, column: usize, values: &Arc<Vector>, rows: usize, width: usize) -> Option<u32> {
        // Those whose values are gone make room.
        if self.met.len() > 2 * DICTIONARIES_MAX {
            self.met.retain(|_, met| met.values.strong_count() > 0);
        }
        let met = self.met.entry((column, Arc::as_ptr(values) as usize)).or_insert_with(|| {
            let bytes = string_bytes(values);
            let cost = bytes.saturating_add(4 * values.len()).saturating_add(64);
            let average = bytes / values.len().max(1);
            Met { values: Arc::downgrade(values), cost, average, missed: 0, number: None }
        });
        if met.number.is_some() {
            return met.number;
        }
        met.missed += rows * (met.average + 1).saturating_sub(width);
        let fits = met.cost <= self.body_bytes_max / 2
            && values.len() <= PARCEL_ROWS_MAX
            && self.count < DICTIONARIES_MAX
            && self.bytes + met.cost <= DICTIONARY_BYTES_MAX;
        if met.missed < met.cost * self.links || !fits {
            return None;
        }
        met.number = Some(self.next);
        self.due.push((self.next, column, values.clone()));
        self.next += 1;
        self.count += 1;
        self.bytes += met.cost;
        met.number
    }
}

/// Nothing is sent as codes.
pub struct NoDictionaries;

impl Assign for NoDictionaries {
    fn assign(&mut self, _: usize, _: &Arc<Vector>, _: usize, _: usize) -> Option<u32> {
        None
    }
}

/// Writes the body of a dictionary's message; gives its bytes.
pub fn write(number: u32, column: usize, values: &Arc<Vector>, out: &mut [u8]) -> usize {
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..8].copy_from_slice(&(column as u32).to_le_bytes());
    out[8..16].fill(0);
    let mut writer = ColumnWriter::new();
    let rows = values.len();
    writer.take(&Batch::new(vec![(**values).clone()], rows), false, &mut NoDictionaries);
    16 + writer.write(Picked::all(rows), &mut out[16..])
}

/// A body that waits for a dictionary, and its message's flags.
pub type Waiting = (Buffer, Flags);

/// The receiver's end: of one source and exchange.
#[derive(Default)]
pub struct Received {
    known: RwLock<HashMap<u32, Arc<Vector>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: usize,
    waiting: Vec<(u32, Waiting)>,
}

impl Received {
    /// A receiver that knows none.
    pub fn new() -> Self {
        Self::default()
    }
    /// The dictionary of a number.
    pub fn get(&self, number: u32) -> Option<Arc<Vector>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }
    /// Takes the body of a dictionary's message, and gives the bodies that waited for it.
    ///
    /// # Errors
    /// 08P01 for bytes that are no dictionary, a number that is taken, and more than the bounds allow.
    pub fn add(&self, types: &[Type], body: &Buffer) -> Result<Vec<Waiting>> {
        let (number, values) = read_dictionary(types, body).map_err(|unread| match unread {
            Unread::Wrong(error) => error,
            Unread::Dictionary(_) => refused("a dictionary refers to another"),
        })?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        state.bytes += body.len();
        if known.len() >= DICTIONARIES_MAX || state.bytes > 2 * DICTIONARY_BYTES_MAX {
            return Err(refused("a machine sends too many dictionaries"));
        }
        if known.insert(number, Arc::new(values)).is_some() {
            return Err(refused("a machine sends a dictionary twice"));
        }
        let mut freed = Vec::new();
        for (awaited, body) in std::mem::take(&mut state.waiting) {
            match awaited == number {
                true => freed.push(body),
                false => state.waiting.push((awaited, body)),
            }
        }
        Ok(freed)
    }
    /// Keeps a body until the dictionary of this number comes; gives it back if it has come meanwhile. What is kept lies
    /// within the window that the sender was granted.
    pub fn keep(&self, number: u32, body: Waiting) -> Option<Waiting> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.get(number).is_some() {
            return Some(body);
        }
        state.waiting.push((number, body));
        None
    }
}

fn refused(what: &str) -> Error {
    Error::new(SqlState::ProtocolViolation, what)
}
