//! The header of a message: 64 bytes, little endian, in front of every body.
//!
//! ```text
//!   0  magic     u32   "QSMG"                     32  source    u32   number of the sending machine in the view
//!   4  version   u16   any other is refused       36  zero      u32
//!   6  flags     u16   see Flags                  40  sequence  u64   of this source, link and exchange, from 0
//!   8  epoch     u64   of the view of members     48  used      u32   bytes of the body on the wire
//!  16  query     u64                              52  plain     u32   bytes of the body once decompressed
//!  24  attempt   u32   of running the query        56  checksum  u64   of the 56 bytes before and the body
//!  28  exchange  u32   of the plan
//! ```
//! The header says for whom a body is and how long, so that a receiver can drop messages of another epoch or of a dead
//! attempt without reading them. It says nothing of what is in the body but its format.
//!
//! A header is trusted once [`Header::parse`] took it: then its flags agree with each other and its lengths with the
//! size of message that the receiver allows. The body is trusted only after [`Header::verify`].

use types::{Error, Result, SqlState};

/// Bytes of a header; a multiple of 64, so that a body is aligned as its message is.
pub const HEADER_BYTES: usize = 64;
/// The version of header and bodies, and of the hash that places rows: machines of one cluster have the same.
pub const VERSION: u16 = 1;

const MAGIC: u32 = u32::from_le_bytes(*b"QSMG");
const CHECKSUM_AT: usize = 56;

/// What a message is besides a piece of a stream of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The source sends nothing more on this link and exchange.
    pub const LAST: Flags = Flags(1);
    /// The body has the row format; the columnar one otherwise.
    pub const ROWS: Flags = Flags(2);
    /// The body is compressed by LZ4.
    pub const LZ4: Flags = Flags(4);
    /// The body is compressed by zstd.
    pub const ZSTD: Flags = Flags(8);
    /// The body is a dictionary (`columns::dictionary`).
    pub const DICTIONARY: Flags = Flags(16);
    /// The body is a piece of one that is larger than a message (`pieces`).
    pub const PIECE: Flags = Flags(32);
    /// The body is none of this crate's: a plan in its own encoding, a filter, a message of control.
    pub const OPAQUE: Flags = Flags(64);

    const ALL: u16 = 127;

    /// Both sets of flags.
    #[must_use]
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Whether all of the other's flags are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Without the other's flags.
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Whether the body is compressed.
    pub const fn is_compressed(self) -> bool {
        self.0 & (Flags::LZ4.0 | Flags::ZSTD.0) != 0
    }
    fn parse(bits: u16) -> Option<Flags> {
        let flags = Flags(bits);
        let kinds = [Flags::ROWS, Flags::DICTIONARY, Flags::OPAQUE];
        let sound = bits & !Flags::ALL == 0
            && !flags.has(Flags::LZ4.and(Flags::ZSTD))
            && kinds.iter().filter(|kind| flags.has(**kind)).count() <= 1;
        sound.then_some(flags)
    }
}

/// To which stream a message belongs: what a sink fixes once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Of the view of members in which the query began.
    pub epoch: u64,
    /// Number of the query, unique in the cluster.
    pub query: u64,
    /// Which run of the query it is, from 0.
    pub attempt: u32,
    /// Number of the exchange in the query's plan.
    pub exchange: u32,
    /// Number of the sending machine in the view.
    pub source: u32,
}

/// A message's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Where it belongs.
    pub stream: Stream,
    /// What it is.
    pub flags: Flags,
    /// Its place among the messages of its stream on this link.
    pub sequence: u64,
    /// Bytes of the body on the wire.
    pub used: u32,
    /// Bytes of the body once decompressed; as many as `used` if it is not compressed.
    pub plain: u32,
}

fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::ProtocolViolation, message).with_hint(
        "All machines of a cluster run the same version; see that nothing else writes to this port.",
    )
}

impl Header {
    /// Writes the header, with the checksum of itself and `body`, in front of it. `body` has `used` bytes.
    pub fn write(&self, body: &[u8], out: &mut [u8; HEADER_BYTES]) {
        debug_assert_eq!(self.used as usize, body.len());
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC.to_le_bytes());
        put(4, &VERSION.to_le_bytes());
        put(6, &self.flags.0.to_le_bytes());
        put(8, &self.stream.epoch.to_le_bytes());
        put(16, &self.stream.query.to_le_bytes());
        put(24, &self.stream.attempt.to_le_bytes());
        put(28, &self.stream.exchange.to_le_bytes());
        put(32, &self.stream.source.to_le_bytes());
        put(36, &[0; 4]);
        put(40, &self.sequence.to_le_bytes());
        put(48, &self.used.to_le_bytes());
        put(52, &self.plain.to_le_bytes());
        let sum = checksum(&out[..CHECKSUM_AT], body);
        out[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
    }
    /// Reads a header that came from elsewhere; the body may still be under way.
    ///
    /// # Errors
    /// 08P01 where magic or version are not ours, where flags contradict each other, and where the body is said to have
    /// more than `body_bytes_max` bytes, on the wire or decompressed.
    pub fn parse(bytes: &[u8; HEADER_BYTES], body_bytes_max: usize) -> Result<Header> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if u32_at(0) != MAGIC {
            return Err(violation(format!("a message begins with {:#010x}, which is not ours", u32_at(0))));
        }
        if u16_at(4) != VERSION {
            let message = format!("a message has version {}; this machine has {VERSION}", u16_at(4));
            return Err(violation(message));
        }
        let Some(flags) = Flags::parse(u16_at(6)) else {
            return Err(violation(format!("a message has the flags {:#06x}, which do not agree", u16_at(6))));
        };
        let header = Header {
            stream: Stream {
                epoch: u64_at(8),
                query: u64_at(16),
                attempt: u32_at(24),
                exchange: u32_at(28),
                source: u32_at(32),
            },
            flags,
            sequence: u64_at(40),
            used: u32_at(48),
            plain: u32_at(52),
        };
        let longest = header.used.max(header.plain) as usize;
        if longest > body_bytes_max {
            let message = format!("a message is said to have {longest} bytes; {body_bytes_max} are the most");
            return Err(violation(message));
        }
        if !flags.is_compressed() && header.used != header.plain {
            return Err(violation("the lengths of a message that is not compressed differ"));
        }
        Ok(header)
    }
    /// Whether header and body arrived as they were sent.
    ///
    /// # Errors
    /// XX001 if the checksum says otherwise.
    pub fn verify(&self, bytes: &[u8; HEADER_BYTES], body: &[u8]) -> Result<()> {
        let mut sent = [0; 8];
        sent.copy_from_slice(&bytes[CHECKSUM_AT..]);
        if checksum(&bytes[..CHECKSUM_AT], body) == u64::from_le_bytes(sent) {
            return Ok(());
        }
        let Stream { query, exchange, source, .. } = self.stream;
        Err(Error::new(
            SqlState::DataCorrupted,
            format!(
                "message {} of machine {source} for exchange {exchange} of query {query} was damaged on its way",
                self.sequence
            ),
        )
        .with_hint("The query can be run again. If it happens often, look at memory and network cards."))
    }
}

/// Of the header's fields and of the body; each bit of either counts.
fn checksum(fields: &[u8], body: &[u8]) -> u64 {
    simd::checksum(fields).rotate_left(32) ^ simd::checksum(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Header, [u8; HEADER_BYTES], Vec<u8>) {
        let body: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
        let header = Header {
            stream: Stream { epoch: 3, query: 1 << 40, attempt: 2, exchange: 9, source: 5 },
            flags: Flags::LAST.and(Flags::ROWS),
            sequence: 77,
            used: 1000,
            plain: 1000,
        };
        let mut bytes = [0; HEADER_BYTES];
        header.write(&body, &mut bytes);
        (header, bytes, body)
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let (header, bytes, body) = sample();
        let read = Header::parse(&bytes, 1 << 19).expect("a header");
        assert_eq!(read, header);
        read.verify(&bytes, &body).expect("undamaged");
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let (_, bytes, body) = sample();
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let read = Header::parse(&bytes, 1 << 19).and_then(|h| {
                let body = body.get(..h.used as usize).ok_or_else(|| violation("too short"))?;
                h.verify(&bytes, body)
            });
            assert!(read.is_err(), "bit {bit} of the header");
        }
        let header = Header::parse(&bytes, 1 << 19).expect("a header");
        for bit in 0..body.len() * 8 {
            let mut body = body.clone();
            body[bit / 8] ^= 1 << (bit % 8);
            let error = header.verify(&bytes, &body).expect_err("a damaged body");
            assert_eq!(error.state(), SqlState::DataCorrupted);
        }
    }

    #[test]
    fn lengths_beyond_the_receivers_are_refused() {
        let (_, bytes, _) = sample();
        let error = Header::parse(&bytes, 999).expect_err("too long");
        assert_eq!(error.state(), SqlState::ProtocolViolation);
        assert!(error.hint().is_some());
    }
}
