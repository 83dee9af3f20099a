//! The cost model's constants, measured on this machine: once in a process, at the first call.
//!
//! | letter | measured as |
//! | --- | --- |
//! | `W_mem` | writing a buffer larger than the cache |
//! | `AR_L3` | reading it from its first byte to its last |
//! | `R_L3` | reading it page by page in no order, so that the prefetcher begins anew at each |
//! | `M_L3` | following references through it |
//! | `IC` | the lines of an operator's inner loops, each at the time of a reference within the second-level cache |
//! | `L3` | what the system says |
//!
//! Each is measured in pieces, of which the median counts: a process that is stopped for a while has constants of its
//! machine all the same, and keeps them for good.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// The size where the system tells none.
const CACHE_BYTES: f64 = 32e6;
/// An operator's inner loops: some 4 KB of code.
const CODE_LINES: f64 = 64.0;
/// What a loop of references stays within to be served by the second-level cache.
const SECOND_LEVEL_BYTES: usize = 256 << 10;
/// Below this a buffer says nothing of memory.
const BUFFER_BYTES_MIN: u64 = 16 << 20;
const BUFFER_BYTES_MAX: u64 = 128 << 20;
const PAGE_WORDS: usize = 512;
const STEPS: usize = 100_000;
const PIECES: usize = 8;

/// Costs in nanoseconds: a byte, or each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// `L3`: bytes of the last-level cache.
    pub cache_bytes: f64,
    /// `W_mem` a byte.
    pub write: f64,
    /// `R_L3` a byte.
    pub read: f64,
    /// `AR_L3` a byte.
    pub read_ahead: f64,
    /// `M_L3`.
    pub miss: f64,
    /// `IC`.
    pub instruction_miss: f64,
    /// Nanoseconds a byte of rows that go to a temporary file and back.
    pub file: f64,
}

/// Where there is no room to measure.
pub const USUAL: Constants = Constants {
    cache_bytes: CACHE_BYTES,
    write: 0.12,
    read: 0.12,
    read_ahead: 0.08,
    miss: 100.0,
    instruction_miss: 300.0,
    file: 1.5,
};

/// The machine's constants. The first call measures, in a tenth of a second and a quarter of `available` bytes at
/// most.
pub fn constants(available: u64) -> Constants {
    static MEASURED: OnceLock<Constants> = OnceLock::new();
    match buffer_bytes(available) {
        None => MEASURED.get().copied().unwrap_or(USUAL),
        Some(bytes) => *MEASURED.get_or_init(|| measure(bytes)),
    }
}

/// The size of the buffer to measure with; `None` where there is room for none that says something.
fn buffer_bytes(available: u64) -> Option<usize> {
    let room = available / 4;
    (room >= BUFFER_BYTES_MIN).then_some(room.min(BUFFER_BYTES_MAX) as usize)
}

/// Measures with a buffer of so many bytes.
pub fn measure(buffer_bytes: usize) -> Constants {
    let words = (buffer_bytes / 8).max(2 * PAGE_WORDS);
    let mut buffer = vec![1u64; words];
    // The second time, since the first one had the pages made.
    let write = median(buffer.chunks_exact_mut(words / PIECES).map(|piece| {
        let bytes = size_of_val(piece) as f64;
        nanoseconds(|| piece.fill(black_box(2))) / bytes
    }));
    let read_ahead = median(buffer.chunks_exact(words / PIECES).map(|piece| {
        let taken = nanoseconds(|| _ = black_box(sum(piece)));
        taken / size_of_val(piece) as f64
    }));
    let pages = words / PAGE_WORDS;
    let stride = coprime(pages, 0x9E37);
    let of_piece = pages.div_ceil(PIECES);
    let read = median((0..pages).step_by(of_piece).map(|from| {
        let piece = from..(from + of_piece).min(pages);
        let bytes = (piece.len() * PAGE_WORDS * 8) as f64;
        let taken = nanoseconds(|| {
            let mut total = 0u64;
            for at in piece {
                let page = at * stride % pages;
                total = total.wrapping_add(sum(&buffer[page * PAGE_WORDS..(page + 1) * PAGE_WORDS]));
            }
            black_box(total);
        });
        taken / bytes
    }));
    let miss = chase(&mut buffer);
    let near = chase(&mut buffer[..(SECOND_LEVEL_BYTES / 8).min(words)]);
    Constants {
        cache_bytes: last_level_bytes().unwrap_or(CACHE_BYTES),
        write,
        read: read.max(read_ahead),
        read_ahead,
        miss,
        instruction_miss: CODE_LINES * near,
        file: USUAL.file,
    }
}

fn nanoseconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_nanos() as f64
}

/// 0 of none.
fn median(taken: impl Iterator<Item = f64>) -> f64 {
    let mut taken: Vec<f64> = taken.collect();
    taken.sort_by(f64::total_cmp);
    taken.get(taken.len() / 2).copied().unwrap_or(0.0)
}

fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |total, word| total.wrapping_add(*word))
}

/// A number near `wanted` without a factor in common with `n`, so that its multiples visit all.
fn coprime(n: usize, wanted: usize) -> usize {
    let common = |a: usize, b: usize| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (wanted.max(1)..).find(|candidate| common(*candidate, n.max(1)) == 1).unwrap_or(1)
}

/// Nanoseconds a reference, each found in the line that the one before it led to.
fn chase(words: &mut [u64]) -> f64 {
    let lines = words.len() / 8;
    let stride = coprime(lines, (lines as f64 * 0.618) as usize | 1);
    let mut at = 0usize;
    // Steps of a golden section: no two near each other, as far as a prefetcher looks.
    for step in 0..lines {
        let next = (step + 1) * stride % lines;
        words[at * 8] = next as u64;
        at = next;
    }
    let mut at = 0usize;
    let steps = STEPS.min(4 * lines).div_ceil(PIECES);
    let taken = median((0..PIECES).map(|_| {
        nanoseconds(|| {
            for _ in 0..steps {
                at = words[at * 8] as usize;
            }
        })
    }));
    black_box(at);
    taken / steps as f64
}

/// The largest cache of the first processor.
fn last_level_bytes() -> Option<f64> {
    (0..8)
        .filter_map(|index| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
            let text = std::fs::read_to_string(path).ok()?;
            let (number, unit) = text.trim().split_at(text.trim().find(|c: char| !c.is_ascii_digit())?);
            let factor = if unit == "M" { 1024.0 * 1024.0 } else { 1024.0 };
            Some(number.parse::<f64>().ok()? * factor)
        })
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_a_machine() {
        let c = measure(BUFFER_BYTES_MIN as usize);
        assert!(c.cache_bytes > 1e5, "{c:?}");
        for cost in [c.write, c.read, c.read_ahead] {
            assert!(cost > 0.0 && cost < 100.0, "{c:?}");
        }
        assert!(c.read >= c.read_ahead && c.miss > 0.5 && c.instruction_miss > 1.0, "{c:?}");
    }

    #[test]
    fn every_line_and_page_is_visited() {
        for lines in [7usize, 64, 4096, 32_768] {
            let mut words = vec![0u64; lines * 8];
            chase(&mut words);
            let mut seen = vec![false; lines];
            let mut at = 0usize;
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut seen[at], true), "{lines}");
                at = words[at * 8] as usize;
            }
        }
    }

    #[test]
    fn without_room_nothing_is_measured() {
        assert_eq!(buffer_bytes(1 << 20), None);
        assert_eq!(buffer_bytes(4 * BUFFER_BYTES_MIN - 1), None);
        assert_eq!(buffer_bytes(4 * BUFFER_BYTES_MIN), Some(BUFFER_BYTES_MIN as usize));
        assert_eq!(buffer_bytes(u64::MAX), Some(BUFFER_BYTES_MAX as usize));
        assert!(constants(1 << 20).miss > 0.0);
    }

    #[test]
    fn a_piece_in_which_the_process_stands_still_does_not_count() {
        assert_eq!(median([3.0, 1.0, 400.0, 2.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([].into_iter()), 0.0);
    }
}
