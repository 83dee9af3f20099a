//! The frame: what stands before every message on a link, and all there is of a control message.
//!
//! **The seam to the wire format.** The crate that knows rows writes a header of its own into the *body* of a message
//! (query, attempt, format, compression, checksum of the body). The multiplexer never reads a body; it needs the few
//! fields below, and only this file knows where they lie. When both headers are made one, `Frame::encode` and
//! `Frame::decode` are what changes.
//!
//! ```text
//!  byte 0        4        5     6      7      8      16        24        32     40      44      46           48
//!       | magic  | version| kind| class| flags| epoch| exchange| sequence| value| length| source| destination|
//!         u32      u8       u8    u8     u8     u64    u64       u64       u64    u32     u16     u16     (little endian)
//! ```
//! `value` means by kind: Hello: bytes of a message; Credit: bytes granted since the exchange began (cumulative, so that
//! one that is read twice or late does no harm); Cancel: 0, or 1 + the node that was lost; End: bulk bytes sent to this peer in this view; Report: bytes received.

use std::fmt;

/// A machine of the cluster, by its number in the view: 0 to n − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u16);

impl NodeId {
    /// As an index into tables of nodes.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One exchange of one attempt of one query; given out by the coordinator, never used twice in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u64);

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Bytes of a frame.
pub const FRAME_BYTES: usize = 48;
const MAGIC: u32 = u32::from_le_bytes(*b"QSX1");
const VERSION: u8 = 1;
/// This is the last frame of its source for its destination in its exchange.
pub const FLAG_LAST: u8 = 1;
/// Of an End: its sender sent bulk in the round before. Of a Mode: the schedule is on.
pub const FLAG_BUSY: u8 = 2;

/// Of a Data frame on a socket: it carries a later fragment of its message.
pub const FLAG_CONTINUED: u8 = 4;

/// Of a Data frame on a socket: its body lies in the slot `value` of the pair's shared memory.
pub const FLAG_REFERENCE: u8 = 8;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// First frame of a connection: who speaks, in which view, with messages of which size.
    Hello = 1,
    /// Answer to a Hello that does not fit: the epoch and the size of messages of the one that refuses.
    Refuse = 2,
    /// A message of an exchange.
    Data = 3,
    /// The receiver's grant.
    Credit = 4,
    /// The exchange is cancelled.
    Cancel = 5,
    /// The receiver permits bulk in a phase.
    Permit = 6,
    /// The sender is through with its phase.
    End = 7,
    /// Phases begin again after they were parked.
    Wake = 8,
    /// Nothing but a sign of life.
    Ping = 9,
    /// What a node sent and received in an epoch of `auto`.
    Report = 10,
    /// Whether the schedule is on.
    Mode = 11,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::*;
        [Hello, Refuse, Data, Credit, Cancel, Permit, End, Wake, Ping, Report, Mode]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// What goes before what on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Rows: small messages before large ones as far as their share of the link goes, large ones by the schedule.
    Data = 0,
    /// Control: before everything, never scheduled, in small messages of a pool of its own.
    Urgent = 1,
}

/// A frame, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// What it goes before.
    pub class: Class,
    /// `FLAG_LAST`, `FLAG_BUSY`.
    pub flags: u8,
    /// The view of the cluster that it belongs to.
    pub epoch: u64,
    /// The exchange that it belongs to.
    pub exchange: ExchangeId,
    /// Number of the message within exchange, source and destination; number of the phase.
    pub sequence: u64,
    /// See the head of the file.
    pub value: u64,
    /// Bytes of the body that follows.
    pub length: u32,
    /// Who sends it.
    pub source: NodeId,
    /// Whom it is for.
    pub destination: NodeId,
}

/// Why bytes are no frame, or a frame has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameProblem {
    /// It does not begin as a frame does.
    Magic,
    /// Another version.
    Version(u8),
    /// No such kind.
    Kind(u8),
    /// No such class, or flags that do not exist.
    Class(u8),
    /// A body longer than a message, or one where there is none.
    Length(u32),
    /// Its source or its destination is not of this link.
    Address,
    /// A second Hello, or something else before the first.
    Order,
    /// A message after the last one, or more of them than were announced.
    Sequence(u64),
    /// It names a slot of shared memory that holds no message.
    Reference(u64),
    /// More exchanges were named than a node can have.
    TooMany,
}

impl fmt::Display for FrameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameProblem::Magic => write!(f, "it does not begin as frames do"),
            FrameProblem::Version(version) => write!(f, "version {version} is not {VERSION}"),
            FrameProblem::Kind(kind) => write!(f, "there is no kind {kind}"),
            FrameProblem::Class(class) => write!(f, "there is no class or flag {class}"),
            FrameProblem::Length(length) => write!(f, "a body of {length} bytes cannot be"),
            FrameProblem::Address => write!(f, "it is not between the two nodes of the link"),
            FrameProblem::Order => write!(f, "a connection begins with one Hello"),
            FrameProblem::Sequence(sequence) => write!(f, "message {sequence} is after the last one"),
            FrameProblem::Reference(slot) => write!(f, "there is no message in slot {slot}"),
            FrameProblem::TooMany => write!(f, "it names more exchanges than a node can have"),
        }
    }
}

impl Frame {
    /// A frame without a body and with nothing set but what every frame has.
    pub fn control(kind: Kind, epoch: u64, source: NodeId, destination: NodeId) -> Frame {
        Frame {
            kind,
            class: Class::Urgent,
            flags: 0,
            epoch,
            exchange: ExchangeId(0),
            sequence: 0,
            value: 0,
            length: 0,
            source,
            destination,
        }
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = VERSION;
        bytes[5] = self.kind as u8;
        bytes[6] = self.class as u8;
        bytes[7] = self.flags;
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.exchange.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.value.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.length.to_le_bytes());
        bytes[44..46].copy_from_slice(&self.source.0.to_le_bytes());
        bytes[46..48].copy_from_slice(&self.destination.0.to_le_bytes());
        bytes
    }

    /// From bytes that anybody may have sent. Only Data frames may have a body; how long it may be, the caller checks.
    pub fn decode(bytes: &[u8; FRAME_BYTES]) -> Result<Frame, FrameProblem> {
        let long = |at: usize| {
            let mut field = [0; 8];
            field.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(field)
        };
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if word(0) != MAGIC {
            return Err(FrameProblem::Magic);
        }
        if bytes[4] != VERSION {
            return Err(FrameProblem::Version(bytes[4]));
        }
        let kind = Kind::of(bytes[5]).ok_or(FrameProblem::Kind(bytes[5]))?;
        let class = match bytes[6] {
            0 => Class::Data,
            1 => Class::Urgent,
            other => return Err(FrameProblem::Class(other)),
        };
        if bytes[7] & !(FLAG_LAST | FLAG_BUSY | FLAG_CONTINUED | FLAG_REFERENCE) != 0 {
            return Err(FrameProblem::Class(bytes[7]));
        }
        let length = word(40);
        if length != 0 && kind != Kind::Data {
            return Err(FrameProblem::Length(length));
        }
        Ok(Frame {
            kind,
            class,
            flags: bytes[7],
            epoch: long(8),
            exchange: ExchangeId(long(16)),
            sequence: long(24),
            value: long(32),
            length,
            source: NodeId(short(44)),
            destination: NodeId(short(46)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever bytes come: an error or a frame that is encoded to the same bytes.
        #[test]
        fn hostile_bytes_never_panic(mut bytes in proptest::array::uniform32(any::<u8>()), tail in any::<[u8; 16]>(), shaped in any::<bool>()) {
            if shaped {
                bytes[..4].copy_from_slice(b"QSX1");
                bytes[4] = VERSION;
                bytes[5] %= 13;
                bytes[6] %= 3;
                bytes[7] %= 18;
            }
            let mut whole = [0; FRAME_BYTES];
            whole[..32].copy_from_slice(&bytes);
            whole[32..].copy_from_slice(&tail);
            if let Ok(frame) = Frame::decode(&whole) {
                prop_assert_eq!(frame.encode(), whole);
            }
        }
    }
}
