//! Bodies larger than a message: a row with a long string travels in pieces.
//!
//! ```text
//!  message with the flag PIECE   body: | number u64 | total u64, of all pieces | offset u64 | bytes |
//! ```
//! The number is the same for all pieces of a body and no other body of the source has it (the sequence of the first
//! piece). Pieces may come in any order and be taken by any worker. They are copied out of their messages, so that a body
//! does not use up the window that its sender was granted. What the receiver keeps grows with what has arrived, never with
//! what a header promises; pieces must not overlap, and the total is bounded.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrow_buffer::Buffer;
use types::{Error, Result, SqlState};

/// Bytes of a piece before its part of the body.
pub const PIECE_BYTES: usize = 24;

/// What a piece says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Of the body.
    pub number: u64,
    /// Bytes of the body.
    pub total: u64,
    /// Where this part of it begins.
    pub offset: u64,
}

impl Piece {
    /// Writes it in front of the part.
    pub fn write(&self, out: &mut [u8]) {
        for (out, field) in out.as_chunks_mut::<8>().0.iter_mut().zip([self.number, self.total, self.offset])
        {
            *out = field.to_le_bytes();
        }
    }
    fn parse(body: &[u8]) -> Option<(Piece, &[u8])> {
        let (head, part) = body.split_at_checked(PIECE_BYTES)?;
        let field = |at: usize| head[at..].first_chunk().map_or(0, |raw| u64::from_le_bytes(*raw));
        Some((Piece { number: field(0), total: field(8), offset: field(16) }, part))
    }
}

/// The pieces of a source's bodies that have come so far.
#[derive(Default)]
pub struct Pieces(Mutex<Arrived>);

#[derive(Default)]
struct Arrived {
    bodies: HashMap<u64, Partial>,
    /// Of all bodies that are not whole.
    bytes: u64,
}

#[derive(Default)]
struct Partial {
    total: u64,
    arrived: u64,
    /// By offset.
    parts: Vec<(u64, Vec<u8>)>,
}

impl Pieces {
    /// Takes the body of a piece's message, which is not compressed. Gives the whole body when it is there.
    ///
    /// # Errors
    /// 08P01 for pieces that are none of one body of at most `total_max` bytes, and where bodies that are not whole have
    /// more than that together.
    pub fn add(&self, body: &[u8], total_max: u64) -> Result<Option<Buffer>> {
        let wrong = |what: &str| {
            Error::new(SqlState::ProtocolViolation, format!("a piece of a message cannot be read: {what}"))
        };
        let (piece, part) = Piece::parse(body).ok_or_else(|| wrong("it is too short"))?;
        let length = part.len() as u64;
        let ends = piece.offset.checked_add(length).is_some_and(|end| end <= piece.total);
        if !ends || length == 0 || piece.total > total_max {
            return Err(wrong("it lies outside of its body, or that is too long"));
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.bytes + length > total_max {
            return Err(wrong("too many bodies are in pieces"));
        }
        state.bytes += length;
        let body = state.bodies.entry(piece.number).or_default();
        if body.parts.is_empty() {
            body.total = piece.total;
        }
        if body.total != piece.total || body.arrived + length > body.total {
            return Err(wrong("its body has another length"));
        }
        body.arrived += length;
        body.parts.push((piece.offset, part.to_vec()));
        if body.arrived < body.total {
            return Ok(None);
        }
        let Some(mut body) = state.bodies.remove(&piece.number) else { return Ok(None) };
        state.bytes -= body.arrived;
        drop(state);
        body.parts.sort_unstable_by_key(|(offset, _)| *offset);
        let mut whole = arrow_buffer::MutableBuffer::with_capacity(body.total as usize);
        for (offset, part) in &body.parts {
            if *offset != whole.len() as u64 {
                return Err(wrong("pieces overlap"));
            }
            whole.extend_from_slice(part);
        }
        Ok(Some(whole.into()))
    }
    /// Bodies of which not all has come.
    pub fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bodies.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    fn piece(number: u64, total: usize, offset: usize, part: &[u8]) -> Vec<u8> {
        let mut body = vec![0; PIECE_BYTES];
        Piece { number, total: total as u64, offset: offset as u64 }.write(&mut body);
        body.extend_from_slice(part);
        body
    }

    #[test]
    fn pieces_of_several_bodies_come_in_any_order() {
        let mut random = Random::new(3);
        let bodies: Vec<Vec<u8>> =
            (0..5).map(|_| (0..random.between(1, 900)).map(|_| random.bits() as u8).collect()).collect();
        let mut sent = Vec::new();
        for (number, body) in bodies.iter().enumerate() {
            for (at, part) in body.chunks(100).enumerate() {
                sent.push((number, piece(number as u64, body.len(), at * 100, part)));
            }
        }
        for at in (1..sent.len()).rev() {
            sent.swap(at, random.below(at + 1));
        }
        let pieces = Pieces::default();
        let mut whole = 0;
        for (number, body) in sent {
            if let Some(got) = pieces.add(&body, 10_000).expect("a piece") {
                assert_eq!(got.as_slice(), bodies[number]);
                whole += 1;
            }
        }
        assert_eq!((whole, pieces.open()), (5, 0));
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let pieces = Pieces::default();
        assert!(pieces.add(&[0; 10], 1000).is_err(), "too short");
        assert!(pieces.add(&piece(1, 2000, 0, &[1]), 1000).is_err(), "too long");
        assert!(pieces.add(&piece(1, 10, 8, &[1; 3]), 1000).is_err(), "beyond its body");
        assert!(pieces.add(&piece(1, 10, 0, &[]), 1000).is_err(), "empty");
        assert!(pieces.add(&piece(2, 10, 0, &[1; 5]), 1000).expect("a piece").is_none());
        assert!(pieces.add(&piece(2, 11, 5, &[1; 5]), 1000).is_err(), "another length");
        assert!(pieces.add(&piece(2, 10, 3, &[1; 5]), 1000).is_err(), "overlaps");
        for number in 3..8 {
            let _ = pieces.add(&piece(number, 1000, 0, &[1; 190]), 1000);
        }
        assert!(pieces.add(&piece(9, 1000, 0, &[1; 190]), 1000).is_err(), "too many at once");
    }
}
