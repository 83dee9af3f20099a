//! Messages as bytes: what locales of different processes say to each other, and locales of one process when bodies do not
//! run where they are asked for. Many of them, of many tasks, lie one after another in a buffer; each says itself where it
//! ends.
//!
//! ```text
//!  word     kind | answer<<4, address u64, operand u64 [, second u64 of compare-and-swap], answer
//!  reply    kind, locale u16, slot u32, value u64              replies with bytes: ..., length u32, bytes
//!  note     kind, event (slot u32, master u16), from u16, to u16, note u8, pieces u32
//!  call     kind | answer<<4, handler u16, object u16, locale u16, answer, length u32, argument
//!  task     kind | answer<<4, handler u16, locale u16, answer, length u32, argument
//!  control  kind, what u8, length u32, bytes
//!  answer   nothing  |  reply, urgent or not: locale u16, slot u32  |  event: slot u32, master u16, origin u16        (little endian)
//! ```
//! An asynchronous add is 25 bytes, a blocking one 23 and its reply 15. Reading checks lengths and kinds; what the fields
//! name is checked by who follows them.

use crate::address::{GlobalAddress, LocaleId};
use crate::completion::Note;
use crate::error::GlobalError;
use crate::plain::Plain;

/// What is done to a word of an array, at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Gives it.
    Read = 0,
    /// Replaces it; gives what was there.
    Write = 1,
    /// Adds to it; gives what was there.
    Add = 2,
    /// Replaces it if it is what was expected; gives what was there.
    CompareSwap = 3,
    /// Lowers it to the operand; gives what was there.
    Minimum = 4,
    /// Raises it to the operand; gives what was there.
    Maximum = 5,
}

const OPERATIONS: [Operation; 6] = [
    Operation::Read,
    Operation::Write,
    Operation::Add,
    Operation::CompareSwap,
    Operation::Minimum,
    Operation::Maximum,
];

/// A completion event: which one of the locale that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId {
    pub(crate) slot: u32,
    pub(crate) master: LocaleId,
}

/// Who waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyTo {
    pub(crate) locale: LocaleId,
    pub(crate) slot: u32,
}

/// What is to be said when a message was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    Reply(ReplyTo),
    /// Past all lists, as the message came.
    Urgent(ReplyTo),
    Event(EventId, LocaleId),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Packet<'b> {
    Word { operation: Operation, address: GlobalAddress, operand: u64, second: u64, answer: Answer },
    Reply { to: ReplyTo, value: u64 },
    ReplyBytes { to: ReplyTo, bytes: &'b [u8] },
    Note { event: EventId, from: LocaleId, to: LocaleId, note: Note },
    Call { handler: u16, object: u16, locale: LocaleId, argument: &'b [u8], answer: Answer },
    Task { handler: u16, locale: LocaleId, argument: &'b [u8], answer: Answer },
    Control { what: u8, bytes: &'b [u8] },
}

const WORD: u8 = 1;
const REPLY: u8 = 9;
const REPLY_BYTES: u8 = 10;
const NOTE: u8 = 11;
const CALL: u8 = 12;
const TASK: u8 = 13;
const CONTROL: u8 = 14;

impl Answer {
    fn kind(self) -> u8 {
        match self {
            Answer::Nothing => 0,
            Answer::Reply(_) => 1 << 4,
            Answer::Event(..) => 2 << 4,
            Answer::Urgent(_) => 3 << 4,
        }
    }

    fn write(self, to: &mut Vec<u8>) {
        match self {
            Answer::Nothing => {}
            Answer::Reply(reply) | Answer::Urgent(reply) => reply.write(to),
            Answer::Event(event, origin) => (event.slot, event.master.0, origin.0).write(to),
        }
    }

    fn read(kind: u8, from: &mut &[u8]) -> Option<Answer> {
        match kind >> 4 {
            0 => Some(Answer::Nothing),
            1 => Some(Answer::Reply(ReplyTo::read(from)?)),
            2 => {
                let (slot, master, origin) = Plain::read(from)?;
                Some(Answer::Event(EventId { slot, master: LocaleId(master) }, LocaleId(origin)))
            }
            3 => Some(Answer::Urgent(ReplyTo::read(from)?)),
            _ => None,
        }
    }
}

impl ReplyTo {
    fn write(self, to: &mut Vec<u8>) {
        (self.locale.0, self.slot).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<ReplyTo> {
        let (locale, slot) = Plain::read(from)?;
        Some(ReplyTo { locale: LocaleId(locale), slot })
    }
}

fn write_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    (bytes.len() as u32).write(to);
    to.extend_from_slice(bytes);
}

fn read_bytes<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::read(from)? as usize;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}

fn write_note(note: Note, to: &mut Vec<u8>) {
    let (kind, pieces) = match note {
        Note::Cancel => (0_u8, 0_u32),
        Note::Acknowledge => (1, 0),
        Note::Enter => (2, 0),
        Note::Complete(pieces) => (3, pieces),
    };
    (kind, pieces).write(to);
}

fn read_note(from: &mut &[u8]) -> Option<Note> {
    match <(u8, u32)>::read(from)? {
        (0, _) => Some(Note::Cancel),
        (1, _) => Some(Note::Acknowledge),
        (2, _) => Some(Note::Enter),
        (3, pieces) => Some(Note::Complete(pieces)),
        _ => None,
    }
}

impl<'b> Packet<'b> {
    #[inline]
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match *self {
            Packet::Word { operation, address, operand, second, answer } => {
                to.push((WORD + operation as u8) | answer.kind());
                (address.0, operand).write(to);
                if operation == Operation::CompareSwap {
                    second.write(to);
                }
                answer.write(to);
            }
            Packet::Reply { to: reply, value } => {
                to.push(REPLY);
                reply.write(to);
                value.write(to);
            }
            Packet::ReplyBytes { to: reply, bytes } => {
                to.push(REPLY_BYTES);
                reply.write(to);
                write_bytes(bytes, to);
            }
            Packet::Note { event, from, to: at, note } => {
                to.push(NOTE);
                (event.slot, event.master.0, from.0, at.0).write(to);
                write_note(note, to);
            }
            Packet::Call { handler, object, locale, argument, answer } => {
                to.push(CALL | answer.kind());
                (handler, object, locale.0).write(to);
                answer.write(to);
                write_bytes(argument, to);
            }
            Packet::Task { handler, locale, argument, answer } => {
                to.push(TASK | answer.kind());
                (handler, locale.0).write(to);
                answer.write(to);
                write_bytes(argument, to);
            }
            Packet::Control { what, bytes } => {
                to.push(CONTROL);
                what.write(to);
                write_bytes(bytes, to);
            }
        }
    }

    /// Takes the next message off a buffer.
    #[inline]
    pub(crate) fn read(from: &mut &'b [u8]) -> Result<Packet<'b>, GlobalError> {
        Self::try_read(from).ok_or(GlobalError::Malformed { what: "a message" })
    }

    fn try_read(from: &mut &'b [u8]) -> Option<Packet<'b>> {
        let kind = u8::read(from)?;
        match kind & 0xf {
            of @ WORD..REPLY => {
                let operation = *OPERATIONS.get(usize::from(of - WORD))?;
                let (address, operand) = Plain::read(from)?;
                let second = if operation == Operation::CompareSwap { u64::read(from)? } else { 0 };
                let answer = Answer::read(kind, from)?;
                Some(Packet::Word { operation, address: GlobalAddress(address), operand, second, answer })
            }
            REPLY => Some(Packet::Reply { to: ReplyTo::read(from)?, value: u64::read(from)? }),
            REPLY_BYTES => Some(Packet::ReplyBytes { to: ReplyTo::read(from)?, bytes: read_bytes(from)? }),
            NOTE => {
                let (slot, master, sender, at) = Plain::read(from)?;
                let event = EventId { slot, master: LocaleId(master) };
                Some(Packet::Note { event, from: LocaleId(sender), to: LocaleId(at), note: read_note(from)? })
            }
            CALL => {
                let (handler, object, locale) = Plain::read(from)?;
                let answer = Answer::read(kind, from)?;
                let argument = read_bytes(from)?;
                Some(Packet::Call { handler, object, locale: LocaleId(locale), argument, answer })
            }
            TASK => {
                let (handler, locale) = Plain::read(from)?;
                let answer = Answer::read(kind, from)?;
                Some(Packet::Task { handler, locale: LocaleId(locale), argument: read_bytes(from)?, answer })
            }
            CONTROL => Some(Packet::Control { what: u8::read(from)?, bytes: read_bytes(from)? }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Packet<'static>> {
        let (here, event) = (LocaleId(5), EventId { slot: 9, master: LocaleId(2) });
        let reply = ReplyTo { locale: here, slot: 77 };
        let answers =
            [Answer::Nothing, Answer::Reply(reply), Answer::Event(event, here), Answer::Urgent(reply)];
        let address = GlobalAddress::element(3, 1 << 40);
        let mut all: Vec<Packet<'static>> = Vec::new();
        for answer in answers {
            for operation in OPERATIONS {
                let second = if operation == Operation::CompareSwap { 8 } else { 0 };
                all.push(Packet::Word { operation, address, operand: u64::MAX, second, answer });
            }
            all.push(Packet::Call { handler: 4, object: 6, locale: here, argument: b"argument", answer });
            all.push(Packet::Task { handler: 4, locale: here, argument: b"", answer });
        }
        let notes = [Note::Cancel, Note::Acknowledge, Note::Enter, Note::Complete(12)];
        all.extend(notes.map(|note| Packet::Note { event, from: here, to: LocaleId(1), note }));
        all.push(Packet::Reply { to: reply, value: 6 });
        all.push(Packet::ReplyBytes { to: reply, bytes: b"bytes" });
        all.push(Packet::Control { what: 3, bytes: b"what" });
        all
    }

    #[test]
    fn messages_come_back_one_after_another() {
        let mut bytes = Vec::new();
        all().iter().for_each(|packet| packet.write(&mut bytes));
        let mut left = &bytes[..];
        for packet in all() {
            assert_eq!(Packet::read(&mut left).unwrap(), packet);
        }
        assert!(left.is_empty());
    }

    #[test]
    fn an_asynchronous_add_is_as_long_as_the_head_says() {
        let length = |packet: Packet<'_>| {
            let mut bytes = Vec::new();
            packet.write(&mut bytes);
            bytes.len()
        };
        let all = all();
        let adds =
            all.iter().filter(|packet| matches!(packet, Packet::Word { operation: Operation::Add, .. }));
        assert!(adds.map(|packet| length(packet.clone())).eq([17, 23, 25, 23]));
        assert_eq!(length(Packet::Reply { to: ReplyTo { locale: LocaleId(0), slot: 0 }, value: 0 }), 15);
    }

    /// Any bytes are read or refused; mutated ones as well.
    #[test]
    fn noise_does_no_harm() {
        let mut random = random::Random::new(5);
        let mut whole = Vec::new();
        all().iter().for_each(|packet| packet.write(&mut whole));
        for round in 0..20_000 {
            let mut bytes = whole.clone();
            if round % 2 == 0 {
                bytes = (0..random.below(64_usize)).map(|_| random.bits() as u8).collect();
            } else {
                let at = random.below(bytes.len());
                bytes[at] = random.bits() as u8;
                bytes.truncate(random.below(bytes.len() + 1));
            }
            let mut left = &bytes[..];
            while !left.is_empty() && Packet::read(&mut left).is_ok() {}
        }
    }
}
