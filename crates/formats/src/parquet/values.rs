//! Values of one page, in file order and without NULLs: plain, or indices into the chunk's dictionary.
//!
//! `column` makes a `Values` for each data page and takes from it as many values as the definition levels say are
//! there. Each call moves the position on; nothing is read twice. The bytes are not trusted: a call that asks for
//! more than the page has, or meets an index beyond the dictionary, gives `None`, which `column` turns into an error.
//! Byte strings become views over the page's buffer, so their bytes are not copied.

use arrow_buffer::Buffer;
use bytes::Bytes;
use vector::strings::make_view;

use super::runs::Runs;

/// Values of fixed width as they stand in a page, little endian, and what they become.
pub trait Fixed: Copy + Default + Send + Sync + 'static {
    const BYTES: usize;
    type Out: Copy + Default + Send + Sync + 'static;
    fn read(raw: &[u8]) -> Self::Out;
}

macro_rules! fixed {
    ($name:ident, $raw:ty => $out:ty, $convert:expr) => {
        #[derive(Clone, Copy, Default)]
        pub struct $name;
        impl Fixed for $name {
            const BYTES: usize = size_of::<$raw>();
            type Out = $out;
            #[inline(always)]
            fn read(raw: &[u8]) -> $out {
                let mut bytes = [0u8; size_of::<$raw>()];
                bytes.copy_from_slice(raw);
                let convert: fn($raw) -> $out = $convert;
                convert(<$raw>::from_le_bytes(bytes))
            }
        }
    };
}
fixed!(Int32, i32 => i32, |v| v);
fixed!(Int32As16, i32 => i16, |v| v as i16);
fixed!(Int32As64, i32 => i64, i64::from);
fixed!(Int64, i64 => i64, |v| v);
fixed!(Float, f32 => f32, |v| v);
fixed!(Double, f64 => f64, |v| v);

/// Indices looked up together; they stay in the first-level cache.
const STEP: usize = 1024;

/// The values of a page that are still to be read.
pub enum Values {
    Plain { bytes: Bytes, at: usize },
    Indices(Runs),
}

impl Values {
    /// Appends `count` values of fixed width; `None` when the page or the dictionary does not have them.
    pub fn append_fixed<F: Fixed>(
        &mut self,
        count: usize,
        dictionary: &[F::Out],
        out: &mut Vec<F::Out>,
    ) -> Option<()> {
        match self {
            Values::Plain { bytes, at } => {
                let end = at.checked_add(count.checked_mul(F::BYTES)?)?;
                out.extend(bytes.get(*at..end)?.chunks_exact(F::BYTES).map(F::read));
                *at = end;
                Some(())
            }
            Values::Indices(runs) => {
                out.reserve(count);
                each_step(runs, count, dictionary.len(), |codes| {
                    out.extend(codes.iter().map(|code| dictionary[*code as usize]));
                })
            }
        }
    }

    /// Appends `count` views of byte strings of which those in this page lie in buffer number `buffer`.
    pub fn append_views(
        &mut self,
        count: usize,
        dictionary: &[u128],
        buffer: u32,
        out: &mut Vec<u128>,
    ) -> Option<()> {
        match self {
            Values::Plain { bytes, at } => {
                out.reserve(count);
                for _ in 0..count {
                    let (from, to) = byte_string(bytes, *at)?;
                    out.push(make_view(&bytes[from..to], buffer, u32::try_from(from).ok()?));
                    *at = to;
                }
                Some(())
            }
            Values::Indices(runs) => {
                out.reserve(count);
                each_step(runs, count, dictionary.len(), |codes| {
                    out.extend(codes.iter().map(|code| dictionary[*code as usize]));
                })
            }
        }
    }

    /// Appends `count` indices, each below `bound`.
    pub fn append_codes(&mut self, count: usize, bound: usize, out: &mut Vec<u32>) -> Option<()> {
        let Values::Indices(runs) = self else { return None };
        let from = out.len();
        out.resize(from + count, 0);
        runs.read(&mut out[from..])?;
        within(&out[from..], bound).then_some(())
    }

    /// Passes over `count` values, of `width` bytes each or, without a width, byte strings.
    pub fn skip(&mut self, count: usize, width: Option<usize>) -> Option<()> {
        match (self, width) {
            (Values::Plain { bytes, at }, Some(width)) => {
                *at = at.checked_add(count.checked_mul(width)?).filter(|end| *end <= bytes.len())?;
                Some(())
            }
            (Values::Plain { bytes, at }, None) => {
                for _ in 0..count {
                    *at = byte_string(bytes, *at)?.1;
                }
                Some(())
            }
            (Values::Indices(runs), _) => each_step(runs, count, usize::MAX, |_| {}),
        }
    }
}

/// Where the byte string lies whose length stands at `at`.
#[inline(always)]
fn byte_string(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let length = u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?) as usize;
    let (from, to) = (at + 4, at + 4 + length);
    (to <= bytes.len()).then_some((from, to))
}

fn within(codes: &[u32], bound: usize) -> bool {
    // No early end, so that the loop is vectorised.
    codes.iter().fold(0, |most, code| most.max(*code)) < u32::try_from(bound).unwrap_or(u32::MAX)
        || codes.is_empty()
}

/// Calls `use_codes` with the next `count` indices, some at a time and each below `bound`.
fn each_step(runs: &mut Runs, count: usize, bound: usize, mut use_codes: impl FnMut(&[u32])) -> Option<()> {
    let mut codes = [0u32; STEP];
    let mut left = count;
    while left > 0 {
        let codes = &mut codes[..left.min(STEP)];
        runs.read(codes)?;
        if !within(codes, bound) {
            return None;
        }
        use_codes(codes);
        left -= codes.len();
    }
    Some(())
}

/// Whether every byte string that a plain page holds is UTF-8. Lengths below 128 are ASCII bytes as the rest is, so
/// one pass at memory speed answers for nearly all pages.
pub fn is_text(bytes: &[u8], count: usize) -> bool {
    if bytes.is_ascii() {
        return true;
    }
    let mut at = 0;
    for _ in 0..count {
        let Some((from, to)) = byte_string(bytes, at) else { break };
        if std::str::from_utf8(&bytes[from..to]).is_err() {
            return false;
        }
        at = to;
    }
    // What cannot be reached is refused where it is read.
    true
}

/// Page bytes as the buffer of views, not copied.
pub fn buffer_of(bytes: &Bytes) -> Buffer {
    Buffer::from(bytes.clone())
}
