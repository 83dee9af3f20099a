//! Whether bodies are compressed, decided by measuring: LZ4, zstd at level 1, or nothing.
//!
//! ```text
//!  every 64th message of a link: both codecs are tried on it, their times and sizes go into running means
//!  gain of a codec = bytes saved / bytes per second of the link - the longer of compressing and decompressing
//!  in use: the codec with the greatest gain, none if no gain is positive
//! ```
//! The two times run on two machines beside each other, so the busier side is what counts. The speed of the link is told
//! by who measures it; until then nothing is compressed. All memory of the codecs is made once and used again.
//!
//! Decompressing writes into memory of the size that the header says, which its reader has bounded: wrong bytes give an
//! error and take nothing.

use std::time::{Duration, Instant};

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use types::{Error, Result, SqlState};

use crate::header::Flags;

/// A message of so many is tried.
pub const TRIAL_EVERY: u64 = 64;
const ZSTD_LEVEL: i32 = 1;
/// Weight of a new trial in the running means: a change of the data shows after a few hundred messages.
const NEWEST: f64 = 0.25;

/// A way to make bodies smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// LZ4's block format.
    Lz4,
    /// zstd at level 1.
    Zstd,
}

impl Codec {
    const ALL: [Codec; 2] = [Codec::Lz4, Codec::Zstd];

    /// The flag that says so.
    pub fn flag(self) -> Flags {
        match self {
            Codec::Lz4 => Flags::LZ4,
            Codec::Zstd => Flags::ZSTD,
        }
    }
    /// The codec of a message's flags.
    pub fn of(flags: Flags) -> Option<Codec> {
        Codec::ALL.into_iter().find(|codec| flags.has(codec.flag()))
    }
}

/// What a codec did to a body.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Bytes before.
    pub plain: usize,
    /// Bytes after.
    pub packed: usize,
    /// Time of making it smaller.
    pub compress: Duration,
    /// Time of the way back.
    pub decompress: Duration,
}

/// Running means of a codec, per byte of plain body.
#[derive(Clone, Copy, Debug)]
struct Mean {
    ratio: f64,
    seconds: f64,
}

/// The decision for one link and exchange.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    link_bytes_per_second: Option<f64>,
    messages: u64,
    means: [Option<Mean>; 2],
}

impl Policy {
    /// A policy for a link of unknown speed, which compresses nothing.
    pub fn new() -> Self {
        Self::default()
    }
    /// Tells the speed of the link, as it is or as it was measured last.
    pub fn set_link(&mut self, bytes_per_second: f64) {
        self.link_bytes_per_second = (bytes_per_second > 0.0).then_some(bytes_per_second);
    }
    /// Counts a message; `true` when it is one to try the codecs on.
    pub fn is_trial(&mut self) -> bool {
        self.messages += 1;
        self.link_bytes_per_second.is_some() && (self.messages - 1).is_multiple_of(TRIAL_EVERY)
    }
    /// Takes over what a trial measured.
    pub fn learn(&mut self, codec: Codec, trial: Trial) {
        let plain = trial.plain.max(1) as f64;
        let new = Mean {
            ratio: trial.packed as f64 / plain,
            seconds: trial.compress.max(trial.decompress).as_secs_f64() / plain,
        };
        let mean = &mut self.means[codec as usize];
        *mean = Some(match *mean {
            None => new,
            Some(old) => Mean {
                ratio: old.ratio + NEWEST * (new.ratio - old.ratio),
                seconds: old.seconds + NEWEST * (new.seconds - old.seconds),
            },
        });
    }
    /// The codec to use for the next messages.
    pub fn choice(&self) -> Option<Codec> {
        let link = self.link_bytes_per_second?;
        let gain = |codec: &Codec| {
            let mean = self.means[*codec as usize]?;
            let gain = (1.0 - mean.ratio) / link - mean.seconds;
            (gain > 0.0).then_some((*codec, gain))
        };
        Codec::ALL.iter().filter_map(gain).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(codec, _)| codec)
    }
}

/// The codecs' memory; of one thread.
pub struct Compressor {
    table: CompressTable,
    zstd: zstd::bulk::Compressor<'static>,
    unzstd: zstd::bulk::Decompressor<'static>,
    packed: Vec<u8>,
    unpacked: Vec<u8>,
}

impl Compressor {
    /// Codecs with room for bodies of so many bytes; more is taken where one is larger.
    ///
    /// # Errors
    /// 53200 where zstd gets no memory.
    pub fn new(body_bytes: usize) -> Result<Compressor> {
        let no_memory = |error| Error::new(SqlState::OutOfMemory, format!("zstd cannot begin: {error}"));
        Ok(Compressor {
            table: CompressTable::large(),
            zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(no_memory)?,
            unzstd: zstd::bulk::Decompressor::new().map_err(no_memory)?,
            packed: vec![0; get_maximum_output_size(body_bytes)],
            unpacked: vec![0; get_maximum_output_size(body_bytes)],
        })
    }
    /// The body made smaller; `None` if it does not become so.
    pub fn compress(&mut self, codec: Codec, plain: &[u8]) -> Option<&[u8]> {
        let room = match codec {
            Codec::Lz4 => get_maximum_output_size(plain.len()),
            // More than that is no gain.
            Codec::Zstd => plain.len(),
        };
        if self.packed.len() < room {
            self.packed.resize(room, 0);
        }
        let out = &mut self.packed[..room];
        let length = match codec {
            Codec::Lz4 => compress_into_with_table(plain, out, &mut self.table).ok(),
            Codec::Zstd => self.zstd.compress_to_buffer(plain, out).ok(),
        };
        length.filter(|length| *length < plain.len()).map(|length| &self.packed[..length])
    }
    /// Tries a codec on a body, both ways.
    pub fn try_on(&mut self, codec: Codec, plain: &[u8]) -> Trial {
        let begin = Instant::now();
        let packed = self.compress(codec, plain).map(<[u8]>::len);
        let compress = begin.elapsed();
        let Some(length) = packed else {
            return Trial { plain: plain.len(), packed: plain.len(), compress, decompress: compress };
        };
        let packed = std::mem::take(&mut self.packed);
        let mut unpacked = std::mem::take(&mut self.unpacked);
        if unpacked.len() < plain.len() {
            unpacked.resize(plain.len(), 0);
        }
        let begin = Instant::now();
        let back = self.decompress(codec, &packed[..length], &mut unpacked[..plain.len()]);
        let decompress = begin.elapsed();
        (self.packed, self.unpacked) = (packed, unpacked);
        // A codec that cannot read what it wrote is not used.
        let kept = if back.is_ok() { length } else { plain.len() };
        Trial { plain: plain.len(), packed: kept, compress, decompress }
    }
    /// Both codecs' trials.
    pub fn trials(&mut self, plain: &[u8]) -> [(Codec, Trial); 2] {
        Codec::ALL.map(|codec| (codec, self.try_on(codec, plain)))
    }
    /// Writes the body as it was into `out`, which has its size.
    ///
    /// # Errors
    /// XX001 where the bytes are not that many, or none of the codec.
    pub fn decompress(&mut self, codec: Codec, packed: &[u8], out: &mut [u8]) -> Result<()> {
        let length = match codec {
            Codec::Lz4 => decompress_into(packed, out).map_err(|error| error.to_string()),
            Codec::Zstd => self.unzstd.decompress_to_buffer(packed, out).map_err(|error| error.to_string()),
        };
        match length {
            Ok(length) if length == out.len() => Ok(()),
            Ok(length) => Err(damaged(&format!("it has {length} bytes instead of {}", out.len()))),
            Err(error) => Err(damaged(&error)),
        }
    }
}

fn damaged(what: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("a compressed message cannot be read: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(packed: usize, compress_us: u64, decompress_us: u64) -> Trial {
        let [compress, decompress] = [compress_us, decompress_us].map(Duration::from_micros);
        Trial { plain: 1_000_000, packed, compress, decompress }
    }

    #[test]
    fn a_codec_is_used_where_the_link_is_slower_than_it_saves() {
        let mut policy = Policy::new();
        assert!(!policy.is_trial() && policy.choice().is_none(), "the link's speed is not known");
        policy.set_link(125e6);
        policy.learn(Codec::Lz4, trial(600_000, 1000, 400));
        policy.learn(Codec::Zstd, trial(400_000, 3000, 1500));
        // 1 Gb/s: LZ4 saves 3.2 ms for 1, zstd 4.8 for 3.
        assert_eq!(policy.choice(), Some(Codec::Lz4));
        policy.set_link(12.5e6);
        assert_eq!(policy.choice(), Some(Codec::Zstd), "100 Mb/s: 31 ms against 45");
        policy.set_link(1.25e9);
        assert_eq!(policy.choice(), None, "10 Gb/s: 0.3 ms saved for 1");
        // The receiver may be the busier side.
        policy.set_link(125e6);
        for _ in 0..40 {
            policy.learn(Codec::Lz4, trial(600_000, 1000, 9000));
            policy.learn(Codec::Zstd, trial(990_000, 1000, 400));
        }
        assert_eq!(policy.choice(), None);
    }

    #[test]
    fn every_64th_message_is_tried() {
        let mut policy = Policy::new();
        policy.set_link(1e9);
        let tried: Vec<u64> = (0..200).filter(|_| policy.is_trial()).collect();
        assert_eq!(tried, [0, 64, 128, 192]);
    }

    #[test]
    fn bodies_come_back_and_wrong_bytes_are_refused() {
        let plain: Vec<u8> = (0..300_000u32).map(|i| (i % 37) as u8 ^ (i / 5000) as u8).collect();
        let mut compressor = Compressor::new(1000).expect("memory");
        for codec in [Codec::Lz4, Codec::Zstd] {
            let packed = compressor.compress(codec, &plain).expect("smaller").to_vec();
            let mut out = vec![0; plain.len()];
            compressor.decompress(codec, &packed, &mut out).expect("its own bytes");
            assert_eq!(out, plain);
            let short = &mut vec![0; plain.len() - 1];
            assert!(compressor.decompress(codec, &packed, short).is_err());
            assert!(compressor.decompress(codec, &packed, &mut vec![0; plain.len() + 1]).is_err());
            assert!(compressor.decompress(codec, &packed[..packed.len() / 2], &mut out).is_err());
            let mut random = random::Random::new(5);
            for _ in 0..500 {
                let mut wrong = packed.clone();
                let at = random.below(wrong.len());
                wrong[at] ^= 1 << random.below(8u32);
                // An error or other bytes of the same length; the checksum tells which.
                let _ = compressor.decompress(codec, &wrong, &mut out);
            }
            let noise: Vec<u8> = (0..1000).map(|_| random.bits() as u8).collect();
            assert!(compressor.compress(codec, &noise).is_none(), "noise does not become smaller");
        }
    }
}
